// Diagnostic: what is wrong with a file, where, and the way out. Located errors are data; they are
// put into words in one place, format_diagnostic.
//
//   model.json:17:23: error: node "conv1" reads "x7", which nothing produces
//       {"name": "conv1", "inputs": ["x7"]},
//                                    ^
//   note: did you mean "x6"?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace cleave {

enum class Severity : std::uint8_t { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;          // as the user named it; "<stdin>" for standard input
  std::uint64_t line = 0;    // from 1; 0: no place
  std::uint64_t column = 0;  // in characters, from 1
  std::string message;       // lower case, names quoted, says the mend where there is one
  std::vector<std::string> notes = {};
  // The line of the place, fit to be shown: escaped, and cut around the place to 100 columns.
  std::string source_line = {};  // empty: none is shown
  std::uint64_t caret = 0;       // the place within source_line, from 1; 0: no caret
};

using Diagnostics = std::vector<Diagnostic>;
template <class T>
using Loaded = Result<T, Diagnostics>;  // a value, or at least one error

// The lines shown above, each ending in '\n'. Control characters and invalid UTF-8 in names are
// escaped as \xNN.
std::string format_diagnostic(const Diagnostic& diagnostic);

// A diagnostic at byte `offset` of `text`, with line, column and source line filled in. O(offset).
Diagnostic diagnostic_at(std::string_view file, std::string_view text, std::uint64_t offset,
                         std::string message);
// A diagnostic about a file as a whole.
Diagnostic diagnostic_of(std::string_view file, std::string message);

// The text with what a terminal should not see escaped as \xNN, byte by byte: control characters,
// invalid UTF-8, direction marks, line separators, U+FFFE and U+FFFF.
std::string escaped(std::string_view text);

// The same of a text of several lines, whose breaks stay.
std::string escaped_lines(std::string_view text);

// The text in double quotes, escaped; at most 200 characters of it, then "...".
std::string quoted(std::string_view text);

// The candidate nearest to `name` when near enough to be a slip of spelling, else empty: see
// core/spelling.h.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace cleave
