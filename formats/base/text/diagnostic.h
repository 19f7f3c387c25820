// Diagnostic: what is wrong with a file, where, and what to do about it. Located errors are data;
// format_diagnostic alone turns them into text.
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

// "error", "warning", "note"
std::string_view severity_name(Severity severity);

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;          // as the user named it; "<stdin>" for standard input
  std::uint64_t line = 0;    // from 1; 0: no position
  std::uint64_t column = 0;  // in characters, from 1
  std::string message;       // lower case, names quoted, with the remedy if there is one
  std::vector<std::string> notes = {};
  // The line with the fault, fit for display: escaped, and cut to 100 columns around the position.
  std::string source_line = {};  // empty: none is shown
  std::uint64_t caret = 0;       // its column within source_line, from 1; 0: no caret
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

// The text with characters that a terminal should not get escaped as \xNN, byte by byte: those that
// is_hidden() names, such as control characters and direction marks, and invalid UTF-8.
std::string escaped(std::string_view text);

// As above for a text of several lines; keeps the line breaks.
std::string escaped_lines(std::string_view text);

// The text in double quotes, escaped; at most 200 columns of it, then "...".
std::string escaped_in_quotes(std::string_view text);

// The candidate nearest to `name` if it is near enough to be a misspelling, else empty: see
// core/base/spelling.h.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace cleave
