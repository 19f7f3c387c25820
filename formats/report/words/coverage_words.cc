#include "formats/report/words/coverage_words.h"

#include <cstdint>

#include "formats/base/text/number_text.h"

namespace cleave {
namespace {

void write_ratio(JsonText& json, const Coverage& coverage) {
  json.number("acc", coverage.acc);
  json.number("total", coverage.total);
}

void write_known_ratio(JsonText& json, const Coverage& coverage) {
  write_ratio(json, coverage);
  json.number("ratio", coverage.ratio());
}

}  // namespace

std::string share_text(const Coverage& coverage) {
  return coverage.total > 0 ? percent_text(coverage.ratio()) : "-";
}

bool is_mostly_known(const Coverages& coverage) {
  return coverage.unknown_flops <= coverage.computing;
}

std::string coverage_text(const Coverages& coverage, std::string_view where) {
  const auto count = [](double number) { return count_text(static_cast<std::uint64_t>(number)); };
  const std::string at(where);
  if (coverage.nodes.total == 0) return "no nodes";
  std::string text = count(coverage.nodes.acc) + " of " +
                     counted(static_cast<std::uint64_t>(coverage.nodes.total), "node", "nodes") +
                     " (" + percent_text(coverage.nodes.ratio()) + ")";
  if (coverage.flops.total > 0 && is_mostly_known(coverage)) {
    text += " and " + percent_text(coverage.flops.ratio()) + " of " +
            (coverage.unknown_flops > 0 ? "the known " : "") + flops_text(coverage.flops.total);
  }
  return text + " " + at;
}

void write_coverage(JsonText& json, const Coverages& coverage) {
  constexpr auto kOneLine = JsonText::Layout::one_line;
  json.begin_object("coverage");
  json.begin_object("nodes", kOneLine);
  write_known_ratio(json, coverage.nodes);
  json.end_object();
  json.begin_object("flops", kOneLine);
  write_ratio(json, coverage.flops);
  json.key("ratio");
  is_mostly_known(coverage) ? json.number(coverage.flops.ratio()) : json.null();
  json.number("unknown_ops", coverage.unknown_flops_ops.size());
  json.number("unknown_nodes", coverage.unknown_flops);
  json.end_object();
  json.begin_object("parameter_bytes", kOneLine);
  write_known_ratio(json, coverage.parameter_bytes);
  json.end_object();
  json.end_object();
}

}  // namespace cleave
