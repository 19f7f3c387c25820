// KeptOutput: the output of a child, of which the first and the last 256 KiB are kept. A compiler
// may print gigabytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cleave {

class KeptOutput {
 public:
  static constexpr std::size_t kKept = std::size_t{256} << 10U;  // bytes of each end

  void add(std::string_view bytes);
  // The output, with "[N bytes left out]" in the middle if there was more.
  std::string text() const;
  std::uint64_t total() const { return total_; }
  void clear();

 private:
  std::string head_;
  std::string tail_;  // the last bytes after the head, up to twice kKept
  std::uint64_t total_ = 0;
};

}  // namespace cleave
