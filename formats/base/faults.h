// Faults of files: diagnostics with file, line and column, and limits of input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/base.h"

namespace cleave {

// ---- limits ----
//
// Limits on what is read from a model: far above any known model, but low enough that no file can
// make the reader run away. The table in formats/base/faults.cc names them; `--limit nodes=N` sets one. Names
// must be UTF-8, unless `--limit utf8=lenient` lets an ONNX model have others.

// Whether names of an ONNX model may hold bytes that are not UTF-8.
enum class NameBytes : std::uint8_t { utf8, any };

struct ModelLimits {
  std::uint64_t nodes = 100'000'000;                   // including those of bodies and functions
  std::uint64_t values = 1'000'000'000;                // read and made by nodes, counted each time
  std::uint64_t attributes = 100'000;                  // of one node
  std::uint64_t dims = 1000;                           // of one shape
  std::uint64_t depth = 1000;                          // of brackets; ONNX: of messages, 100
  std::uint64_t name_bytes = 65'536;                   // of one name
  std::uint64_t file_bytes = std::uint64_t{1} << 42U;  // 4 TiB
  NameBytes names = NameBytes::utf8;                   // of ONNX; --limit utf8=lenient: any
  bool operator==(const ModelLimits&) const = default;
};

struct LimitRow {
  std::string_view name;  // as in --limit
  std::uint64_t ModelLimits::*value;
  std::uint64_t most;     // the largest value it can be set to
  std::string_view what;  // "nodes": what is counted
};
std::span<const LimitRow> limit_rows();

// Sets the limit named in `text`: "nodes=5000", "utf8=lenient", "utf8=strict". Refuses, with a
// message for the user, any other text, an unknown limit, and a number above its maximum.
Status<std::string> set_limit(ModelLimits& limits, std::string_view text);

// "--limit nodes=N sets the most that is read": the remedy in a reader's message.
std::string limit_hint(std::uint64_t ModelLimits::*limit);

// "more than 5,000 nodes; --limit nodes=N sets the most that is read"
std::string beyond_limit(const ModelLimits& limits, std::uint64_t ModelLimits::*limit);

// ---- diagnostic ----
//
// Diagnostic: what is wrong with a file, where, and what to do about it. Located errors are data;
// format_diagnostic alone turns them into text.
//
//   model.json:17:23: error: node "conv1" reads "x7", which nothing produces
//       {"name": "conv1", "inputs": ["x7"]},
//                                    ^
//   note: did you mean "x6"?

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
// core/base/words.h.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

// ---- fault ----
//
// Fault: why work was not done, and who can fix it. A caller prints the diagnostics and turns the cause
// into an exit code, or into what its own users expect.

enum class FaultCause : std::uint8_t {
  request,     // the request contradicts itself or the model
  input,       // a file is not valid, cannot be read, or has changed
  output,      // a file cannot be written
  program,     // an external program failed
  infeasible,  // the request is sound, but nothing meets it
};

struct Fault {
  FaultCause cause = FaultCause::request;
  Diagnostics faults;  // at least one error; earlier warnings come first

  // What the first error says, for those who have no room for more.
  const std::string& message() const {
    const auto error = std::ranges::find_if(
        faults, [](const Diagnostic& one) { return one.severity == Severity::error; });
    return error == faults.end() ? faults.front().message : error->message;
  }
};

// Faults of files.
inline Fault input_fault(Diagnostics faults) { return {FaultCause::input, std::move(faults)}; }
inline Fault output_fault(Diagnostics faults) { return {FaultCause::output, std::move(faults)}; }

// The fault, preceded by the warnings that came before it.
inline Fault after(const Diagnostics& warnings, Fault fault) {
  fault.faults.insert(fault.faults.begin(), warnings.begin(), warnings.end());
  return fault;
}

// A fault that does not concern a file.
inline Fault fault_of(FaultCause cause, std::string message, std::vector<std::string> notes = {}) {
  return {cause,
          {Diagnostic{.file = {}, .message = std::move(message), .notes = std::move(notes)}}};
}
inline Fault fault_of(FaultCause cause, const Error& error) {
  return fault_of(cause, error.message, error.notes);
}

// ---- faults ----
//
// TextFaults: collects the faults of a text file that people write by hand, with their positions.

class TextFaults {
 public:
  TextFaults(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  void error(std::size_t offset, std::string message, std::vector<std::string> notes = {});
  // Keeps each message once, and at most 20.
  void warning(std::size_t offset, std::string message);

  // Adds an error where the text is not all UTF-8, or has a byte 0; true when it did. `what_is`: "a node list is".
  bool refuses_bytes(std::string_view what_is);

  // True when no more errors are kept: the reader may stop.
  bool is_full() const;
  Diagnostics& errors() { return errors_; }
  Diagnostics& warnings() { return warnings_; }

 private:
  std::string file_;
  std::string_view text_;
  Diagnostics errors_;
  Diagnostics warnings_;
  std::unordered_set<std::string> warned_;
};

}  // namespace cleave
