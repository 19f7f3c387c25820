#include "formats/run/backend/kept_output.h"

#include <algorithm>

namespace cleave {

void KeptOutput::add(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t room = std::min(kKept - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
}

std::string KeptOutput::text() const {
  const std::string_view tail =
      std::string_view(tail_).substr(tail_.size() > kKept ? tail_.size() - kKept : 0);
  const std::uint64_t left_out = total_ - head_.size() - tail.size();
  std::string text = head_;
  if (left_out > 0) text += "\n[" + std::to_string(left_out) + " bytes left out]\n";
  return text.append(tail);
}

void KeptOutput::clear() { *this = KeptOutput(); }

}  // namespace cleave
