#include "formats/lists/costs/node_csv.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "formats/base/text/csv_rows.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

constexpr double kMostMicroseconds = 1e15;  // as in every other file of times

std::optional<double> microseconds(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number >= 0 && number <= kMostMicroseconds ? std::optional(number)
                                                                 : std::nullopt;
}

class NodeCsvReader {
 public:
  explicit NodeCsvReader(const SourceFile& source)
      : source_(source), faults_(source.path(), source.bytes()) {}

  Loaded<CostEntries> read() && {
    const std::string_view text = source_.bytes();
    const std::size_t bad = std::min(text.find('\0'), first_invalid_utf8(text));
    if (bad != text.npos) {
      faults_.error(bad, "the file must be text in UTF-8, and this is not");
    } else {
      read_rows();
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    made_.path = source_.path();
    return std::move(made_);
  }

 private:
  void read_rows() {
    CsvRows rows(source_.bytes(), faults_);
    bool is_first = true;
    while (const auto row = rows.next()) {
      const bool may_be_heading = std::exchange(is_first, false);
      const std::vector<std::string_view> heading = {"node", "time_us"};
      if (may_be_heading && row->cells == heading) continue;
      if (may_be_heading && is_other_heading(*row)) return;
      read_row(*row);
    }
  }

  // Refuses a first line that names another second column: the unit of the times is then unknown.
  bool is_other_heading(const CsvRow& row) {
    const bool is_other =
        row.cells.size() == 2 && row.cells[0] == "node" && !microseconds(row.cells[1]);
    if (is_other) {
      faults_.error(row.offset, "the second column is " + escaped_in_quotes(row.cells[1]) +
                                    ", not \"time_us\": the times must be microseconds");
    }
    return is_other;
  }

  void read_row(const CsvRow& row) {
    if (row.cells.size() != 2) {
      const std::size_t count = row.cells.size();
      return faults_.error(row.offset, "expected a node and its time in microseconds, found " +
                                           std::to_string(count) +
                                           (count == 1 ? " cell" : " cells"));
    }
    const auto time = microseconds(row.cells[1]);
    if (!time) {
      return faults_.error(row.offset, "the time of " + escaped_in_quotes(row.cells[0]) + " is " +
                                           escaped_in_quotes(row.cells[1]) +
                                           ": give microseconds as a number from 0 to 1e15");
    }
    std::string name(row.cells[0]);
    if (!names_.insert(name).second) {
      return faults_.error(row.offset, escaped_in_quotes(name) + " is given twice");
    }
    made_.entries.push_back({.name = std::move(name), .us = *time, .offset = row.offset});
  }

  const SourceFile& source_;
  TextFaults faults_;
  CostEntries made_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Loaded<CostEntries> read_node_csv(const SourceFile& source) { return NodeCsvReader(source).read(); }

}  // namespace cleave
