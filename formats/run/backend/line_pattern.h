// LinePattern: a regular expression on lines of a compiler's output. It is RE2's: the time of a match is
// linear in the line, whatever the pattern.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace re2 {
class RE2;
}

namespace cleave {

class LinePattern {
 public:
  // Error: why the text is none, as the rest of a sentence that begins with the text.
  static Result<LinePattern, std::string> parse(std::string_view text);

  // Whether the pattern matches some part of the line. Lines are bytes, in whatever encoding.
  bool matches(std::string_view line) const;

 private:
  explicit LinePattern(std::shared_ptr<const re2::RE2> pattern) : pattern_(std::move(pattern)) {}

  std::shared_ptr<const re2::RE2> pattern_;
};

}  // namespace cleave
