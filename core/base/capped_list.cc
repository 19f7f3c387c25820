#include "core/base/capped_list.h"

#include "core/base/number_text.h"

namespace cleave {

std::string CappedList::rest(std::string_view one, std::string_view many) const {
  if (left_out() == 0) return {};
  std::string text(left_out() == 1 ? one : many);
  const std::size_t number = text.find('#');
  if (number != text.npos) text.replace(number, 1, count_text(left_out()));
  return text;
}

}  // namespace cleave
