// `support`: the op types of a model with their dtypes, as the lists judge them, before any pass
// keeps an accepted node on the CPU.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/number_text.h"
#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"
#include "formats/base/json/text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/words/page.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/report.h"
#include "formats/report/words/report_values.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

struct SignatureCount {
  Signature signature;
  NodeId first;
  std::size_t count = 0;
};

struct OpCount {
  NodeId first;
  std::size_t count = 0;
  std::vector<SignatureCount> signatures;  // in order of first use
};

// The ops of some nodes, in order of first use.
class OpTable {
 public:
  explicit OpTable(const Graph& graph) : graph_(graph) {}

  void add(NodeId node) {
    const Node& record = graph_.node(node);
    const std::uint64_t key = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [place, is_new] = places_.try_emplace(key, ops_.size());
    if (is_new) {
      ops_.push_back({.first = node, .count = 0, .signatures = {}});
      signatures_.emplace_back();
    }
    OpCount& op = ops_[place->second];
    ++op.count;
    Signature signature = signature_of(graph_, node);
    const auto [at, is_new_signature] =
        signatures_[place->second].try_emplace(signature, op.signatures.size());
    if (is_new_signature) op.signatures.push_back({std::move(signature), node, 0});
    ++op.signatures[at->second].count;
  }

  const std::vector<OpCount>& ops() const { return ops_; }

 private:
  const Graph& graph_;
  std::vector<OpCount> ops_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<std::map<Signature, std::size_t>> signatures_;  // by op
};

struct SupportTables {
  OpTable supported, unsupported;
};

SupportTables tables_of(const Report& report) {
  const Graph& graph = report.graph;
  SupportTables tables{OpTable(graph), OpTable(graph)};
  for (const NodeId node : graph.nodes()) {
    const bool is_supported = report.split.support.supported.contains(node);
    (is_supported ? tables.supported : tables.unsupported).add(node);
  }
  return tables;
}

// ---- JSON ----

class JsonSupportReport {
 public:
  explicit JsonSupportReport(const Report& report)
      : report_(report), graph_(report.graph), reasons_(reason_context(report)) {}

  std::string write() {
    const SupportTables tables = tables_of(report_);
    json_.begin_object();
    json_.text("format", "cleave.support_report");
    json_.number("version", 1);
    write_ops("supported", tables.supported);
    write_ops("unsupported", tables.unsupported);
    write_patterns();
    write_coverage(json_, cover(graph_, report_.split.support.supported));
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_ops(std::string_view key, const OpTable& table) {
    json_.begin_list(key);
    for (const OpCount& op : table.ops()) {
      json_.begin_object();
      json_.text("op", graph_.op(op.first));
      json_.text("domain", graph_.domain(op.first));
      json_.number("count", op.count);
      json_.begin_list("signatures");
      for (const SignatureCount& signature : op.signatures) write_signature(signature);
      json_.end_list();
      json_.end_object();
    }
    json_.end_list();
  }

  // The patterns that match, with the nodes that they accept.
  void write_patterns() {
    const PatternMatches& matches = report_.split.support.patterns;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::pair<std::size_t, std::size_t>> counts;
    for (std::size_t i = 0; i < matches.count(); ++i) {
      auto& [times, nodes] = counts[{matches.matches[i].list, matches.matches[i].pattern}];
      ++times;
      nodes += matches.nodes_of(i).size();
    }
    json_.begin_list("patterns");
    for (const auto& [place, count] : counts) {
      const SupportList& list = report_.lists[place.first];
      json_.begin_object(JsonText::Layout::one_line);
      json_.text("name", list.patterns[place.second].name);
      json_.text("file", list.path);
      json_.number("line", list.patterns[place.second].line);
      json_.number("matches", count.first);
      json_.number("nodes", count.second);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_dtype(DType dtype) {
    dtype == DType::unknown ? json_.null() : json_.text(dtype_name(dtype));
  }

  void write_signature(const SignatureCount& signature) {
    json_.begin_object(JsonText::Layout::one_line);
    json_.begin_list("args");
    for (const DType dtype : signature.signature.args) write_dtype(dtype);
    json_.end_list();
    json_.begin_object("kwargs");
    for (const auto& [name, dtype] : signature.signature.kwargs) {
      json_.text_key(name);
      write_dtype(dtype);
    }
    json_.end_object();
    json_.number("count", signature.count);
    const Reason& reason = report_.split.support.reasons[signature.first];
    if (reason.code != ReasonCode::none) {
      json_.text("reason", reason_text(reasons_, signature.first, reason));
    }
    json_.end_object();
  }

  const Report& report_;
  const Graph& graph_;
  ReasonContext reasons_;
  JsonText json_;
};

// ---- text ----

class TextSupportReport {
 public:
  explicit TextSupportReport(const Report& report)
      : report_(report), graph_(report.graph), reasons_(reason_context(report)) {}

  std::string write() {
    const Coverages coverage = cover(graph_, report_.split.support.supported);
    std::string by;
    const std::string joint = are_all_of(report_.lists) ? " and " : " or ";
    for (const SupportList& list : report_.lists) by += (by.empty() ? "" : joint) + list.name;
    page_.line(fitted(model_name(report_.model), 40) + ": " +
               coverage_text(coverage, "accepted by " + escaped(by)));
    const PatternMatches& patterns = report_.split.support.patterns;
    if (patterns.count() > 0) {
      page_.line(count_text(patterns.first_of_node.size()) +
                     " of the nodes by patterns: " + pattern_counts_text(reasons_, patterns),
                 2);
    }
    write_ops("supported", tables_of(ReasonCode::none));
    write_ops("no rule", tables_of(ReasonCode::no_rule));
    write_ops("no pattern fits", tables_of(ReasonCode::pattern_failed));
    write_ops("refused", tables_of(ReasonCode::rule_failed));
    write_ops("denied", tables_of(ReasonCode::denied));
    return page_.take();
  }

 private:
  // The most frequent ops first.
  std::vector<OpCount> tables_of(ReasonCode verdict) const {
    OpTable table(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (report_.split.support.reasons[node].code == verdict) table.add(node);
    }
    std::vector<OpCount> ops = table.ops();
    std::stable_sort(ops.begin(), ops.end(),
                     [](const OpCount& a, const OpCount& b) { return a.count > b.count; });
    return ops;
  }

  void write_ops(const std::string& title, const std::vector<OpCount>& ops) {
    if (ops.empty()) return;
    TextTable rows({title, "nodes", "inputs"}, {Align::left, Align::right, Align::left});
    std::vector<std::string> reasons{""};
    for (const OpCount& op : ops) {
      bool is_first = true;
      for (const SignatureCount& signature : op.signatures) {
        rows.add_row({"  " + (is_first ? op_name(op.first) : ""), count_text(signature.count),
                      fitted(signature_text(signature.signature), 40)});
        reasons.push_back(reason_of(signature.first));
        is_first = false;
      }
    }
    page_.table(rows, reasons, 300);
  }

  std::string op_name(NodeId node) const {
    return escaped(op_text(plain_domain(graph_.domain(node)), graph_.op(node)));
  }

  std::string reason_of(NodeId node) const {
    const Reason& reason = report_.split.support.reasons[node];
    const bool is_told = reason.code == ReasonCode::none || reason.code == ReasonCode::no_rule;
    return is_told ? "" : reason_text(reasons_, node, reason);
  }

  const Report& report_;
  const Graph& graph_;
  ReasonContext reasons_;
  Page page_;
};

}  // namespace

std::string support_report_json(const Report& report) { return JsonSupportReport(report).write(); }

std::string support_report_text(const Report& report) { return TextSupportReport(report).write(); }

}  // namespace cleave
