// Steps:
// 1. list the ops of the graph, and those that no allow rule of a list names;
// 2. for each rule that names no op of the graph, find the op that it most likely meant.
#include "core/support/near_miss.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/spelling.h"
#include "core/graph/domain.h"
#include "core/support/glob.h"
#include "core/support/rule_check.h"

namespace cleave {
namespace {

struct ModelOp {
  std::string_view domain;
  std::string_view op;
};

// The distinct ops of the graph in model order.
std::vector<ModelOp> distinct_ops(const Graph& graph) {
  std::vector<ModelOp> ops;
  std::unordered_set<std::uint64_t> seen;
  const auto note = [&](NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph.node(node).domain)} << 32U |
                              std::uint64_t{index(graph.node(node).op)};
    if (seen.insert(key).second) ops.push_back({graph.domain(node), graph.op(node)});
  };
  for (const NodeId node : graph.nodes()) {
    note(node);
    for (const NodeId inner : graph.body_nodes(node)) note(inner);
  }
  return ops;
}

bool names(const Rule& rule, const ModelOp& op) { return names_op(rule, op.domain, op.op); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string without_digits(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result),
               [](char c) { return c < '0' || c > '9'; });
  return result;
}

std::string_view last_component(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string_view first_component(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_misspelt(std::string_view rule, std::string_view op) {
  constexpr std::size_t kShortest = 5;  // below this length one letter makes another op: Sin, Sinh
  if (std::min(last_component(rule).size(), last_component(op).size()) < kShortest) return false;
  const std::size_t most = std::clamp(op.size() / 5, std::size_t{1}, std::size_t{2});
  return edit_distance(rule, op, most) <= most && without_digits(rule) != without_digits(op);
}

bool lacks_module(std::string_view rule, std::string_view op) {
  if (last_component(rule) != last_component(op)) return false;
  const bool both_dotted = last_component(rule) != rule && last_component(op) != op;
  return both_dotted ? first_component(rule) == first_component(op) : rule != op;
}

// 0: not a slip. Else the kind of slip; the likeliest has the lowest number.
int slip(const Rule& rule, const ModelOp& op) {
  if (plain_domain(rule.domain) != plain_domain(op.domain)) {
    const bool is_prefixed = rule.op == std::string(op.domain) + "::" + std::string(op.op);
    return rule.op == op.op || is_prefixed ? 1 : 0;
  }
  if (lower(rule.op) == lower(op.op)) return 2;
  if (lacks_module(rule.op, op.op)) return 3;
  return is_misspelt(rule.op, op.op) ? 4 : 0;
}

bool is_known(const Graph& graph, const Rule& rule, const OpFacts& facts) {
  if (!facts.schema_version) return false;
  const auto opset = imported_opset(graph, rule.domain);
  return opset && facts.schema_version(rule.domain, rule.op, *opset) != 0;
}

const ModelOp* likeliest(const Rule& rule, const std::vector<ModelOp>& candidates) {
  const ModelOp* best = nullptr;
  int best_slip = 0;
  for (const ModelOp& op : candidates) {
    const int kind = slip(rule, op);
    if (kind == 0 || (best && kind >= best_slip)) continue;
    best = &op;
    best_slip = kind;
  }
  return best;
}

// The ops that no allow rule of the list names.
std::vector<ModelOp> uncovered(const SupportList& list, const std::vector<ModelOp>& ops) {
  std::unordered_set<std::string_view> exact;
  std::vector<const Rule*> globs;
  for (const Rule& rule : list.allow) {
    if (is_glob(rule.op)) globs.push_back(&rule);
    if (!is_glob(rule.op)) exact.insert(rule.op);
  }
  std::vector<ModelOp> left;
  for (const ModelOp& op : ops) {
    const auto named = [&](const Rule& rule) { return names(rule, op); };
    const bool by_name =
        exact.count(op.op) != 0 && std::any_of(list.allow.begin(), list.allow.end(), named);
    const bool by_glob =
        std::any_of(globs.begin(), globs.end(), [&](const Rule* rule) { return names(*rule, op); });
    if (!by_name && !by_glob) left.push_back(op);
  }
  return left;
}

}  // namespace

std::vector<NearMiss> near_misses(const Graph& graph, const std::vector<SupportList>& lists,
                                  const OpFacts& facts) {
  const std::vector<ModelOp> ops = distinct_ops(graph);
  std::unordered_set<std::string_view> op_names;
  for (const ModelOp& op : ops) op_names.insert(op.op);
  std::vector<NearMiss> misses;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::vector<ModelOp> candidates = uncovered(lists[i], ops);
    for (std::uint32_t j = 0; j < lists[i].allow.size() && !candidates.empty(); ++j) {
      const Rule& rule = lists[i].allow[j];
      if (is_glob(rule.op)) continue;
      const auto named = [&](const ModelOp& op) { return names(rule, op); };
      if (op_names.count(rule.op) != 0 && std::any_of(ops.begin(), ops.end(), named)) continue;
      const ModelOp* op = likeliest(rule, candidates);
      if (op && !is_known(graph, rule, facts)) {
        misses.push_back({static_cast<std::uint16_t>(i), j, op->op, op->domain});
      }
    }
  }
  return misses;
}

}  // namespace cleave
