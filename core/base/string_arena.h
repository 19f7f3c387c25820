// StringArena: keeps copies of strings at fixed addresses for as long as it lives.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace cleave {

class StringArena {
 public:
  // A copy of `text`; its address does not change, also when the arena is moved.
  std::string_view keep(std::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0;      // of the last block
  std::size_t capacity_ = 0;  // of the last block
};

}  // namespace cleave
