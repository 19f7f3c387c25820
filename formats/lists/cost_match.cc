// Matches the names that a runtime gives with the nodes of a model.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "formats/lists/costs.h"

namespace cleave {

// ---- runtime names ----

namespace {

constexpr std::array<std::string_view, 16> kSuffixes = {
    "_nchwc",          "_nhwc",       "/WithoutBiases",        "_kernel_time",
    "_quantized",      "_quant",      "_QuantizeLinear",       "_DequantizeLinear",
    "/fq_input_0",     "/fq_weights", "/DequantizeLinear",     "_fusion",
    "/QuantizeLinear", "_Fused",      "/MatMulIntegerToFloat", "_transposed"};
constexpr std::array<std::string_view, 3> kPrefixes = {"fused ", "Fused_", "Reorder_"};
constexpr std::string_view kToken = "_token_";
constexpr std::string_view kForeign = "{ForeignNode[";

bool strip_once(std::string_view& name) {
  for (const std::string_view suffix : kSuffixes) {
    if (name.size() <= suffix.size() || !name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    return true;
  }
  for (const std::string_view prefix : kPrefixes) {
    if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return true;
  }
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == name.npos || digits + 1 == name.size()) return false;
  if (!name.substr(0, digits + 1).ends_with(kToken) || digits + 1 == kToken.size()) return false;
  name = name.substr(0, digits + 1 - kToken.size());
  return true;
}

std::string_view without_brackets(std::string_view name) {
  while (name.starts_with("PWN(") && name.ends_with(')')) {
    name.remove_prefix(4);
    name.remove_suffix(1);
  }
  if (name.starts_with(kForeign) && name.ends_with("]}")) {
    name.remove_prefix(kForeign.size());
    name.remove_suffix(2);
  }
  return name;
}

std::string_view trimmed_name(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  while (name.ends_with(')') && name.find('(') == name.npos) name.remove_suffix(1);
  return without_brackets(name);
}

// Other runtimes' names for an ONNX operator.
struct Words {
  std::string_view kernel, node;
};
constexpr std::array<Words, 37> kWords = {{
    {"convolution", "conv"},
    {"groupconvolution", "conv"},
    {"deconvolution", "convtranspose"},
    {"fullyconnected", "gemm"},
    {"fullyconnected", "matmul"},
    {"matmul", "gemm"},
    {"gemm", "matmul"},
    {"eltwise", "add"},
    {"eltwise", "mul"},
    {"eltwise", "sub"},
    {"eltwise", "div"},
    {"eltwise", "pow"},
    {"pooling", "maxpool"},
    {"pooling", "averagepool"},
    {"avgpool", "averagepool"},
    {"reducemean", "globalaveragepool"},
    {"maxpool", "globalmaxpool"},
    {"hswish", "hardswish"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"subtract", "sub"},
    {"power", "pow"},
    {"interpolate", "resize"},
    {"interpolate", "upsample"},
    {"permute", "transpose"},
    {"stridedslice", "slice"},
    {"roll", "concat"},
    {"lstmsequence", "lstm"},
    {"grusequence", "gru"},
    {"rnnseq", "lstm"},
    {"rnnseq", "gru"},
    {"rnnseq", "rnn"},
    {"mvn", "layernormalization"},
    {"mvn", "instancenormalization"},
    {"normalizel2", "lpnormalization"},
    {"broadcast", "expand"},
    {"softmax", "logsoftmax"},
}};

constexpr std::array<std::string_view, 44> kOftenFused = {"abs",
                                                          "add",
                                                          "batchnormalization",
                                                          "cast",
                                                          "ceil",
                                                          "clip",
                                                          "dequantizelinear",
                                                          "div",
                                                          "dropout",
                                                          "elu",
                                                          "erf",
                                                          "exp",
                                                          "expand",
                                                          "flatten",
                                                          "floor",
                                                          "gelu",
                                                          "hardsigmoid",
                                                          "hardswish",
                                                          "hardtanh",
                                                          "identity",
                                                          "leakyrelu",
                                                          "mish",
                                                          "mul",
                                                          "neg",
                                                          "pad",
                                                          "pow",
                                                          "prelu",
                                                          "quantizelinear",
                                                          "reciprocal",
                                                          "relu",
                                                          "relu6",
                                                          "reshape",
                                                          "selu",
                                                          "sigmoid",
                                                          "silu",
                                                          "softplus",
                                                          "sqrt",
                                                          "squeeze",
                                                          "sub",
                                                          "tanh",
                                                          "thresholdedrelu",
                                                          "transpose",
                                                          "unsqueeze",
                                                          "where"};

}  // namespace

std::string_view without_additions(std::string_view name) {
  while (strip_once(name)) {
  }
  return name;
}

std::vector<std::string_view> joined_names(std::string_view name) {
  std::vector<std::string_view> names;
  std::string_view rest = without_brackets(name);
  for (;;) {
    const std::size_t plus = rest.find(" + "), comma = rest.find(',');
    const std::size_t end = std::min(plus, comma);
    const std::string_view part = trimmed_name(rest.substr(0, end));
    if (!part.empty()) names.push_back(part);
    if (end == rest.npos) return names;
    rest.remove_prefix(end + (end == plus ? 3 : 1));
  }
}

std::vector<std::string_view> range_of_nodes(std::string_view name) {
  if (!name.starts_with(kForeign)) return {};
  name = without_brackets(name);
  const std::size_t dots = name.find("...");
  if (dots == name.npos) return {};
  return {name.substr(0, dots), name.substr(dots + 3)};
}

bool op_fits(std::string_view kernel_op, std::string_view node_op) {
  const std::string kernel = op_key(kernel_op), node = op_key(node_op);
  if (kernel.empty() || node.empty()) return false;
  if (kernel == node) return true;
  const bool holds_node = node.size() >= 4 && kernel.find(node) != kernel.npos;
  if (holds_node && (kernel.starts_with("fused") || kernel.starts_with("qlinear") ||
                     kernel.starts_with("dynamicquantize") || kernel.starts_with("skip") ||
                     kernel.ends_with("integer") || kernel.ends_with("integertofloat"))) {
    return true;
  }
  return std::ranges::any_of(
      kWords, [&](const Words& words) { return words.kernel == kernel && words.node == node; });
}

bool is_often_fused(std::string_view node_op) {
  const std::string key = op_key(node_op);
  return contains(kOftenFused, key);
}

// ---- cost match ----

NodeNames::NodeNames(const Graph& graph)
    : graph_(graph),
      first_body_(static_cast<std::uint32_t>(graph.node_count() + graph.constants().size())) {
  for (const NodeId node : graph.nodes()) {
    add_node(node);
    add_outputs(node);
  }
  for (const NodeId constant : graph.constants()) {
    add_node(constant);
    add_outputs(constant);
  }
  for (const NodeId owner : graph.nodes()) {
    for (const NodeId inner : graph.body_nodes(owner)) {
      add_node(inner);
      const std::size_t place = index(inner) - first_body_;
      if (place >= owners_.size()) owners_.resize(place + 1, kNone<NodeId>);
      owners_[place] = owner;
    }
  }
}

void NodeNames::add_node(NodeId id) {
  nodes_.find_or_insert(node_name(index(id)), index(id),
                        [&](std::uint32_t i) { return node_name(i); });
}

void NodeNames::add_outputs(NodeId id) {
  for (const ValueId output : graph_.outputs(id)) {
    values_.find_or_insert(value_name(index(output)), index(output),
                           [&](std::uint32_t i) { return value_name(i); });
  }
}

std::optional<NodeId> NodeNames::find(std::string_view name) const {
  const auto found = nodes_.find(name, [&](std::uint32_t i) { return node_name(i); });
  return found == NameTable::kAbsent ? std::nullopt : std::optional(NodeId{found});
}

std::optional<NodeId> NodeNames::find_maker(std::string_view value) const {
  const auto found = values_.find(value, [&](std::uint32_t i) { return value_name(i); });
  if (found == NameTable::kAbsent) return std::nullopt;
  return graph_.value(ValueId{found}).producer;
}

NodeId NodeNames::owner(NodeId id) const {
  if (index(id) < graph_.node_count()) return id;
  if (index(id) < first_body_) return kNone<NodeId>;
  const std::size_t place = index(id) - first_body_;
  return place < owners_.size() ? owners_[place] : kNone<NodeId>;
}

namespace {

// Rates used for shares only: what matters is the ratio of computing to moving data.
constexpr double kFlopsPerSecond = 10e12;
constexpr double kBytesPerSecond = 100e9;

double weight_of(const NodeCost& cost) {
  return std::max(cost.flops.value_or(0) / kFlopsPerSecond,
                  cost.bytes.value_or(0) / kBytesPerSecond);
}

// FusedGroups: the nodes whose work each kernel of a profile did, and each node's share of its
// time.
class FusedGroups {
 public:
  static constexpr std::uint32_t kNoKernel = 0xFFFFFFFF;

  FusedGroups(const Graph& graph, std::size_t kernels)
      : graph_(graph), kernel_of_(graph.node_count(), kNoKernel), nodes_(kernels) {}

  // Records that the kernel does work of the node. Several kernels may do work of one node.
  void add(std::uint32_t kernel, NodeId node) {
    if (kernel_of_[node] == kNoKernel) kernel_of_[node] = kernel;
    std::vector<NodeId>& members = nodes_[kernel];
    if (!contains(members, node)) members.push_back(node);
  }

  bool is_measured(NodeId node) const { return kernel_of_[node] != kNoKernel; }
  std::uint32_t kernel_of(NodeId node) const { return kernel_of_[node]; }  // the first one
  std::span<const NodeId> nodes(std::uint32_t kernel) const { return nodes_[kernel]; }

  // A node without a kernel joins the kernel of a node that it reads, or else of a node that reads
  // it, if its op is often fused or it is in `is_listed` (the runtime lists it as not run). Returns
  // the number of nodes that joined. Linear.
  std::size_t join_neighbours(const NodeSet& is_listed) {
    std::size_t joined = 0;
    for (const NodeId node : graph_.nodes()) {
      if (may_join(node, is_listed) && join_producer(node)) ++joined;
    }
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      const auto node = id_at<NodeId>(i);
      if (may_join(node, is_listed) && join_reader(node)) ++joined;
    }
    return joined;
  }

  // Microseconds by node: each kernel's time divided in proportion to estimated costs, or equally
  // if these are unknown; below 0 for a node without a kernel. `us` is by kernel.
  PerNode<double> shares(std::span<const double> us) const {
    const PerNode<NodeCost> costs = node_costs(graph_);
    PerNode<double> shares(graph_.node_count(), -1);
    for (std::size_t kernel = 0; kernel < nodes_.size(); ++kernel) {
      double total = 0;
      for (const NodeId node : nodes_[kernel]) total += weight_of(costs[node]);
      for (const NodeId node : nodes_[kernel]) {
        const double share = total > 0 ? weight_of(costs[node]) / total
                                       : 1.0 / static_cast<double>(nodes_[kernel].size());
        shares[node] = std::max(shares[node], 0.0) + us[kernel] * share;
      }
    }
    return shares;
  }

 private:
  bool may_join(NodeId node, const NodeSet& is_listed) const {
    if (is_measured(node)) return false;
    return is_listed.contains(node) || is_often_fused(graph_.op(node));
  }

  bool join_producer(NodeId node) {
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output || !is_measured(value.producer)) continue;
      add(kernel_of_[value.producer], node);
      return true;
    }
    return false;
  }

  bool join_reader(NodeId node) {
    for (const NodeId reader : graph_.readers(node)) {
      if (!is_measured(reader)) continue;
      add(kernel_of_[reader], node);
      return true;
    }
    return false;
  }

  const Graph& graph_;
  PerNode<std::uint32_t> kernel_of_;
  std::vector<std::vector<NodeId>> nodes_;  // by kernel
};

// Runtimes fuse a few nodes into a kernel and name it by one of them, so a chain back is short.
// Names are compared with their neighbours in sorted order, since what a runtime renamed mostly
// shares its beginning; 200 on either side bound the work to a multiple of the kernels. Chosen, not
// measured.
constexpr std::size_t kMostUnmatched = 10;  // named in reports
constexpr int kLongestChain = 6;            // of nodes, when tracing back from a kernel's output
constexpr int kDeepestBody = 64;            // bodies around a kernel that are looked at
constexpr std::size_t kNeighbours = 200;    // names tried on each side, in sorted order

// The number of leading characters that two paths share, up to a '/': 4 for "/a/b/c" and "/a/b/d".
std::size_t common_path(std::string_view a, std::string_view b) {
  std::size_t common = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '/' && i > 0) common = i;
  }
  return common;
}

// True for "Mul_160" of op Mul, or no name at all.
bool is_made_up(const CostEntry& entry) {
  std::string_view name = entry.name;
  if (name.empty() || name == entry.op) return true;
  if (!name.starts_with(entry.op) || name.size() < entry.op.size() + 2) return false;
  name.remove_prefix(entry.op.size());
  return name[0] == '_' && name.find_first_not_of("0123456789", 1) == name.npos;
}

class CostMatcher {
 public:
  CostMatcher(const CostEntries& file, const Graph& graph)
      : file_(file),
        graph_(graph),
        names_(graph),
        groups_(graph, file.entries.size()),
        rules_(file.entries.size(), MatchRule::none),
        found_(file.entries.size(), kNone<NodeId>) {
    find_counted();
  }

  CostMatch match() && {
    NodeSet listed(graph_.node_count());
    for (std::uint32_t i = 0; i < file_.entries.size(); ++i) match_names(i, listed);
    if (is_profile(file_.format)) {
      for_unmatched([&](std::uint32_t i) { return match_range(i); }, MatchRule::joined);
      sort_free_nodes();
      for_unmatched([&](std::uint32_t i) { return match_prefix(i); }, MatchRule::prefix);
      group_free_nodes();
      for_unmatched([&](std::uint32_t i) { return match_shape(i); }, MatchRule::shape);
      match_order();
    }
    CostMatch made;
    if (is_profile(file_.format)) made.fused_nodes = groups_.join_neighbours(listed);
    finish(made);
    return made;
  }

 private:
  const CostEntry& entry(std::uint32_t i) const { return file_.entries[i]; }
  bool counts(std::uint32_t i) const { return counts_[i]; }

  bool is_node(std::string_view name) const {
    const auto found = names_.find(name);
    return found && index(*found) < graph_.node_count();
  }

  // A kernel with a body is replaced if it is no node of the model and a kernel inside it is one.
  void find_counted() {
    const std::size_t count = file_.entries.size();
    std::vector<bool> is_replaced(count, false);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!entry(i).is_inside || !is_node(entry(i).name)) continue;
      for (std::uint32_t at = entry(i).around; !is_replaced[at]; at = entry(at).around) {
        if (names_.find(entry(at).name)) break;
        is_replaced[at] = true;
        if (!entry(at).is_inside) break;
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      bool is_part_of_node = false;
      std::uint32_t at = i;
      for (int depth = 0; depth < kDeepestBody && entry(at).is_inside; ++depth) {
        at = entry(at).around;
        is_part_of_node = is_part_of_node || !is_replaced[at];
      }
      counts_.push_back(entry(i).was_run && !is_part_of_node && !is_replaced[i]);
    }
  }

  // Assigns the kernel to that node, or to the node around it. The kernel of a constant counts for
  // no node.
  bool take(std::uint32_t i, MatchRule rule, NodeId found) {
    if (const NodeId node = names_.owner(found); node != kNone<NodeId>) groups_.add(i, node);
    if (rules_[i] == MatchRule::none && index(found) < graph_.node_count()) found_[i] = found;
    rules_[i] = rule;
    return true;
  }

  // ---- names ----

  void match_names(std::uint32_t i, NodeSet& listed) {
    const std::string_view name = entry(i).name;
    if (!entry(i).was_run) {
      const auto found = names_.find(without_additions(name));
      if (found && index(*found) < graph_.node_count()) listed.insert(*found);
      return;
    }
    if (!counts(i)) return;
    if (match_node(i, name, MatchRule::name) || match_output(i, name, MatchRule::output)) return;
    const std::string_view stripped = without_additions(name);
    if (stripped != name && (match_node(i, stripped, MatchRule::stripped) ||
                             match_output(i, stripped, MatchRule::stripped))) {
      return;
    }
    if (entry(i).op == "Reorder" && match_end(i)) return;
    match_joined(i);
  }

  bool match_node(std::uint32_t i, std::string_view name, MatchRule rule) {
    const auto found = names_.find(name);
    return found && take(i, rule, *found);
  }

  // A kernel named after an output may have been fused: then it did the work of all nodes back to
  // the one whose op fits.
  bool match_output(std::uint32_t i, std::string_view name, MatchRule rule) {
    const auto found = names_.find_maker(name);
    if (!found) return false;
    take(i, rule, *found);
    if (index(*found) >= graph_.node_count()) return true;
    for (const NodeId node : chain_to_fitting(*found, entry(i).op)) groups_.add(i, node);
    return true;
  }

  // The nodes up to `last`, back to one whose op fits; empty when there is none near.
  std::vector<NodeId> chain_to_fitting(NodeId last, std::string_view op) const {
    std::vector<NodeId> chain;
    if (op.empty()) return chain;
    for (NodeId at = last; !op_fits(op, graph_.op(at)); chain.push_back(at)) {
      if (chain.size() == kLongestChain) return {};
      at = fused_producer(at, op);
      if (at == kNone<NodeId>) return {};
    }
    return chain;
  }

  NodeId fused_producer(NodeId node, std::string_view op) const {
    NodeId first = kNone<NodeId>;
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      if (op_fits(op, graph_.op(value.producer))) return value.producer;
      const bool may_be_fused = is_often_fused(graph_.op(value.producer));
      if (first == kNone<NodeId> && may_be_fused) first = value.producer;
    }
    return first;
  }

  // A change of layout has the names of both nodes around it: "conv1_abcd_acdb_conv2".
  bool match_end(std::uint32_t i) {
    const std::string_view name = entry(i).name;
    for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
      const auto found = names_.find(without_additions(name.substr(at + 1)));
      if (found) return take(i, MatchRule::stripped, *found);
    }
    return false;
  }

  void match_joined(std::uint32_t i) {
    const auto parts = joined_names(entry(i).name);
    if (parts.size() == 1 && parts[0] == entry(i).name) return;
    for (const std::string_view part : parts) {
      auto found = names_.find(part);
      if (!found) found = names_.find_maker(part);
      if (!found) found = names_.find(without_additions(part));
      if (!found) found = names_.find_maker(without_additions(part));
      if (found) take(i, MatchRule::joined, *found);
    }
  }

  // ---- kernels that no name matched ----

  template <class Match>
  void for_unmatched(Match match, MatchRule rule) {
    for (std::uint32_t i = 0; i < file_.entries.size(); ++i) {
      if (!counts(i) || rules_[i] != MatchRule::none) continue;
      const NodeId node = match(i);
      if (node != kNone<NodeId>) take(i, rule, node);
    }
  }

  // All nodes from the first to the last one that have no kernel of their own.
  NodeId match_range(std::uint32_t i) {
    const auto ends = range_of_nodes(entry(i).name);
    if (ends.empty()) return kNone<NodeId>;
    const auto first = names_.find(ends[0]), last = names_.find(ends[1]);
    if (!first || !last || index(*last) >= graph_.node_count()) return kNone<NodeId>;
    for (std::uint32_t at = index(*first); at <= index(*last); ++at) {
      if (!groups_.is_measured(NodeId{at})) groups_.add(i, NodeId{at});
    }
    return *last;
  }

  void sort_free_nodes() {
    for (const NodeId node : graph_.nodes()) {
      if (!groups_.is_measured(node)) free_by_name_.push_back(node);
    }
    std::ranges::sort(free_by_name_, [&](NodeId a, NodeId b) {
      return std::pair(graph_.node(a).name, a) < std::pair(graph_.node(b).name, b);
    });
  }

  NodeId match_prefix(std::uint32_t i) {
    const std::string_view name = entry(i).name;
    for (std::size_t end = name.rfind('/'); end != name.npos && end > 0;
         end = name.rfind('/', end - 1)) {
      const auto found = names_.find(name.substr(0, end));
      if (found && index(*found) < graph_.node_count()) return *found;
    }
    return entry(i).op.empty() ? kNone<NodeId> : nearest_free(i);
  }

  // The free node with a fitting op and the longest common path; among equals the one with the
  // kernel's output shape, then the first in the model.
  NodeId nearest_free(std::uint32_t i) const {
    const std::string_view name = entry(i).name;
    const auto at = std::lower_bound(
        free_by_name_.begin(), free_by_name_.end(), name,
        [&](NodeId node, std::string_view text) { return graph_.node(node).name < text; });
    const auto place = static_cast<std::size_t>(at - free_by_name_.begin());
    const std::size_t begin = place > kNeighbours ? place - kNeighbours : 0;
    const std::size_t end = std::min(place + kNeighbours, free_by_name_.size());
    NodeId best = kNone<NodeId>;
    std::size_t longest = 0;
    bool fits_best = false;
    for (std::size_t j = begin; j < end; ++j) {
      const NodeId node = free_by_name_[j];
      if (groups_.is_measured(node) || !op_fits(entry(i).op, graph_.op(node))) continue;
      const std::size_t common = common_path(name, graph_.node(node).name);
      const bool fits = may_make(node, entry(i), false);
      const auto rank = std::tuple(common, fits, best == kNone<NodeId> || node < best);
      if (common == 0 || rank <= std::tuple(longest, fits_best, false)) continue;
      best = node;
      longest = common;
      fits_best = fits;
    }
    return best;
  }

  // Whether the kernel makes what the node makes, as far as both shapes are known; `if_unknown` where they are not.
  bool may_make(NodeId node, const CostEntry& kernel, bool if_unknown) const {
    const auto outputs = graph_.outputs(node);
    if (outputs.empty() || kernel.outputs.empty()) return false;
    if (!graph_.has_rank(outputs[0])) return if_unknown;
    const Shape shape = graph_.shape(outputs[0]);
    return std::equal(shape.begin(), shape.end(), kernel.outputs[0].begin(),
                      kernel.outputs[0].end(), [&](Dim dim, std::int64_t size) {
                        return dim.is_fixed() ? dim.size() == size : if_unknown;
                      });
  }

  void group_free_nodes() {
    for (const NodeId node : graph_.nodes()) {
      const auto outputs = graph_.outputs(node);
      if (groups_.is_measured(node) || outputs.empty() || !graph_.has_rank(outputs[0])) continue;
      ObservedDims dims;
      for (const Dim dim : graph_.shape(outputs[0]))
        dims.push_back(dim.is_fixed() ? dim.size() : -1);
      free_by_shape_[dims].push_back(node);
    }
  }

  NodeId match_shape(std::uint32_t i) {
    if (entry(i).outputs.empty()) return kNone<NodeId>;
    const auto found = free_by_shape_.find(entry(i).outputs[0]);
    if (found == free_by_shape_.end()) return kNone<NodeId>;
    NodeId only = kNone<NodeId>;
    for (const NodeId node : found->second) {
      if (groups_.is_measured(node) || !op_fits(entry(i).op, graph_.op(node))) continue;
      if (only != kNone<NodeId>) return kNone<NodeId>;
      only = node;
    }
    return only;
  }

  // Kernels of functions that the runtime substituted for a node have made-up names.
  void match_order() {
    NodeId last = kNone<NodeId>;  // of the kernel before
    for (std::uint32_t i = 0; i < file_.entries.size(); ++i) {
      if (!counts(i)) continue;
      if (rules_[i] == MatchRule::none && last != kNone<NodeId> && is_made_up(entry(i))) {
        const NodeId node = behind(last, entry(i));
        if (node != kNone<NodeId>) take(i, MatchRule::order, node);
      }
      const auto nodes = groups_.nodes(i);
      if (!nodes.empty()) last = nodes.back();
    }
  }

  NodeId behind(NodeId last, const CostEntry& kernel) const {
    const std::uint32_t first_kernel = groups_.kernel_of(last);
    if (rules_[first_kernel] == MatchRule::order && may_make(last, kernel, true)) return last;
    for (const NodeId reader : graph_.readers(last)) {
      if (!groups_.is_measured(reader) && may_make(reader, kernel, true)) return reader;
    }
    return kNone<NodeId>;
  }

  // ---- the result ----

  void finish(CostMatch& made) const {
    std::vector<double> us;
    std::vector<std::uint32_t> unmatched;
    for (std::uint32_t i = 0; i < file_.entries.size(); ++i) {
      us.push_back(counts(i) ? entry(i).us : 0);
      made.total_us += us.back();
      if (rules_[i] != MatchRule::none) {
        made.matched_us += us.back();
        made.us_by_rule[static_cast<std::size_t>(rules_[i])] += us.back();
      } else if (counts(i)) {
        unmatched.push_back(i);
      }
    }
    made.rules = rules_;
    made.nodes = found_;
    made.us = groups_.shares(us);
    for (const double time : made.us) made.measured_nodes += time >= 0 ? 1 : 0;
    made.unmatched = unmatched.size();
    std::ranges::stable_sort(
        unmatched, [&](std::uint32_t a, std::uint32_t b) { return entry(a).us > entry(b).us; });
    unmatched.resize(std::min(unmatched.size(), kMostUnmatched));
    for (const std::uint32_t i : unmatched) {
      made.largest_unmatched.push_back({entry(i).name, entry(i).op, entry(i).us});
    }
  }

  const CostEntries& file_;
  const Graph& graph_;
  NodeNames names_;
  FusedGroups groups_;
  std::vector<bool> counts_;      // by entry: its time is not part of another's
  std::vector<MatchRule> rules_;  // by entry
  std::vector<NodeId> found_;     // by entry: the first node; kNone if it is a constant
  // Nodes still without a kernel after matching by name:
  std::vector<NodeId> free_by_name_;
  std::map<ObservedDims, std::vector<NodeId>> free_by_shape_;
};

}  // namespace

std::string_view match_rule_name(MatchRule rule) {
  constexpr std::array<std::string_view, kMatchRules + 1> kNames = {
      "name", "output", "stripped name", "joined names", "path", "shape", "order", "none"};
  return kNames[static_cast<std::size_t>(rule)];
}

CostMatch match_costs(const CostEntries& file, const Graph& graph) {
  return CostMatcher(file, graph).match();
}

// ---- observed shapes ----

namespace {

// Layouts that are not known here contradict a few kernels of the right model; another model, or
// other inputs, contradict most. A tenth was chosen between the two, not measured.
constexpr double kMostContradicted = 0.1;  // of the compared time
constexpr int kLongestFusedChain = 6;      // of nodes fused into one kernel

enum class Agreement { same, layout, contradiction };

std::string dims_text(Shape shape, const Graph& graph) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ", ";
    if (dim.is_fixed()) {
      text += std::to_string(dim.size());
    } else {
      text += dim.is_symbol() ? escaped(graph.text(dim.name())) : "?";
    }
  }
  return text + "]";
}

std::string dims_text(const ObservedDims& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

// Channels padded to a multiple of 8 or 16.
bool is_padded(std::int64_t size, std::int64_t seen) {
  return seen > size && (seen == (size + 7) / 8 * 8 || seen == (size + 15) / 16 * 16);
}

// [N, C / 16, H, W, 16] in place of [N, C, H, W].
bool is_blocked(Shape shape, const ObservedDims& dims) {
  return dims.size() == shape.size() + 1 && (dims.back() == 8 || dims.back() == 16);
}

// The sizes that kernels saw of the dims of a model's inputs.
class InputDims {
 public:
  explicit InputDims(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs()) {
      const Shape shape = graph.shape(input);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::string name = name_of(input, axis);
        if (shape[axis].is_fixed() || !places_.try_emplace(name, dims_.size()).second) continue;
        dims_.push_back({name, -1});
        conflicts_.push_back(false);
      }
    }
  }

  // Notes the size of a dim of a value, if a dim of an input has the same name.
  void see(ValueId value, std::size_t axis, std::int64_t size) {
    const Dim dim = graph_.shape(value)[axis];
    if (dim.is_fixed() || size < 0) return;
    if (!dim.is_symbol() && graph_.value(value).kind != ValueKind::input) return;
    const auto found = places_.find(name_of(value, axis));
    if (found == places_.end()) return;
    InputDim& known = dims_[found->second];
    if (known.size >= 0 && known.size != size) conflicts_[found->second] = true;
    known.size = size;
  }

  void finish(ObservedShapes& made) const {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (conflicts_[i]) made.conflicting_dims.push_back(dims_[i].name);
      if (!conflicts_[i] && dims_[i].size >= 0) made.dims.push_back(dims_[i]);
    }
  }

 private:
  std::string name_of(ValueId value, std::size_t axis) const {
    const Dim dim = graph_.shape(value)[axis];
    if (dim.is_symbol()) return std::string(graph_.text(dim.name()));
    return std::string(graph_.value(value).name) + ":" + std::to_string(axis);
  }

  const Graph& graph_;
  std::unordered_map<std::string, std::size_t> places_;  // in dims_, by name
  std::vector<InputDim> dims_;                           // size -1: not seen
  std::vector<bool> conflicts_;
};

class ShapeObserver {
 public:
  ShapeObserver(const CostEntries& file, const CostMatch& match, const Graph& graph)
      : file_(file), match_(match), graph_(graph), seen_(graph.value_count()), dims_(graph) {}

  ObservedShapes observe() && {
    for (std::size_t i = 0; i < file_.entries.size(); ++i) {
      const CostEntry& entry = file_.entries[i];
      const NodeId node = match_.nodes[i];
      if (node == kNone<NodeId>) continue;
      if (match_.rules[i] <= MatchRule::stripped)
        observe_input(entry, reader_of_input(entry, node));
      const bool is_by_name =
          match_.rules[i] == MatchRule::name || match_.rules[i] == MatchRule::output;
      if (is_by_name && op_key(entry.op) == op_key(graph_.op(node))) observe_node(entry, node);
    }
    dims_.finish(made_);
    const bool is_other = contradicted_us_ > kMostContradicted * compared_us_;
    if (is_other && !made_.contradiction) made_.contradiction = std::move(first_);
    return std::move(made_);
  }

 private:
  struct Use {
    NodeId node;
    std::string_view verb;
  };

  // The node whose first input the kernel read: the matched one or, if others were fused into its
  // kernel, the one before it whose op fits; kNone if there is none near.
  NodeId reader_of_input(const CostEntry& entry, NodeId node) const {
    for (int step = 0; step < kLongestFusedChain; ++step) {
      if (op_fits(entry.op, graph_.op(node))) return node;
      const auto operands = graph_.operands(node);
      if (operands.empty()) break;
      node = graph_.value(operands[0].value).producer;
      if (node == kNone<NodeId> || index(node) >= graph_.node_count()) break;
    }
    return kNone<NodeId>;
  }

  void observe_input(const CostEntry& entry, NodeId node) {
    if (node == kNone<NodeId> || entry.inputs.empty()) return;
    const auto operands = graph_.operands(node);
    // A runtime may leave out weights, never an input of the model.
    const std::size_t count = operands.size() == entry.inputs.size() ? operands.size() : 1;
    for (std::size_t i = 0; i < std::min(count, operands.size()); ++i) {
      const ValueId value = operands[i].value;
      if (graph_.value(value).kind != ValueKind::input || !operands[i].slot.is_positional())
        continue;
      see_dims(value, entry.inputs[i]);
    }
  }

  // Channels that may be padded bind nothing, nor does a shape that contradicts the model's.
  void see_dims(ValueId value, const ObservedDims& dims) {
    if (!graph_.has_rank(value)) return;
    const Shape shape = graph_.shape(value);
    if (compare(shape, dims) != Agreement::same) return;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) dims_.see(value, axis, dims[axis]);
  }

  void observe_node(const CostEntry& entry, NodeId node) {
    compared_us_ += entry.us;
    const auto outputs = graph_.outputs(node);
    bool agrees = true;
    if (entry.outputs.size() == outputs.size()) {
      for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
        agrees = observe_value(entry, outputs[slot], entry.outputs[slot], {node, "made"}) && agrees;
      }
    }
    const auto operands = graph_.operands(node);
    const bool reads_input = !operands.empty() && !entry.inputs.empty() &&
                             operands[0].slot.is_positional() &&
                             graph_.value(operands[0].value).kind == ValueKind::input;
    if (reads_input && !observe_value(entry, operands[0].value, entry.inputs[0], {node, "read"})) {
      agrees = false;
      if (!made_.contradiction) made_.contradiction = first_;
    }
    if (agrees) return;
    ++made_.contradicted;
    contradicted_us_ += entry.us;
  }

  // False if the shape contradicts the model's.
  bool observe_value(const CostEntry& entry, ValueId value, const ObservedDims& dims, Use use) {
    if (!graph_.value(value).is_tensor()) return true;
    if (!graph_.has_rank(value)) {
      add(value, dims);
      return true;
    }
    const Shape shape = graph_.shape(value);
    const Agreement agreement = compare(shape, dims);
    if (agreement == Agreement::contradiction) {
      note_contradiction(entry, value, dims, use);
      return false;
    }
    if (agreement == Agreement::layout) return true;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) dims_.see(value, axis, dims[axis]);
    const bool is_known = std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed(); });
    if (!is_known) add(value, dims);
    return true;
  }

  // Keeps the first one, and the first one of an input of the model before others.
  void note_contradiction(const CostEntry& entry, ValueId value, const ObservedDims& dims,
                          Use use) {
    const bool is_of_input = use.verb == "read";
    if (first_ && (!is_of_input || made_.contradiction)) return;
    first_ = {entry.offset, "node " + escaped_in_quotes(graph_.node(use.node).name) + " " +
                                std::string(use.verb) + " " + dims_text(dims) +
                                " in the profile, but " +
                                escaped_in_quotes(graph_.value(value).name) + " is " +
                                dims_text(graph_.shape(value), graph_) + " in the model"};
  }

  void add(ValueId value, const ObservedDims& dims) {
    const bool is_usable = std::ranges::all_of(dims, [](std::int64_t size) { return size >= 0; });
    if (is_usable && seen_.insert(value)) made_.shapes.push_back({value, dims});
  }

  Agreement compare(Shape shape, const ObservedDims& dims) const {
    if (is_blocked(shape, dims)) return Agreement::layout;
    if (shape.size() != dims.size()) return Agreement::contradiction;
    bool is_same = true, has_padding = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool may_be_padded = file_.has_blocked_layout && i == 1 && dims.size() >= 4;
      if (!shape[i].is_fixed()) {
        has_padding = has_padding || may_be_padded;
      } else if (shape[i].size() != dims[i]) {
        const bool is_pad = may_be_padded && is_padded(shape[i].size(), dims[i]);
        has_padding = has_padding || is_pad;
        is_same = is_same && is_pad;
      }
    }
    if (is_same) return has_padding ? Agreement::layout : Agreement::same;
    return is_reordered(shape, dims) ? Agreement::layout : Agreement::contradiction;
  }

  // True when the known dims are among those recorded, in any order.
  static bool is_reordered(Shape shape, ObservedDims dims) {
    for (const Dim dim : shape) {
      if (!dim.is_fixed()) continue;
      const auto found = std::ranges::find(dims, dim.size());
      if (found == dims.end()) return false;
      dims.erase(found);
    }
    return true;
  }

  const CostEntries& file_;
  const CostMatch& match_;
  const Graph& graph_;
  ValueSet seen_;
  InputDims dims_;
  double compared_us_ = 0, contradicted_us_ = 0;  // of kernels matched by name
  std::optional<ShapeContradiction> first_;
  ObservedShapes made_;
};

}  // namespace

ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph) {
  return ShapeObserver(file, match, graph).observe();
}

}  // namespace cleave
