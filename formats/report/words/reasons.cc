// Reasons as words.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- failed part text ----

namespace {

constexpr std::uint32_t bits_of(std::initializer_list<DType> dtypes) {
  std::uint32_t bits = 0;
  for (const DType dtype : dtypes) bits |= 1U << static_cast<unsigned>(dtype);
  return bits;
}
constexpr std::uint32_t kFloats =
    bits_of({DType::float16, DType::float32, DType::float64, DType::bfloat16});
constexpr std::uint32_t kQuantised = bits_of({DType::int8, DType::uint8, DType::int16});

std::string part_text(const FailedPart& part) {
  if (!part.sentence.empty()) return escaped(part.sentence);
  return escaped(part.subject) + " is " + escaped(part.actual) + ", wants " +
         escaped(part.expected);
}

}  // namespace

std::string quantised_model_text(const std::vector<FailedPart>& parts) {
  for (const FailedPart& part : parts) {
    if (!part.types || part.dtype == DType::unknown) continue;
    const std::uint32_t found = bits_of({part.dtype}), wanted = part.types->dtypes;
    if ((found & kFloats) != 0 && (wanted & kQuantised) != 0 && (wanted & kFloats) == 0) {
      return part_text(part) + ": quantise it";
    }
    if ((found & kQuantised) != 0 && (wanted & kFloats) != 0 && (wanted & ~kFloats) == 0) {
      return part_text(part) + ": quantised models are refused";
    }
  }
  return {};
}

std::string failed_parts_text(const std::vector<FailedPart>& parts) {
  return joined(parts, "; ", [&](const FailedPart& part) { return part_text(part); });
}

// ---- reason text ----

namespace {

// `"Conv"`, `"com.microsoft::FusedConv"`
std::string op_of(const Graph& graph, NodeId node) {
  return escaped_in_quotes(op_text(plain_domain(graph.domain(node)), graph.op(node)));
}

// The file of the list, or its name when it has no path.
std::string list_place(const SupportList& list) {
  return escaped(list.path.empty() ? list.name : list.path);
}

std::string why_text(const Rule& rule) {
  return rule.why.empty() ? "" : " (" + escaped(rule.why) + ")";
}

std::string rule_text(const SupportList& list, const Rule& rule) {
  return "rule " + escaped_in_quotes(op_text(rule.domain, rule.op)) + " of " +
         rule_place(list, rule) + " fails";
}

// The lists that judge the nodes: of several targets those of the one.
std::span<const SupportList> judging_lists(const ReasonContext& context) {
  const std::span<const SupportList> all = context.lists;
  if (context.targets.empty()) return all;
  const Target& target = context.targets[index(context.target)];
  return all.subspan(target.first_list, target.end_list - target.first_list);
}

// A node that a provider of ONNX Runtime compiled: others share its context, not memory.
bool is_compiled(const Graph& graph, NodeId node) {
  return node != kNone<NodeId> && graph.op(node) == "EPContext";
}

// "CPU node", or of several targets "gpu node": where the node is.
std::string placed_node(const ReasonContext& context, NodeId node) {
  if (context.targets.empty() || node == kNone<NodeId>) return "CPU node";
  const TargetId target = context.partition->target(context.partition->part_of[node]);
  return (target == kNone<TargetId> ? "CPU" : context.targets[index(target)].name) + " node";
}

// "a CPU node": what is not on the accelerator.
std::string other_node(const ReasonContext& context) {
  return context.targets.empty() ? "a CPU node" : "a node of another device";
}

// Whether an operator of TensorFlow Lite computes on one type: QUANTIZE and others are between two kinds.
bool is_of_one_kind(const Graph& graph, NodeId node) {
  if (graph.domain(node) != "tflite") return false;
  std::optional<DType> first;
  const auto is_same = [&](ValueId value) {
    const DType dtype = graph.value(value).dtype;
    if (!first) first = dtype;
    return *first == dtype;
  };
  const auto operands = graph.operands(node);
  const auto outputs = graph.outputs(node);
  return std::ranges::all_of(operands,
                             [&](const Operand& one) {
                               return graph.is_parameter(one.value) || is_same(one.value);
                             }) &&
         std::ranges::all_of(outputs, is_same);
}

// Why the lists refuse a node by itself.
std::string own_reason_text(const ReasonContext& context, NodeId node) {
  const std::span<const SupportList> lists = judging_lists(context);
  Reason reason = match_node(context.graph, node, lists, context.facts);
  const auto first = static_cast<std::size_t>(lists.data() - context.lists.data());
  reason.list = static_cast<std::uint16_t>(reason.list + first);
  return reason_text(context, node, reason);
}

std::string body_text(const ReasonContext& context, NodeId inner) {
  return "node " + escaped_in_quotes(context.graph.node(inner).name) +
         " of its body is not supported: " + own_reason_text(context, inner);
}

// ` for this node` where rules name the op, but only nodes of other names.
std::string other_names_text(const ReasonContext& context, NodeId node) {
  for (const SupportList& list : judging_lists(context)) {
    if (list.role == ListRole::verdicts) continue;
    for (const Rule& rule : list.allow) {
      if (rule.node_name.empty() || rule.op.empty()) continue;
      if (names_op(rule, context.graph.domain(node), context.graph.op(node))) {
        return " for this node: " + rule_place(list, rule) + " is for nodes " +
               escaped_in_quotes(rule.node_name);
      }
    }
  }
  return {};
}

std::string no_rule_text(const ReasonContext& context, NodeId node) {
  const auto lists = judging_lists(context);
  const auto count = [&](ListRole role) {
    return std::ranges::count_if(lists, [&](const SupportList& list) { return list.role == role; });
  };
  const auto all = count(ListRole::all_of), any = count(ListRole::any_of);
  return (all + any <= 1 ? "the list does not have op "
          : all > 0      ? "a list does not have op "
                         : "no list has op ") +
         op_of(context.graph, node) + other_names_text(context, node);
}

std::string rule_failed_text(const ReasonContext& context, NodeId node, const Reason& reason) {
  if (reason.because != kNone<NodeId>) return body_text(context, reason.because);
  return cause_text(context, node, reason) + ": " + detail_text(context, node, reason);
}

// `max_inputs 8 of npu.json, for a whole partition`
std::string limit_text(const ReasonContext& context, const Reason& reason) {
  const SupportList& list = context.lists[reason.list];
  const auto limit = static_cast<PartLimit>(reason.rule);
  const std::uint64_t most = list.limits[limit].value_or(0);
  return std::string(part_limit_name(limit)) + " " +
         (is_of_bytes(limit) ? "of " + bytes_text(most) : std::to_string(most)) + " of " +
         list_place(list) + ", for a whole partition";
}

// `it has 12 inputs`
std::string amount_text(const Reason& reason) {
  switch (static_cast<PartLimit>(reason.rule)) {
    case PartLimit::nodes:
      return "its group has " + std::to_string(reason.size) + " nodes";
    case PartLimit::parameter_bytes:
      return "it reads " + bytes_text(std::uint64_t{reason.size} * 1024) + " of parameters";
    case PartLimit::inputs:
      return "it has " + std::to_string(reason.size) + " inputs";
    case PartLimit::activation_bytes:
      return "it holds " + bytes_text(std::uint64_t{reason.size} * 1024) + " of values at once";
    case PartLimit::outputs:
      break;
  }
  return "it has " + std::to_string(reason.size) + " outputs";
}

// `ONNX Runtime makes it part of "conv": ...`; `ONNX Runtime keeps "exp" for it, its equal: ...`; `ONNX Runtime
// replaces "HardSwish" by its body, with "Mul" in it: ...`
std::string runtime_graph_text(const ReasonContext& context, NodeId node, const Reason& reason) {
  const Graph& graph = context.graph;
  if (reason.because != kNone<NodeId>) {
    const bool is_equal = graph.op(reason.because) == graph.op(node);
    return std::string("ONNX Runtime ") + (is_equal ? "keeps " : "makes it part of ") +
           escaped_in_quotes(graph.node(reason.because).name) +
           (is_equal ? " for it, its equal: " : ": ") + own_reason_text(context, reason.because);
  }
  const auto body = context.facts.function_body(graph, node);
  const NodeId inner = id_at<NodeId>(reason.rule);
  Reason own = match_node(body->graph, inner, {&context.lists[reason.list], 1}, body->facts);
  own.list = reason.list;
  const std::array<Target, 1> judge{
      {{.name = {}, .first_list = reason.list, .end_list = reason.list + std::size_t{1}}}};
  const ReasonContext inside{
      .graph = body->graph, .lists = context.lists, .facts = body->facts, .targets = judge};
  return "ONNX Runtime replaces " + op_of(graph, node) + " by its body, with " +
         op_of(body->graph, inner) + " in it: " + reason_text(inside, inner, own);
}

// `its partition has too few nodes of "Conv", and npu.json asks for 2`
std::string part_condition_text(const ReasonContext& context, const Reason& reason) {
  const SupportList& list = context.lists[reason.list];
  const std::string asks = ", and " + list_place(list) + " asks for ";
  if (reason.rule == kNotOnly) {
    const std::string ops = joined(list.part.not_only, ", ", escaped_in_quotes);
    return "its partition has only nodes of " + ops + asks + "others";
  }
  const PartConditions::MinOps& least = list.part.min_ops[reason.rule];
  return "its partition has too few nodes of " + escaped_in_quotes(least.op) + asks +
         std::to_string(least.count);
}

// `it has 1`
std::string part_amount_text(const Reason& reason) {
  return reason.rule == kNotOnly ? std::string() : "it has " + std::to_string(reason.size);
}

// `pattern "gelu" of npu.json:12 does not match`
std::string pattern_failed_text(const ReasonContext& context, const Reason& reason) {
  return pattern_place(context, {reason.list, reason.rule}) + " does not match";
}

// `pattern "gelu" of npu.json:12`, the one that ties the node.
std::string tying_pattern(const ReasonContext& context, NodeId node) {
  const auto match =
      context.support == nullptr ? std::nullopt : context.support->patterns.match_of(node);
  if (!match) return "a pattern";
  return pattern_place(context, context.support->patterns.matches[*match]);
}

std::string non_tensor_text(const Graph& graph, ValueId value) {
  return escaped_in_quotes(graph.value(value).name) + " (" +
         std::string(value_type_name(graph.value(value).type)) + ")";
}

std::string non_tensor_input_text(const ReasonContext& context, NodeId node, NodeId because) {
  const Graph& graph = context.graph;
  const std::string maker = "made by " + placed_node(context, because) + " " +
                            escaped_in_quotes(graph.node(because).name);
  for (const Operand& operand : graph.operands(node)) {
    const Value& value = graph.value(operand.value);
    if (value.producer == because && !value.is_tensor()) {
      return "reads " + non_tensor_text(graph, operand.value) + ", " + maker;
    }
  }
  return "reads a non-tensor, " + maker;
}

// The output to blame: a non-tensor that is read by `because`, or, if that is kNone, by the graph's
// outputs.
std::string non_tensor_output_text(const ReasonContext& context, NodeId node, NodeId because) {
  const Graph& graph = context.graph;
  const bool to_graph = because == kNone<NodeId>;
  const std::string reader = to_graph ? "which the model returns"
                                      : "which " + placed_node(context, because) + " " +
                                            escaped_in_quotes(graph.node(because).name) + " reads";
  for (const ValueId output : graph.outputs(node)) {
    if (graph.value(output).is_tensor()) continue;
    const auto users = graph.users(output);
    const bool is_read = to_graph ? graph.is_graph_output(output) : contains(users, because);
    if (is_read) return "makes " + non_tensor_text(graph, output) + ", " + reader;
  }
  return "makes a non-tensor, " + reader;
}

std::string small_text(const ReasonContext& context, const Reason& reason) {
  return "its accelerator subgraph has " + std::to_string(reason.size) +
         (reason.size == 1 ? " node" : " nodes") + ", below the minimum of " +
         std::to_string(context.min_acc_size);
}

// `memory of 12 MiB does not hold it with what is there`
std::string memory_text(const Reason& reason) {
  return "memory of " + bytes_text(std::uint64_t{reason.size} * 1024) +
         " does not hold it with what is there";
}

// `costs more on the accelerator: +0.21 ms link, -0.02 ms compute`; leaves out terms of 0.
std::string costs_more_text(const Reason& reason) {
  if (reason.elsewhere == Elsewhere::memory) return "the accelerator's " + memory_text(reason);
  std::string sum;
  const auto add = [&](float us, std::string_view what) {
    if (us == 0) return;
    const std::string sign = us > 0 ? "+" : "-";
    sum += (sum.empty() ? ": " : ", ") + sign + duration_text(std::abs(double{us})) + " " +
           std::string(what);
  };
  const bool is_known = std::isfinite(reason.compute_us);
  add(reason.link_us, "link");
  if (is_known) add(reason.compute_us, "compute");
  add(reason.launch_us, reason.launch_us > 0 ? "for launches" : "for launches saved");
  if (!is_known) {
    return "its cost on the accelerator is not known" + (sum.empty() ? ": " : sum + ", ") +
           "compute not known";
  }
  return "costs more on the accelerator" + sum;
}

// Why one of several targets does not run a node that it could run.
std::string elsewhere_text(const Reason& reason) {
  switch (reason.elsewhere) {
    case Elsewhere::less_energy:
      return "takes it, but an inference draws less with it elsewhere";
    case Elsewhere::memory:
      return "takes it, but its " + memory_text(reason);
    case Elsewhere::required:
      return "takes it, but --require has it on another target";
    case Elsewhere::less_time:
      break;
  }
  return "takes it, but an inference is faster with it elsewhere";
}

// ` "conv1"`; empty for kNone.
std::string blamed(const Graph& graph, NodeId because) {
  return because == kNone<NodeId> ? std::string()
                                  : " " + escaped_in_quotes(graph.node(because).name);
}

// Reasons with the same key have the same cause.
using CauseKey = std::array<std::uint32_t, 4>;

CauseKey key_of(const Graph& graph, NodeId node, const Reason& reason) {
  const auto code = static_cast<std::uint32_t>(reason.code);
  switch (reason.code) {
    case ReasonCode::no_rule:
      return {code, index(graph.node(node).domain), index(graph.node(node).op), 0};
    case ReasonCode::rule_failed:
      if (reason.because != kNone<NodeId>) return {code, 0, 0, 1};
      return {code, reason.list, reason.rule, 0};
    case ReasonCode::denied:
    case ReasonCode::part_limit:
    case ReasonCode::pattern_failed:
    case ReasonCode::part_condition:
      return {code, reason.list, reason.rule, 0};
    case ReasonCode::costs_more:
      return {code, static_cast<std::uint32_t>(reason.elsewhere), 0, 0};
    default:
      return {code, 0, 0, 0};
  }
}

}  // namespace

ReasonContext reason_context(const Report& report, TargetId target) {
  return {.graph = report.graph,
          .lists = report.lists,
          .facts = report.facts,
          .min_acc_size = report.targets[index(target)].min_acc_size,
          .support = &report.split.targets[index(target)].support,
          .targets = report.targets,
          .target = target,
          .partition = &report.split.partition};
}

std::string device_name(const Report& report, PartId part) {
  const TargetId target = report.split.partition.target(part);
  if (target == kNone<TargetId>) return "CPU";
  return std::string(report.targets.empty() ? report.only_target
                                            : report.targets[index(target)].name);
}

ReasonContext reason_context(const Report& report) {
  if (!report.targets.empty()) {
    return reason_context(report, id_at<TargetId>(report.targets.size() - 1));
  }
  return {report.graph, report.lists, report.facts, report.options.min_acc_size,
          &report.split.support};
}

std::string_view reason_code_words(ReasonCode code) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kReasonCodeCount> kWords = {
      "",
      "no rule",
      "rule fails",
      "denied",
      "reads a non-tensor",
      "makes a non-tensor",
      "tied to a CPU node",
      "subgraph too small",
      "shape computation",
      "quantised group",
      "over the cap",
      "costs more",
      "shared memory",
      "part limit",
      "no pattern fits",
      "pattern broken",
      "changed by ONNX Runtime",
      "part condition",
  };
  return kWords[static_cast<std::size_t>(code)];
}

std::string rule_place(const SupportList& list, const Rule& rule) {
  return list_place(list) + (rule.line == 0 ? "" : ":" + std::to_string(rule.line));
}

std::string deny_rule_text(const SupportList& list, const Rule& rule) {
  std::vector<std::string> what;
  if (!rule.op.empty()) what.push_back("op " + escaped_in_quotes(op_text(rule.domain, rule.op)));
  if (!rule.node_name.empty()) what.push_back("name " + escaped_in_quotes(rule.node_name));
  if (rule.input_dtype) what.push_back("an input of " + types_text(*rule.input_dtype));
  const auto has = [&](auto is_such) { return std::ranges::any_of(rule.conditions, is_such); };
  const auto is_attribute = [](const auto& one) { return one.property == Property::attribute; };
  const auto is_shape = [](const auto& one) { return one.is_clause; };
  if (has(is_attribute)) what.emplace_back("its attributes");
  if (has(is_shape)) what.emplace_back("its shapes");
  if (!rule.inputs.empty() || !rule.kwargs.empty()) what.emplace_back("its input dtypes");
  if (!rule.outputs.empty()) what.emplace_back("its output dtypes");
  if (rule.opset) what.emplace_back("its opset");
  if (has([&](const auto& one) { return !is_attribute(one) && !is_shape(one); })) {
    what.emplace_back("other conditions");
  }
  std::string text = "denied by " + rule_place(list, rule) + " for ";
  for (std::size_t i = 0; i < what.size(); ++i) {
    if (i > 0) text += i + 1 == what.size() ? " and " : ", ";
    text += what[i];
  }
  return text + why_text(rule);
}

std::string cause_text(const ReasonContext& context, NodeId node, const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::none:
      return "runs on the accelerator";
    case ReasonCode::no_rule:
      if (context.lists.empty()) return "there is no support list";
      return no_rule_text(context, node);
    case ReasonCode::rule_failed: {
      if (reason.because != kNone<NodeId>) return "a node of its body is not supported";
      const SupportList& list = context.lists[reason.list];
      return rule_text(list, list.allow[reason.rule]);
    }
    case ReasonCode::denied:
      return deny_rule_text(context.lists[reason.list],
                            context.lists[reason.list].deny[reason.rule]);
    case ReasonCode::non_tensor_input:
      return "reads a non-tensor from " + other_node(context);
    case ReasonCode::non_tensor_output:
      return "makes a non-tensor for " + other_node(context) + ", or for the caller";
    case ReasonCode::fusion_group:
      return "tied to " + other_node(context) + " by non-tensor data";
    case ReasonCode::small_subgraph:
      return "in an accelerator subgraph below the minimum of " +
             counted(context.min_acc_size, "node");
    case ReasonCode::host_shape:
      return "computes shapes for nodes on the CPU";
    case ReasonCode::qdq_group:
      return "its quantize/dequantize group holds " + other_node(context);
    case ReasonCode::over_cap:
      return "its accelerator subgraph is beyond the number to keep";
    case ReasonCode::costs_more:
      return context.targets.empty() ? "costs more on the accelerator" : elsewhere_text(reason);
    case ReasonCode::shared_memory:
      if (is_compiled(context.graph, reason.because)) {
        return "a compiled context keeps it with " + other_node(context);
      }
      return "uses memory that is written in place, as does " + other_node(context);
    case ReasonCode::part_limit:
      return "beyond " + limit_text(context, reason);
    case ReasonCode::pattern_failed:
      return pattern_failed_text(context, reason);
    case ReasonCode::pattern_group:
      return "a pattern keeps it with " + other_node(context);
    case ReasonCode::runtime_graph:
      return "what ONNX Runtime makes of it is not supported";
    case ReasonCode::part_condition:
      return part_condition_text(context, reason);
  }
  return {};
}

namespace {

const Pattern& pattern_of(const ReasonContext& context, const PatternMatch& match) {
  return context.lists[match.list].patterns[match.pattern];
}

class MissWords {
 public:
  MissWords(const ReasonContext& context, const Pattern& pattern, const PatternMiss& miss)
      : context_(context), graph_(context.graph), pattern_(pattern), miss_(miss) {}

  std::string text() const {
    switch (miss_.kind) {
      case PatternMiss::Kind::no_neighbor:
        return no_neighbor();
      case PatternMiss::Kind::no_edge:
        return node(miss_.node) + " does not read " + node(miss_.other) + slots();
      case PatternMiss::Kind::failing:
        return failing();
      case PatternMiss::Kind::taken:
        return node(miss_.node) + " is in another match";
      case PatternMiss::Kind::denied:
        return node(miss_.node) + (graph_.body_nodes(miss_.node).empty()
                                       ? " is denied"
                                       : " is denied, or a node of its body is refused");
      case PatternMiss::Kind::other_edge:
        return node(miss_.node) + " reads " + node(miss_.other) +
               ", which is no edge of the pattern";
      case PatternMiss::Kind::read_outside:
        return read_outside();
      case PatternMiss::Kind::whole:
        return whole();
      case PatternMiss::Kind::too_long:
        return "the search around it was ended after " + count_text(PatternSearch::kMostSteps) +
               " candidates";
      case PatternMiss::Kind::refused:
        return "it matches, but another list refuses " + node(miss_.node);
    }
    return {};
  }

 private:
  std::string node(NodeId id) const { return escaped_in_quotes(graph_.node(id).name); }
  std::string op(std::uint32_t number) const {
    const Rule& rule = pattern_.ops[number];
    return escaped_in_quotes(op_text(rule.domain, rule.op));
  }

  // ` from output 1 at input 0`, as far as the edge says.
  std::string slots() const {
    const PatternEdge& edge = pattern_.graph.edges[miss_.edge];
    std::string text;
    if (edge.output) text += " from output " + std::to_string(*edge.output);
    if (edge.input) text += " at input " + std::to_string(*edge.input);
    return text;
  }

  std::string no_neighbor() const {
    const PatternEdge& edge = pattern_.graph.edges[miss_.edge];
    if (edge.to == miss_.op) return "no " + op(edge.to) + " reads " + node(miss_.node) + slots();
    return node(miss_.node) + " reads no " + op(edge.from) + slots();
  }

  std::string failing() const {
    const Rule& rule = pattern_.ops[miss_.op];
    return node(miss_.node) + " does not fit op " + std::to_string(miss_.op) + " (" +
           escaped(op_text(rule.domain, rule.op)) +
           "): " + failed_parts_text(failed_parts(graph_, miss_.node, rule, context_.facts));
  }

  std::string read_outside() const {
    const std::string value = "value " + escaped_in_quotes(graph_.value(miss_.value).name);
    if (miss_.other == kNone<NodeId>) return value + " is an output of the model";
    return value + " is read by " + node(miss_.other) + ", which is not in it";
  }

  std::string whole() const {
    for (const Relation& relation : pattern_.where) {
      if (relation_holds(relation, graph_, miss_.nodes, context_.facts)) continue;
      return escaped(relation_failure_text(
          relation, "", relation_failure(relation, graph_, miss_.nodes, context_.facts)));
    }
    return {};
  }

  const ReasonContext& context_;
  const Graph& graph_;
  const Pattern& pattern_;
  const PatternMiss& miss_;
};

// What is in the way of a pattern around a node with the reason pattern_failed: `value "d" is read
// by "y", which is not in it`. Empty when the context has no verdicts.
std::string pattern_miss_text(const ReasonContext& context, const Reason& reason) {
  if (context.support == nullptr) return {};
  return MissWords(context, pattern_of(context, {reason.list, reason.rule}),
                   context.support->misses[reason.size])
      .text();
}

}  // namespace

std::string detail_text(const ReasonContext& context, NodeId node, const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::rule_failed: {
      if (reason.because != kNone<NodeId>) return body_text(context, reason.because);
      const Rule& rule = context.lists[reason.list].allow[reason.rule];
      const auto failed = failed_parts(context.graph, node, rule, context.facts);
      const std::string of_model =
          is_of_one_kind(context.graph, node) ? quantised_model_text(failed) : std::string();
      return (of_model.empty() ? failed_parts_text(failed) : of_model) + why_text(rule);
    }
    case ReasonCode::non_tensor_input:
    case ReasonCode::non_tensor_output:
      return reason_text(context, node, reason);
    case ReasonCode::host_shape:
      return "used by CPU node" + blamed(context.graph, reason.because);
    case ReasonCode::costs_more:
      return context.targets.empty() ? costs_more_text(reason) : std::string();
    case ReasonCode::part_limit:
      return amount_text(reason);
    case ReasonCode::pattern_failed:
      return pattern_miss_text(context, reason);
    case ReasonCode::runtime_graph:
      return runtime_graph_text(context, node, reason);
    case ReasonCode::part_condition:
      return part_amount_text(reason);
    case ReasonCode::fusion_group:
    case ReasonCode::pattern_group:
    case ReasonCode::qdq_group:
    case ReasonCode::shared_memory:
      return placed_node(context, reason.because) + blamed(context.graph, reason.because);
    default:
      return {};
  }
}

std::vector<Cause> group_by_cause(const ReasonContext& context, const PerNode<Reason>& reasons) {
  std::vector<Cause> causes;
  std::map<CauseKey, std::size_t> places;
  for (const NodeId node : context.graph.nodes()) {
    const Reason& reason = reasons[node];
    if (reason.code == ReasonCode::none) continue;
    const auto [place, is_new] =
        places.try_emplace(key_of(context.graph, node, reason), causes.size());
    if (is_new) causes.push_back({cause_text(context, node, reason), {}});
    causes[place->second].nodes.push_back(node);
  }
  std::ranges::stable_sort(
      causes, [](const Cause& a, const Cause& b) { return a.nodes.size() > b.nodes.size(); });
  return causes;
}

std::string reason_text(const ReasonContext& context, NodeId node, const Reason& reason) {
  const Graph& graph = context.graph;
  switch (reason.code) {
    case ReasonCode::none:
      return "runs on the accelerator";
    case ReasonCode::rule_failed:
      return rule_failed_text(context, node, reason);
    case ReasonCode::no_rule:
    case ReasonCode::denied:
    case ReasonCode::over_cap:
      return cause_text(context, node, reason);
    case ReasonCode::host_shape:
      return "computes shapes, and follows CPU node" + blamed(graph, reason.because) +
             ", which uses them";
    case ReasonCode::non_tensor_input:
      return non_tensor_input_text(context, node, reason.because);
    case ReasonCode::non_tensor_output:
      return non_tensor_output_text(context, node, reason.because);
    case ReasonCode::fusion_group:
      return "tied by non-tensor data to " + placed_node(context, reason.because) +
             blamed(graph, reason.because);
    case ReasonCode::small_subgraph:
      return small_text(context, reason);
    case ReasonCode::costs_more:
      if (!context.targets.empty()) return cause_text(context, node, reason);
      return costs_more_text(reason);
    case ReasonCode::qdq_group:
      return "its quantize/dequantize group holds " + placed_node(context, reason.because) +
             blamed(graph, reason.because);
    case ReasonCode::part_limit:
      return "by itself beyond " + limit_text(context, reason) + ": " + amount_text(reason);
    case ReasonCode::shared_memory:
      if (is_compiled(graph, reason.because)) {
        return "a compiled context keeps it with " + placed_node(context, reason.because) +
               blamed(graph, reason.because);
      }
      return "must be in one partition with " + placed_node(context, reason.because) +
             blamed(graph, reason.because) + ", since both use memory that is written in place";
    case ReasonCode::pattern_failed: {
      const std::string miss = pattern_miss_text(context, reason);
      return pattern_failed_text(context, reason) + (miss.empty() ? "" : ": " + miss);
    }
    case ReasonCode::pattern_group:
      return tying_pattern(context, node) + " keeps it with " +
             placed_node(context, reason.because) + blamed(graph, reason.because);
    case ReasonCode::runtime_graph:
      return runtime_graph_text(context, node, reason);
    case ReasonCode::part_condition: {
      const std::string amount = part_amount_text(reason);
      return part_condition_text(context, reason) + (amount.empty() ? "" : ": " + amount);
    }
  }
  return {};
}

std::string pattern_place(const ReasonContext& context, const PatternMatch& match) {
  return pattern_place(context.lists[match.list], pattern_of(context, match));
}

std::string pattern_place(const SupportList& list, const Pattern& pattern) {
  return "pattern " + escaped_in_quotes(pattern.name) + " of " + list_place(list) +
         (pattern.line == 0 ? "" : ":" + std::to_string(pattern.line));
}

std::string pattern_counts_text(const ReasonContext& context, const PatternMatches& matches) {
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::size_t> counts;
  for (const PatternMatch& match : matches.matches) ++counts[{match.list, match.pattern}];
  std::string text;
  for (const auto& [place, count] : counts) {
    const Pattern& pattern = pattern_of(context, {place.first, place.second});
    text += (text.empty() ? "" : ", ") + escaped_in_quotes(pattern.name) + " " +
            (count == 1 ? "once" : count_text(count) + " times");
  }
  return text;
}

std::vector<UncheckedRule> unchecked_rules(const Support& support) {
  std::map<std::tuple<std::uint16_t, bool, std::uint32_t>, std::vector<NodeId>> by_rule;
  for (const UncheckedNode& one : support.unchecked) {
    by_rule[{one.list, one.is_pattern, one.rule}].push_back(one.node);
  }
  std::vector<UncheckedRule> rules;
  for (auto& [place, nodes] : by_rule) {
    const auto& [list, is_pattern, rule] = place;
    rules.push_back({list, rule, is_pattern, std::move(nodes)});
  }
  std::ranges::stable_sort(rules, [](const UncheckedRule& a, const UncheckedRule& b) {
    return a.nodes.size() > b.nodes.size();
  });
  return rules;
}

std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule) {
  const SupportList& list = lists[rule.list];
  constexpr std::size_t kMostColumns = 300;  // the list has the rest
  if (rule.is_pattern) {
    return pattern_place(list, list.patterns[rule.rule]) + ": " +
           fitted(escaped(list.patterns[rule.rule].unchecked), kMostColumns);
  }
  const Rule& allow = list.allow[rule.rule];
  return "rule " + escaped_in_quotes(allow.op) + " of " + rule_place(list, allow) + ": " +
         fitted(escaped(allow.unchecked), kMostColumns);
}

}  // namespace cleave
