// KeptOutput: the output of a child, of which the first and the last 256 KiB are kept, and between them
// the lines that say what is wrong. A compiler may print gigabytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cleave {

class KeptOutput {
 public:
  static constexpr std::size_t kKept = std::size_t{256} << 10U;  // bytes of each end
  static constexpr std::size_t kLongestLine = 4096;  // bytes of a line that are looked at

  // The first line with "error" or "fatal" is kept, and the first for which `keeps_line` is true.
  explicit KeptOutput(std::function<bool(std::string_view)> keeps_line = {});

  void add(std::string_view bytes);
  // The output, with "[N bytes left out]" where there was more.
  std::string text() const;
  std::uint64_t total() const { return total_; }

 private:
  // The first line of a kind that does not end within the head.
  struct KeptLine {
    std::function<bool(std::string_view)> is_wanted;
    std::string text = {};
    std::uint64_t begin = 0;  // its place in the output
    bool is_found = false;
  };

  void look_for_lines(std::string_view bytes);
  void keep_line();

  std::string head_;
  std::string tail_;  // the last bytes after the head, up to twice kKept
  std::uint64_t total_ = 0;
  std::array<KeptLine, 2> lines_;
  std::string line_;  // the start of the line that is read
  std::uint64_t line_begin_ = 0;
};

}  // namespace cleave
