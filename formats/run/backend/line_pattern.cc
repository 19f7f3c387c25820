#include "formats/run/backend/line_pattern.h"

#include <re2/re2.h>

namespace cleave {

Result<LinePattern, std::string> LinePattern::parse(std::string_view text) {
  RE2::Options options(RE2::Latin1);  // in UTF-8 a dot would not match a byte that is no character
  options.set_log_errors(false);
  auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (pattern->ok()) return LinePattern(std::move(pattern));
  return "is not a regular expression of RE2: " + pattern->error();
}

bool LinePattern::matches(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *pattern_);
}

}  // namespace cleave
