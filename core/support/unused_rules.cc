#include "core/support/unused_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/spelling.h"
#include "core/graph/op_name.h"
#include "core/support/glob.h"
#include "core/support/rule_check.h"
#include "core/support/rule_index.h"
#include "core/support/support_list.h"

namespace cleave {

std::vector<Rule> allowing_rules(const SupportList& list) {
  std::vector<Rule> rules = list.allow;
  for (const Pattern& pattern : list.patterns) {
    rules.insert(rules.end(), pattern.ops.begin(), pattern.ops.end());
  }
  return rules;
}

namespace {

constexpr std::size_t kMostOps = 3;

// The distinct ops of the graph, bodies included, in model order.
std::vector<UsedOp> used_ops(const Graph& graph) {
  std::vector<UsedOp> ops;
  std::unordered_map<std::uint64_t, std::size_t> places;
  const auto note = [&](NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph.node(node).domain)} << 32U |
                              std::uint64_t{index(graph.node(node).op)};
    const auto place = places.try_emplace(key, ops.size());
    if (place.second) ops.push_back({graph.domain(node), graph.op(node)});
    ++ops[place.first->second].nodes;
  };
  for (const NodeId node : graph.nodes()) {
    note(node);
    for (const NodeId inner : graph.body_nodes(node)) note(inner);
  }
  return ops;
}

bool names_any(const SupportList& list, const std::vector<UsedOp>& ops) {
  const std::vector<Rule> rules = allowing_rules(list);
  const RulesByOp allow(rules);
  return std::any_of(ops.begin(), ops.end(),
                     [&](const UsedOp& op) { return !allow.names(op.domain, op.op).empty(); });
}

}  // namespace

std::vector<IdleList> find_idle_lists(const Graph& graph, std::span<const SupportList> lists) {
  std::vector<UsedOp> ops = used_ops(graph);
  std::vector<IdleList> idle;
  if (ops.empty()) return idle;
  const bool has_others = !all_are_overlays(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].role == ListRole::verdicts || (has_others && is_overlay(lists[i]))) continue;
    if (!names_any(lists[i], ops)) idle.push_back({static_cast<std::uint16_t>(i), {}});
  }
  if (idle.empty()) return idle;
  std::stable_sort(ops.begin(), ops.end(),
                   [](const UsedOp& a, const UsedOp& b) { return a.nodes > b.nodes; });
  ops.resize(std::min(ops.size(), kMostOps));
  for (IdleList& list : idle) list.ops = ops;
  return idle;
}

namespace {

constexpr std::string_view kAten = "torch.ops.aten.";

// From torch's decomposition tables, torch._decomp.core_aten_decompositions() and the default of
// run_decompositions(). Each pair is one of several that a name may have.
struct Pair {
  std::string_view exported, decomposed;
};
constexpr std::array<Pair, 31> kPairs = {{
    {"conv1d", "convolution"},
    {"conv2d", "convolution"},
    {"conv3d", "convolution"},
    {"conv_transpose1d", "convolution"},
    {"conv_transpose2d", "convolution"},
    {"conv_transpose3d", "convolution"},
    {"linear", "addmm"},
    {"linear", "mm"},
    {"matmul", "mm"},
    {"matmul", "bmm"},
    {"batch_norm", "_native_batch_norm_legit_no_training"},
    {"batch_norm", "_native_batch_norm_legit_functional"},
    {"batch_norm", "_native_batch_norm_legit"},
    {"layer_norm", "native_layer_norm"},
    {"group_norm", "native_group_norm"},
    {"instance_norm", "_native_batch_norm_legit"},
    {"softmax", "_softmax"},
    {"log_softmax", "_log_softmax"},
    {"dropout", "native_dropout"},
    {"max_pool1d", "max_pool2d_with_indices"},
    {"max_pool2d", "max_pool2d_with_indices"},
    {"max_pool3d", "max_pool3d_with_indices"},
    {"adaptive_avg_pool2d", "_adaptive_avg_pool2d"},
    {"adaptive_avg_pool3d", "_adaptive_avg_pool3d"},
    {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"},
    {"flatten", "view"},
    {"unflatten", "view"},
    {"reshape", "view"},
    {"contiguous", "clone"},
    {"to", "_to_copy"},
    {"type_as", "_to_copy"},
}};

// True for "relu_", which writes its argument; not for "__and__".
bool writes_in_place(std::string_view name) {
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

}  // namespace

std::vector<IrTwin> ir_twins(std::string_view op) {
  std::vector<IrTwin> twins;
  if (!op.starts_with(kAten)) return twins;
  std::string_view name = op.substr(kAten.size());
  name = name.substr(0, name.find('.'));
  enum class Form { exported, decomposed };
  const auto add = [&](std::string_view twin, Form form) {
    twins.push_back({"aten." + std::string(twin), form == Form::decomposed});
  };
  for (const Pair& pair : kPairs) {
    if (pair.exported == name) add(pair.decomposed, Form::decomposed);
    if (pair.decomposed == name) add(pair.exported, Form::exported);
  }
  if (writes_in_place(name)) {
    add(name.substr(0, name.size() - 1), Form::decomposed);
  } else if (!name.ends_with('_')) {
    add(std::string(name) + "_", Form::exported);
  }
  return twins;
}

// Steps of a search for near misses:
// 1. list the ops of the graph, and those that no allow rule of a list names;
// 2. for each rule that names no op of the graph, look up the ops whose names differ by a slip of
//    case, module or domain only;
// 3. if there is none, compare the rule with ops of about its length, a few million letters in all,
//    so that hints do not take long.

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

// The last of a name's parts; of torch's "torch.ops.aten.add.Tensor" the one before the overload, which says nothing alone.
std::string_view own_name(std::string_view name) {
  if (name.starts_with("torch.ops.")) name = name.substr(0, name.rfind('.'));
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string_view first_component(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_dotted(std::string_view name) { return name.find('.') != name.npos; }

constexpr std::size_t kShortest = 5;           // below, one letter makes another op: Sin, Sinh
constexpr std::size_t kLongest = 256;          // above, no name is compared letter by letter
constexpr std::size_t kMostEdits = 2;          // in a name of ten letters or more; else 1
constexpr std::size_t kMostSteps = 4'000'000;  // of comparisons, for one list

std::size_t most_edits(std::string_view op) {
  return std::clamp(op.size() / 5, std::size_t{1}, kMostEdits);
}

bool is_misspelt(std::string_view rule, std::string_view op) {
  const std::size_t most = most_edits(own_name(op));
  return edit_distance(rule, op, most) <= most && without_digits(rule) != without_digits(op);
}

// The parts of a name as one text, for tables.
std::string key_of(std::string_view domain, std::string_view a, std::string_view b = {}) {
  std::string key(plain_domain(domain));
  key += '\0';
  key += a;
  key += '\0';
  return key += b;
}

// The ops that a list does not cover, in model order, by the parts of their names that each kind of
// slip leaves unchanged.
class Candidates {
 public:
  explicit Candidates(std::vector<ModelOp> ops) : ops_(std::move(ops)) {
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      const auto [domain, op] = std::pair(ops_[i].domain, ops_[i].op);
      by_name_[op].push_back(i);
      by_lower_.try_emplace(key_of(domain, lower(op)), i);
      const std::string_view last = own_name(op);
      by_last_.try_emplace(key_of(domain, last, is_dotted(op) ? "." : ""), i);
      if (is_dotted(op)) by_ends_.try_emplace(key_of(domain, first_component(op), last), i);
      by_length_[key_of(domain, std::to_string(op.size()))].push_back(i);
    }
  }

  bool empty() const { return ops_.empty(); }

  // The op that the rule most likely means: by the likeliest kind of slip, then the first in the
  // model; null when there is none.
  const ModelOp* likeliest(const Rule& rule) {
    for (const auto find : {&Candidates::other_domain, &Candidates::other_case,
                            &Candidates::other_module, &Candidates::misspelt}) {
      if (const auto found = (this->*find)(rule)) return &ops_[*found];
    }
    return nullptr;
  }

 private:
  using Place = std::optional<std::uint32_t>;  // in ops_
  using Table = std::unordered_map<std::string, std::uint32_t>;

  static Place in(const Table& table, const std::string& key) {
    const auto found = table.find(key);
    return found == table.end() ? Place() : Place(found->second);
  }

  static Place first(Place a, Place b) { return a && b ? std::min(a, b) : (a ? a : b); }

  bool is_in_domain(std::uint32_t place, const Rule& rule) const {
    return cleave::is_in_domain(rule.domain, ops_[place].domain);
  }

  Place other_domain(const Rule& rule) {
    const auto named = by_name_.find(rule.op);
    if (named == by_name_.end()) return {};
    const auto other = std::find_if(named->second.begin(), named->second.end(),
                                    [&](std::uint32_t i) { return !is_in_domain(i, rule); });
    return other == named->second.end() ? Place() : Place(*other);
  }

  Place other_case(const Rule& rule) { return in(by_lower_, key_of(rule.domain, lower(rule.op))); }

  Place other_module(const Rule& rule) {
    const std::string_view last = own_name(rule.op);
    if (!is_dotted(rule.op)) return in(by_last_, key_of(rule.domain, last, "."));
    return first(in(by_last_, key_of(rule.domain, last)),
                 in(by_ends_, key_of(rule.domain, first_component(rule.op), last)));
  }

  Place misspelt(const Rule& rule) {
    const std::size_t size = rule.op.size();
    if (own_name(rule.op).size() < kShortest || size > kLongest) return {};
    Place found;
    for (std::size_t length = size - kMostEdits; length <= size + kMostEdits; ++length) {
      const auto ops = by_length_.find(key_of(rule.domain, std::to_string(length)));
      if (ops != by_length_.end()) found = first(found, misspelt_of(rule, ops->second));
    }
    return found;
  }

  Place misspelt_of(const Rule& rule, const std::vector<std::uint32_t>& places) {
    for (const std::uint32_t place : places) {
      const std::string_view op = ops_[place].op;
      const std::size_t steps = 2 * kMostEdits * op.size();
      if (steps > steps_left_) return {};
      steps_left_ -= steps;
      // The rule's own name is longer than those, and no other op's: is_known() is asked, too.
      const std::size_t shortest = is_dotted(op) ? kShortest : kShortest - 1;
      if (own_name(op).size() >= shortest && is_misspelt(rule.op, op)) return place;
    }
    return {};
  }

  std::vector<ModelOp> ops_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_name_;
  Table by_lower_, by_last_, by_ends_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_length_;
  std::size_t steps_left_ = kMostSteps;
};

bool is_known(const Graph& graph, const Rule& rule, const OpFacts& facts) {
  if (!facts.schema_version) return false;
  const auto opset = imported_opset(graph, rule.domain);
  return opset && facts.schema_version(rule.domain, rule.op, *opset) != 0;
}

// How the allow rules of a list and the ops of a graph fit.
struct Fit {
  std::vector<bool> names_an_op;   // by rule
  std::vector<ModelOp> uncovered;  // ops that no rule names
};

Fit fit(const std::vector<Rule>& allow, const std::vector<ModelOp>& ops) {
  const RulesByOp by_op(allow, [](const Rule& rule) { return !rule.op.empty(); });
  Fit fit{.names_an_op = std::vector<bool>(allow.size()), .uncovered = {}};
  for (const ModelOp& op : ops) {
    const RuleIndices rules = by_op.names(op.domain, op.op);
    if (rules.empty()) fit.uncovered.push_back(op);
    for (const std::uint32_t rule : rules) fit.names_an_op[rule] = true;
  }
  return fit;
}

}  // namespace

std::vector<NearMiss> near_misses(const Graph& graph, std::span<const SupportList> lists,
                                  const OpFacts& facts) {
  const std::vector<ModelOp> ops = distinct_ops(graph);
  std::vector<NearMiss> misses;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::vector<Rule> allow = allowing_rules(lists[i]);
    Fit here = fit(allow, ops);
    Candidates candidates(std::move(here.uncovered));
    for (std::uint32_t j = 0; j < allow.size() && !candidates.empty(); ++j) {
      const bool is_of_several = is_glob(allow[j].op) || is_glob(allow[j].domain);
      if (allow[j].op.empty() || is_of_several || here.names_an_op[j]) continue;
      const ModelOp* const op = candidates.likeliest(allow[j]);
      if (op && !is_known(graph, allow[j], facts)) {
        misses.push_back({static_cast<std::uint16_t>(i), j, op->op, op->domain});
      }
    }
  }
  return misses;
}

}  // namespace cleave
