// What the readers of the three formats of support lists share: where faults go, names of types,
// and the readers' entry points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support_list.h"
#include "formats/text/diagnostic.h"
#include "formats/text/faults.h"

namespace cleave {

// Line and column of offsets that do not decrease. All together they cost one walk over the text.
class PlaceCounter {
 public:
  explicit PlaceCounter(std::string_view text) : text_(text) {}
  // Writes the place into the rule.
  void mark(Rule& rule, std::size_t offset);

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
};

// Adds the dtype or the type of non-tensors to the set. Otherwise the message that says what is
// wrong with the name, with the name that was meant where that can be told.
Status<std::string> add_type(TypeSet& types, std::string_view name);

// Each appends the rules that it reads to the list; a list with faults is not to be used.
void read_support_json(std::string_view text, SupportList& list, TextFaults& faults);
void read_support_text(std::string_view text, SupportList& list, TextFaults& faults);
void read_required_operators(std::string_view text, SupportList& list, TextFaults& faults);

}  // namespace cleave
