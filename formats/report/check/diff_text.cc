#include <algorithm>
#include <iterator>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/diff.h"
#include "formats/report/check/move_text.h"
#include "formats/report/words/coverage_words.h"

namespace cleave {
namespace {

std::string boundary_text(const Measures& measures) {
  return bytes_text(measures.boundary_bytes) + (measures.is_boundary_known ? "" : "+");
}

std::string qps_text(const Measures& measures) {
  if (!measures.qps) return "-";
  return (measures.is_boundary_known ? "" : "<") + rate_text(*measures.qps);
}

std::string time_text(const std::optional<double>& us) {
  return us ? duration_text(*us) : std::string("?");
}

std::string numbers_text(const Measures& before, const Measures& after) {
  TextTable table({"", "before", "after"}, {Align::left, Align::right, Align::right});
  const auto count = [](double number) { return count_text(static_cast<std::uint64_t>(number)); };
  table.add_row({"nodes", count(before.nodes.total), count(after.nodes.total)});
  table.add_row({"on the CPU", count_text(before.cpu_nodes), count_text(after.cpu_nodes)});
  table.add_row({"node coverage", share_text(before.nodes), share_text(after.nodes)});
  table.add_row({"FLOPs coverage", share_text(before.flops), share_text(after.flops)});
  table.add_row({"parameter coverage", share_text(before.parameter_bytes),
                 share_text(after.parameter_bytes)});
  table.add_row(
      {"accelerator subgraphs", count_text(before.acc_subgraphs), count_text(after.acc_subgraphs)});
  table.add_row({"boundary bytes", boundary_text(before), boundary_text(after)});
  table.add_row({"link-bound QPS", qps_text(before), qps_text(after)});
  if (before.latency_us || after.latency_us) {
    table.add_row({"latency", time_text(before.latency_us), time_text(after.latency_us)});
    table.add_row({"all on the CPU", time_text(before.all_cpu_us), time_text(after.all_cpu_us)});
  }
  return table.text();
}

std::string removed_text(const Diff& diff) {
  if (diff.removed.empty()) return {};
  const auto name = [](const Diff::Removed& removed) {
    return escaped(removed.node) + (removed.from == Place::cpu ? " (CPU)" : "");
  };
  return "\n  " + counted(diff.removed.size(), "node", "nodes") + " removed\n" +
         wrapped(some_of(diff.removed, kTextColumns - 6, name), 6, 8);
}

std::string headline(const Diff& diff) {
  const std::size_t moved = diff.to_cpu.size() + diff.to_acc.size();
  if (moved + diff.added.size() + diff.removed.size() == 0) return "no node moved";
  std::string text = counted(diff.to_cpu.size(), "node", "nodes") + " moved to the CPU, " +
                     count_text(diff.to_acc.size()) + " to the accelerator";
  if (!diff.added.empty()) text += "; " + count_text(diff.added.size()) + " added";
  if (!diff.removed.empty()) text += "; " + count_text(diff.removed.size()) + " removed";
  return text;
}

std::vector<CheckedMove> added_at(const Diff& diff, Place place) {
  std::vector<CheckedMove> moves;
  std::copy_if(diff.added.begin(), diff.added.end(), std::back_inserter(moves),
               [&](const CheckedMove& move) { return move.to == place; });
  return moves;
}

std::string side_text(const DiffSide& side) {
  return escaped(side.model) + " with " + escaped(side.list);
}

}  // namespace

std::string diff_text(const Diff& diff) {
  std::string text = headline(diff) + '\n';
  text += wrapped("before: " + side_text(diff.before), 0, 2);
  text += wrapped("after:  " + side_text(diff.after), 0, 2);
  for (const std::string& setting : diff.settings) text += wrapped("setting " + setting, 0, 2);
  text += '\n' + numbers_text(diff.before.measures, diff.after.measures);
  text += moves_text(diff.to_cpu, "moved to the CPU", diff.settings);
  text += moves_text(diff.to_acc, "moved to the accelerator", diff.settings);
  text += moves_text(added_at(diff, Place::cpu), "added on the CPU", diff.settings);
  text += moves_text(added_at(diff, Place::acc), "added on the accelerator", diff.settings);
  return text + removed_text(diff);
}

}  // namespace cleave
