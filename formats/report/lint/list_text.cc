#include "formats/report/lint/list_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"
#include "formats/base/json/text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/lists/support/rule_json.h"
#include "formats/report/words/cost_words.h"
#include "formats/report/words/page.h"

namespace cleave {
namespace {

constexpr std::size_t kOpColumns = 24;
constexpr std::size_t kMostColumns = 600;  // of one rule

// The conditions as the list writes them; "" when there are none.
std::string conditions_text(Rule rule, bool is_denial) {
  rule.op.clear();
  rule.domain.clear();
  rule.why.clear();
  rule.unchecked.clear();
  JsonText json;
  is_denial ? write_deny_rule(json, rule) : write_allow_rule(json, rule);
  std::string text = std::move(json).finish();
  const std::size_t begin = text.find('{') + 1;
  return fitted(text.substr(begin, text.rfind('}') - begin), kMostColumns);
}

class ListText {
 public:
  explicit ListText(const SupportList& list) : list_(list) {}

  std::string run() {
    page_.line(escaped(list_.name) + " (" + escaped(list_.path) + ")");
    if (!list_.source.empty()) page_.line("source: " + escaped(list_.source), 2);
    page_.line(numbers(), 2);
    if (list_.link) page_.line("link: " + link_text(*list_.link), 2);
    for (std::size_t i = 0; i < kPartLimitCount; ++i) {
      const auto limit = static_cast<PartLimit>(i);
      if (const auto& most = list_.limits[limit]) {
        page_.line(std::string(part_limit_name(limit)) + ": " + count_text(*most), 2);
      }
    }
    write_part();
    if (list_.view == GraphView::onnxruntime) {
      page_.line("as onnxruntime: it is about the graph that ONNX Runtime makes of a model", 2);
    }
    if (list_.keeps_qdq) {
      page_.line(
          "keep_qdq: a quantised operator is one with its DequantizeLinear and "
          "QuantizeLinear, and stays whole",
          2);
    }
    write_rules("accepts, on these conditions", list_.allow, false);
    write_patterns();
    write_rules("denies", list_.deny, true);
    return page_.take();
  }

 private:
  void write_part() {
    for (const auto& [op, count] : list_.part.min_ops) {
      page_.line("a partition has at least " + count_text(count) + " of " + escaped_in_quotes(op),
                 2);
    }
    std::string ops;
    for (const std::string& op : list_.part.not_only) {
      ops += (ops.empty() ? "" : ", ") + escaped_in_quotes(op);
    }
    if (!ops.empty()) page_.line("a partition has nodes of other ops than " + ops, 2);
  }

  std::string numbers() const {
    const auto on_trust =
        std::count_if(list_.allow.begin(), list_.allow.end(),
                      [](const Rule& rule) { return !rule.unchecked.empty(); }) +
        std::count_if(list_.patterns.begin(), list_.patterns.end(),
                      [](const Pattern& pattern) { return !pattern.unchecked.empty(); });
    return counted(list_.allow.size(), "rule") + ", " + counted(list_.patterns.size(), "pattern") +
           ", " + counted(list_.deny.size(), "denial") + "; " +
           counted(static_cast<std::uint64_t>(on_trust), "accepts", "accept") +
           " on trust what the vendor asks for and no rule checks";
  }

  void write_rules(const std::string& heading, const std::vector<Rule>& rules, bool are_denials) {
    if (rules.empty()) return;
    page_.heading(heading);
    for (const Rule& rule : rules) {
      const std::string op = rule.op.empty() ? "any op" : escaped(op_text(rule.domain, rule.op));
      std::string conditions = conditions_text(rule, are_denials);
      if (are_denials && !rule.why.empty()) conditions += " (" + escaped(rule.why) + ")";
      write_op(op, conditions, rule.unchecked);
    }
  }

  void write_patterns() {
    if (list_.patterns.empty()) return;
    page_.heading("accepts as a whole");
    for (const Pattern& pattern : list_.patterns) {
      std::string ops;
      for (const Rule& op : pattern.ops) ops += (ops.empty() ? "" : ", ") + escaped(op.op);
      write_op(escaped(pattern.name), fitted(ops, kMostColumns), pattern.unchecked);
    }
  }

  void write_op(const std::string& op, const std::string& conditions,
                const std::string& unchecked) {
    if (conditions.empty() || text_columns(op) + 4 > kOpColumns) {
      page_.line(op, 2);
      if (!conditions.empty()) page_.line(conditions, kOpColumns);
    } else {
      page_.fact("  " + op, conditions, kOpColumns);
    }
    if (!unchecked.empty()) {
      page_.line("on trust: " + fitted(escaped(unchecked), kMostColumns), kOpColumns);
    }
  }

  const SupportList& list_;
  Page page_;
};

}  // namespace

std::string list_text(const SupportList& list) { return ListText(list).run(); }

namespace {

struct MetOp {
  Rule rule;
  std::size_t nodes = 0;
  std::set<std::size_t> models = {};
};

// Adds the types of a node to the rule. A position that has no known type in some node accepts any
// type.
void add_types(const Signature& signature, bool is_first, Rule& rule) {
  const std::size_t count = signature.args.size();
  if (is_first) {
    for (const DType dtype : signature.args) {
      rule.inputs.emplace_back();
      if (dtype != DType::unknown) rule.inputs.back().emplace().add(dtype);
    }
    return;
  }
  if (rule.inputs.size() > count) rule.inputs.resize(count);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    if (signature.args[i] == DType::unknown) rule.inputs[i].reset();
    if (rule.inputs[i]) rule.inputs[i]->add(signature.args[i]);
  }
}

}  // namespace

std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name) {
  std::vector<MetOp> ops;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto add = [&](const Graph& graph, NodeId node, std::size_t model) {
    const std::pair<std::string, std::string> key(plain_domain(graph.domain(node)), graph.op(node));
    const auto [place, is_new] = places.try_emplace(key, ops.size());
    if (is_new) {
      MetOp& met = ops.emplace_back();
      met.rule.domain = key.first;
      met.rule.op = key.second;
    }
    MetOp& met = ops[place->second];
    add_types(signature_of(graph, node), is_new, met.rule);
    ++met.nodes;
    met.models.insert(model);
  };
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = *graphs[i];
    for (const NodeId node : graph.nodes()) {
      add(graph, node, i);
      for (const NodeId inner : graph.body_nodes(node)) add(graph, inner, i);
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", name);
  json.begin_list("allow");
  for (MetOp& met : ops) {
    met.rule.why = counted(met.nodes, "node") + " of " + counted(met.models.size(), "model");
    write_allow_rule(json, met.rule);
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
