#include "core/base/string_arena.h"

#include <algorithm>
#include <cstring>

namespace cleave {

std::string_view StringArena::keep(std::string_view text) {
  if (text.empty()) return {};
  constexpr std::size_t kBlock = std::size_t{64} * 1024;
  if (capacity_ - used_ < text.size()) {
    capacity_ = std::max(kBlock, text.size());
    used_ = 0;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(capacity_));
  }
  char* const at = blocks_.back().get() + used_;
  std::memcpy(at, text.data(), text.size());
  used_ += text.size();
  return {at, text.size()};
}

}  // namespace cleave
