// Reports of nodes: explained, or printed one a line.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- explain text ----

namespace {

constexpr std::size_t kLongestChain = 20;

bool is_constant(const Graph& graph, NodeId node) { return graph.constants().contains(node); }

bool on_acc(const Report& report, NodeId node) {
  return report.split.partition.is_acc(report.split.partition.part_of[node]);
}

// What a rule or a pattern leaves unchecked; empty when there is nothing.
template <class Accepting>
std::string unchecked_of(const Accepting& accepting) {
  return accepting.unchecked.empty() ? "" : "; unchecked: " + escaped(accepting.unchecked);
}

// The target that runs the node; kNone on the CPU.
TargetId target_of(const Report& report, NodeId node) {
  return report.split.partition.target(report.split.partition.part_of[node]);
}

// "npu.json:12 (Conv)" for the allow rule that accepts the node.
std::string accepting_rule(const Report& report, NodeId node) {
  std::span<const SupportList> lists = report.lists;
  if (!report.targets.empty()) {
    const Target& target = report.targets[index(target_of(report, node))];
    lists = lists.subspan(target.first_list, target.end_list - target.first_list);
  }
  const auto found = find_accepting_rule(report.graph, node, lists, report.facts);
  if (!found) return "the support list";
  const SupportList& list = lists[found->list];
  const Rule& rule = list.allow[found->rule];
  return escaped(list.path) + (rule.line == 0 ? "" : ":" + std::to_string(rule.line)) + " (" +
         escaped(op_text(rule.domain, rule.op)) + ")" + unchecked_of(rule);
}

// `pattern "gelu" of npu.json:12, which matches 3 nodes: a, b, c`
std::string accepting_pattern(const Report& report, std::uint32_t match) {
  const PatternMatches& matches = report.split.support.patterns;
  const auto nodes = matches.nodes_of(match);
  std::string names;
  for (const NodeId node : nodes) {
    names += (names.empty() ? ": " : ", ") + escaped(report.graph.node(node).name);
  }
  return pattern_place(reason_context(report), matches.matches[match]) + ", which matches " +
         counted(nodes.size(), "node") + names +
         unchecked_of(
             report.lists[matches.matches[match].list].patterns[matches.matches[match].pattern]);
}

// On the accelerator although no rule accepts it.
bool rides_along(const Report& report, NodeId node) {
  return report.options.host_shapes && report.split.host_shapes.nodes.contains(node) &&
         !report.split.support.supported.contains(node);
}

std::string detail_of(const Report& report, NodeId node) {
  const Graph& graph = report.graph;
  if (is_constant(graph, node)) {
    const std::string text =
        "a constant: it depends on parameters alone, so it is copied into each partition that "
        "reads it";
    const ReasonContext context = reason_context(report);
    if (graph.operands(node).empty() || !meet_constants(context.lists)) return text;
    const Reason own = match_node(graph, node, context.lists, context.facts);
    if (own.code == ReasonCode::none) return text;
    return text + "; as a node it would be refused: " + reason_text(context, node, own);
  }
  if (on_acc(report, node)) {
    if (rides_along(report, node)) {
      return "computes shapes, and follows the nodes that use them (--host-shapes)";
    }
    const auto match = report.split.support.patterns.match_of(node);
    return "allowed by " +
           (match ? accepting_pattern(report, *match) : accepting_rule(report, node));
  }
  const ReasonContext context = reason_context(report);
  return reason_text(context, node, report.split.reasons[node]);
}

// What each of several targets says about a node.
struct TargetSaid {
  std::string_view name;
  ReasonCode code;
  std::string detail;
  std::optional<std::optional<double>> us;  // nullopt: no times were asked for
};

// In the order in which they are asked.
std::vector<TargetSaid> targets_of(const Report& report, NodeId node) {
  std::vector<TargetSaid> said;
  const TargetId own = target_of(report, node);
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const TargetId target = id_at<TargetId>(i);
    const Reason& reason = report.split.targets[i].reasons[node];
    std::string text;
    if (target == own) {
      text = "takes it, here: " + detail_of(report, node);
    } else if (reason.code != ReasonCode::none) {
      text = reason_text(reason_context(report, target), node, reason);
    } else if (own == kNone<TargetId> || target < own) {
      text = "takes it, but not all nodes that must go with it";
    } else {
      const bool takes = report.split.targets[i].support.supported.contains(node);
      const std::string& first = report.targets[index(own)].name;
      text = takes ? "takes it, too, and is asked after " + first
                   : reason_text(reason_context(report, target), node,
                                 report.split.targets[i].support.reasons[node]);
    }
    TargetSaid& one = said.emplace_back(
        TargetSaid{report.targets[i].name, reason.code, std::move(text), std::nullopt});
    if (report.time != nullptr) one.us = report.time->basis.times.on_target(i).of(node);
  }
  return said;
}

// The nodes to blame, starting with the node's own culprit, as long as each has a culprit itself.
std::vector<NodeId> blame_chain(const Report& report, NodeId node) {
  std::vector<NodeId> chain;
  NodeId at = report.split.reasons[node].because;
  const auto names_others = [&](NodeId of) {  // in its own text, and perhaps in a circle
    return report.split.reasons[of].code == ReasonCode::pattern_failed;
  };
  if (names_others(node)) return chain;
  while (report.graph.nodes().contains(at) && chain.size() < kLongestChain) {
    chain.push_back(at);
    if (names_others(at)) break;
    at = report.split.reasons[at].because;
  }
  return chain;
}

std::string_view origin_name(TimeOrigin origin) {
  switch (origin) {
    case TimeOrigin::measured:
      return "measured";
    case TimeOrigin::calibrated:
      return "calibrated";
    case TimeOrigin::estimated:
      return "estimated";
    case TimeOrigin::unknown:
      break;
  }
  return "not known";
}

std::string time_text(const DeviceTimes& times, NodeId node) {
  const auto us = times.of(node);
  const std::string origin(origin_name(times.origins[node]));
  return us ? duration_text(*us) + " (" + origin + ")" : origin;
}

// "on the CPU 210 us (measured), on the accelerator 20 us (estimated)"
std::string times_of_node(const Report& report, NodeId node) {
  const TargetTimes& times = report.time->basis.times;
  if (!report.targets.empty()) {
    std::string text = "on the CPU " + time_text(times.cpu, node);
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
      text += ", on " + report.targets[i].name + " " + time_text(times.on_target(i), node);
    }
    return text;
  }
  return "on the CPU " + time_text(times.cpu, node) + ", on the accelerator " +
         time_text(times.acc, node);
}

std::string signature(const Graph& graph, NodeId node) {
  std::string text = escaped(graph.op(node)) + '(';
  bool first = true;
  for (const Operand& operand : graph.operands(node)) {
    const Value& value = graph.value(operand.value);
    if (!first) text += ", ";
    first = false;
    text += value.is_tensor() ? dtype_name(value.dtype) : value_type_name(value.type);
  }
  return text + ')';
}

}  // namespace

std::string explain_text(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways) {
  const Graph& graph = report.graph;
  const ReasonContext context = reason_context(report);
  if (nodes.empty()) return "no node is on the CPU\n";
  constexpr std::size_t kColumn = 8;  // of what follows a label
  const bool has_time = report.time != nullptr && has_times(*report.time);
  Page page;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const NodeId node = nodes[at];
    page.add(escaped_in_quotes(graph.node(node).name) + "  " + signature(graph, node) + '\n');
    if (is_constant(graph, node)) {
      page.add("  in:   every partition that reads it\n");
    } else {
      const PartId part = report.split.partition.part_of[node];
      const bool is_one = report.targets.empty() && on_acc(report, node);
      page.add("  in:   " + escaped(report.split.partition.name(part)) + " (" +
               (is_one ? "accelerator" : device_name(report, part)) + ")\n");
    }
    if (!report.targets.empty() && !is_constant(graph, node)) {
      std::string_view label = "  why:";
      for (const TargetSaid& said : targets_of(report, node)) {
        page.fact(std::exchange(label, ""), std::string(said.name) + ": " + said.detail, kColumn);
      }
      if (has_time) page.fact("  time:", times_of_node(report, node), kColumn);
      continue;
    }
    page.fact("  why:", detail_of(report, node), kColumn);
    if (has_time && !is_constant(graph, node)) {
      page.fact("  time:", times_of_node(report, node), kColumn);
    }
    if (is_constant(graph, node) || on_acc(report, node)) continue;
    for (const NodeId blamed : blame_chain(report, node)) {
      const Reason& reason = report.split.reasons[blamed];
      if (reason.code == ReasonCode::none) continue;
      page.fact(
          "",
          escaped_in_quotes(graph.node(blamed).name) + ": " + reason_text(context, blamed, reason),
          kColumn);
    }
    if (at < ways.size() && !ways[at].empty()) page.fact("  try:", ways[at], kColumn);
  }
  return page.take();
}

namespace {

struct NodeSaid {
  const Report& report;
  NodeId id;
  std::string_view way;  // to try; "" when there is none

  const Graph& graph = report.graph;
  const Partition& partition = report.split.partition;
  bool is_constant = graph.constants().contains(id);
  bool is_acc = !is_constant && on_acc(report, id);
  Reason reason = is_constant ? Reason{} : report.split.reasons[id];
};

std::optional<std::string_view> code_name(ReasonCode code) {
  return when(code != ReasonCode::none, reason_code_name(code));
}

// A time; left out where none was asked for, null where it is not known.
std::optional<JsonValue> time_json(std::optional<std::optional<double>> us) {
  if (!us) return std::nullopt;
  return JsonValue{*us ? json_real(**us) : "null"};
}

std::string time_schema() {
  return R"({"description": "Microseconds; null: not known.", "type": ["number", "null"]})";
}
constexpr FieldForm kTime = {.left_out = true, .schema = time_schema};

struct MatchSaid {
  const Pattern* pattern;
  std::string_view file;
  std::vector<std::string_view> nodes;
};
const Fields<MatchSaid> kMatchFields = {
    kLines,
    {{"name", the<&MatchSaid::pattern, &Pattern::name>},
     {"file", the<&MatchSaid::file>},
     {"line", the<&MatchSaid::pattern, &Pattern::line>},
     {"nodes", the<&MatchSaid::nodes>, "By op of the pattern."}}};

std::optional<MatchSaid> match_of(const NodeSaid& node) {
  const PatternMatches& matches = node.report.split.support.patterns;
  const auto match = matches.match_of(node.id);
  if (!match) return std::nullopt;
  const SupportList& list = node.report.lists[matches.matches[*match].list];
  return MatchSaid{&list.patterns[matches.matches[*match].pattern], list.path,
                   each_name(node.graph, matches.nodes_of(*match))};
}

const Fields<TargetSaid> kTargetFields = {
    kLines,
    {{"name", the<&TargetSaid::name>},
     {"code", [](auto& one) { return code_name(one.code); }, "null: it takes the node.",
      words(reason_code_names)},
     {"detail", the<&TargetSaid::detail>},
     {"us", [](auto& one) { return time_json(one.us); }, kTime}}};

const Fields<NodeSaid> kNodeFields = {
    kLines,
    {{"node", [](auto& node) { return node.graph.node(node.id).name; }},
     {"op", [](auto& node) { return node.graph.op(node.id); }},
     {"domain", [](auto& node) { return node.graph.domain(node.id); }},
     {"partition",
      [](auto& node) {
        const auto name = [&] { return node.partition.name(node.partition.part_of[node.id]); };
        return node.is_constant ? std::nullopt : std::optional(name());
      },
      "null for a constant."},
     {"is_acc", [](auto& node) { return when(!node.is_constant, node.is_acc); },
      "null for a constant."},
     {"target",
      [](auto& node) -> std::optional<std::string_view> {
        if (node.report.targets.empty() || node.is_constant) return std::nullopt;
        if (!node.is_acc) return "cpu";
        return node.report.targets[index(target_of(node.report, node.id))].name;
      },
      "Of several, the one that runs the node, or cpu.", kLeftOut},
     {"targets",
      [](auto& node) {
        return node.is_constant ? std::vector<TargetSaid>() : targets_of(node.report, node.id);
      },
      "What each of several says about the node, in the order in which they are asked.",
      kTargetFields, kLeftOut},
     {"code", [](auto& node) { return code_name(node.reason.code); },
      "null on the accelerator and for a constant.", words(reason_code_names)},
     {"detail", [](auto& node) { return detail_of(node.report, node.id); }},
     {"pattern", the<match_of>, "The match of a pattern that contains the node, if there is one.",
      kMatchFields, kLeftOut},
     {"because",
      [](auto& node) {
        const NodeId because = node.reason.because;
        return because == kNone<NodeId> ? std::nullopt
                                        : std::optional(node.graph.node(because).name);
      },
      "The node to blame; null: none."},
     {"try", [](auto& node) { return when(!node.way.empty(), node.way); },
      "An option with which a list accepts the node; null: none is known."},
     {"cpu_us",
      [](auto& node) -> std::optional<JsonValue> {
        if (node.report.time == nullptr || node.is_constant) return std::nullopt;
        return time_json(node.report.time->basis.times.cpu.of(node.id));
      },
      kTime},
     {"acc_us",
      [](auto& node) -> std::optional<JsonValue> {
        const bool is_one = node.report.targets.empty();
        if (node.report.time == nullptr || node.is_constant || !is_one) return std::nullopt;
        return time_json(node.report.time->basis.times.acc.of(node.id));
      },
      kTime}}};

using NodesSaid = std::vector<NodeSaid>;
const Fields<NodesSaid> kExplainFields = {kLines, {{"nodes", Itself{}, kNodeFields}}};

}  // namespace

Document explain_document() {
  return {"explain", "`explain --json`: where given nodes run, and why.", kExplainFields.table()};
}

std::string explain_json(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways) {
  NodesSaid said;
  for (const NodeId node : nodes) {
    const std::size_t at = said.size();
    said.push_back({report, node, at < ways.size() ? std::string_view(ways[at]) : ""});
  }
  return document_text("explain", kExplainFields, said);
}

namespace {

constexpr std::size_t kMostWays = 4;

struct ReasonPage {
  std::string_view heading;
  std::string_view meaning;
  std::array<std::string_view, kMostWays> ways;  // those that are not ""
};

constexpr std::array<ReasonPage, kReasonCodeCount - 1> kPages = {{
    {"the list does not have the op",
     "No allow rule of any support list names the node's op, in its domain.",
     {"if the device has the op, add a rule: \"lists new MODEL\" writes one for each op and type",
      "look at the spelling: ONNX says Conv, torch.export torch.ops.aten.conv2d.default, torch.fx "
      "torch.nn.modules.conv.Conv2d; \"lists lint LIST MODEL\" finds rules that match no node",
      "\"advise MODEL -s LIST\" says what the rule would gain", ""}},
    {"a rule names the op, but a condition of it fails",
     "Of the allow rules that name the op, the one that fits best is shown with the condition that "
     "does not hold and the values that failed. What is not known does not hold: a type or a shape "
     "that cannot be computed fails a condition on it. An If, Loop or Scan is refused with the "
     "first node of its bodies that is.",
     {"if the device can do it, widen the condition in the line that the reason names",
      "if a size is not known, state it: --dim N=1, --input-shape x=1,3,224,224",
      "if it wants a constant, and the value is known before the model runs: --fold write",
      "else change the model: another opset (cleave convert --opset N), type or attribute"}},
    {"a deny rule matches",
     "A deny rule of a list, an overlay, --deny or --verdicts settles the node. In one list, deny "
     "rules win over allow rules; a list with deny rules alone denies for all lists.",
     {"narrow the deny rule in the line that the reason names", "leave out --deny or the overlay",
      "", ""}},
    {"reads data that is no tensor from a CPU node",
     "Sizes, ints and tuples do not cross between accelerator and CPU. The node reads such data "
     "from a node on the CPU.",
     {"support the node that the reason names, or find out why it is on the CPU: \"explain MODEL "
      "NODE\"",
      "let such data cross the link: --allow-non-tensor", "", ""}},
    {"makes data that is no tensor for a CPU node, or for the caller",
     "Sizes, ints and tuples do not cross between accelerator and CPU. A CPU node, or the output "
     "of the model, reads such data from this node.",
     {"support the reader that the reason names",
      "let such data cross the link: --allow-non-tensor; with --move-non-tensor the node moves to "
      "its reader's partition",
      "", ""}},
    {"in a fusion group with a CPU node",
     "Nodes that exchange data other than tensors form a fusion group, with all nodes on paths "
     "between them. A group stays whole, and a node of this one is on the CPU.",
     {"support the CPU node that the reason names", "form no groups: --skip-fusion",
      "let such data cross the link: --allow-non-tensor", ""}},
    {"in an accelerator subgraph below the minimum size",
     "The node is supported, but the accelerator subgraph around it has fewer nodes than "
     "--min-acc-module-size asks for, and its transfers would cost more than they gain.",
     {"a smaller --min-acc-module-size; \"auto\" takes the one with which an inference is fastest",
      "support the neighbours, so that the subgraph grows: \"advise\" says which",
      "gather more nodes into each subgraph: --start fewest, --host-shapes", ""}},
    {"computes shapes for nodes on the CPU",
     "With --host-shapes, shape computations (Shape, Gather, Concat...) are on the side of the "
     "nodes that use them. The users of this one are on the CPU.",
     {"support the node that uses the shape", "leave out --host-shapes", "", ""}},
    {"in a quantised group with a CPU node",
     "With --keep-qdq a quantised operator (DequantizeLinear, operator, QuantizeLinear) stays "
     "whole. A node of this group is on the CPU.",
     {"support the node that the reason names", "leave out --keep-qdq", "", ""}},
    {"in an accelerator subgraph beyond the number to keep",
     "--keep-acc-subgraphs keeps the most valuable subgraphs, by --keep-by. This one is worth less "
     "than those that were kept.",
     {"a larger --keep-acc-subgraphs; \"auto\" drops those that make an inference slower only",
      "rank by another measure: --keep-by flops|time|nodes|latency", "", ""}},
    {"an inference is faster with it on the CPU",
     "With --place cost, a node is on the accelerator only where that makes an inference faster. "
     "The reason has the sum: what the node, and the nodes that moved with it, would add in "
     "transfers, computing and launches.",
     {"leave it on the accelerator whatever it costs: --require NODE",
      "check the numbers: --costs with a profile; --target launch, flops and bandwidth; --pcie-bw",
      "keep values on the accelerator between partitions: --residency on", ""}},
    {"uses memory that is written in place, as a CPU node does",
     "Nodes of a torch.export model view the same memory, which one of them writes. They stay in "
     "one partition, and one of them is on the CPU.",
     {"support the CPU node that the reason names",
      "export without writes in place: run_decompositions() before torch.export.save()", "", ""}},
    {"by itself beyond a limit on a whole partition",
     "A support list limits whole partitions: max_nodes, max_parameter_bytes, max_inputs, "
     "max_outputs or max_activation_bytes. A larger partition is cut into several, but this node, "
     "or the group in which it must stay, is beyond the limit by itself.",
     {"raise the limit in the list, if the device can take more",
      "divide the node in the model: a smaller weight, fewer inputs", "", ""}},
    {"only a pattern names the op, and it does not match here",
     "No allow rule names the node's op, but an op of a pattern does. A pattern accepts its nodes "
     "only together: all of its edges must be there, no node outside may read a value between "
     "them, and each node must meet the conditions of its op. The pattern that comes nearest is "
     "shown with what is in its way.",
     {"if the device has the op by itself, add a rule for it",
      "if the model says the same in another way, add a pattern for that: ops, edges, conditions",
      "look at the node that the reason names: \"explain MODEL NODE\"", ""}},
    {"in the match of a pattern with a CPU node",
     "The nodes that a pattern matches are accepted together and stay together. Another pass, or "
     "data that is no tensor, keeps one of them on the CPU.",
     {"support the CPU node that the reason names, or find out why it is there: \"explain MODEL "
      "NODE\"",
      "add a rule for the op, if the device also has it by itself", "", ""}},
    {"what ONNX Runtime makes of it is refused",
     "With --as onnxruntime, or a list that says so, a node is judged as what it is in the graph "
     "that ONNX Runtime shows to a provider: a BatchNormalization is part of the Conv before it, "
     "Identity and Dropout are gone, one of equal nodes stands for all, and an operator that is "
     "defined by others (HardSwish) and that no rule names is the nodes of its body.",
     {"support the node that the reason names", "judge the model's own nodes: --as model", "", ""}},
    {"its partition lacks what a list asks of a whole one",
     "A support list asks of a whole partition that it has nodes of some ops (min_ops), or of "
     "other ops than some (not_only). A partition without goes to the CPU.",
     {"support the neighbours, so that the partition grows: \"advise\" says which",
      "change \"part\" in the list, if the device takes such partitions", "", ""}},
}};

}  // namespace

std::vector<std::string> reason_code_names() {
  return all_up_to<reason_code_name, ReasonCode{kReasonCodeCount - 1}, ReasonCode{1}>();
}

std::string reason_page(ReasonCode code) {
  const ReasonPage& page = kPages[static_cast<std::size_t>(code) - 1];
  std::string text =
      std::string(reason_code_name(code)) + ": " + std::string(page.heading) + "\n\n";
  text += as_line(page.meaning, 2) + "\nways out\n";
  for (const std::string_view way : page.ways) {
    if (!way.empty()) text += as_line("- " + std::string(way), 2);
  }
  return text;
}

// ---- print text ----

namespace {

constexpr std::size_t kWidestLeft = 48;  // columns before the = sign that nodes are aligned to
constexpr std::size_t kMostBars = 20;    // before the nodes of nested bodies

// `%conv1`, `%"a name with spaces"`
std::string reference(std::string_view name) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-$@";
  const bool is_plain = !name.empty() && name.find_first_not_of(kPlain) == name.npos;
  return "%" + (is_plain ? std::string(name) : escaped_in_quotes(name));
}

// ---- nodes ----

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string take() { return std::move(text_); }
  void add(std::string_view text) { text_ += text; }

  std::string typed(ValueId value) const {
    return reference(graph_.value(value).name) + ": " + type_text(graph_, value);
  }

  template <class Values>
  void add_values(std::string_view title, const Values& values,
                  std::span<const std::string> notes = {}) {
    if (values.empty()) return;
    text_ += std::string(title) + '\n';
    std::size_t at = 0;
    for (const ValueId value : values) {
      const bool has_note = at < notes.size() && !notes[at].empty();
      text_ += "  " + typed(value) + (has_note ? "  # " + notes[at] : "") + '\n';
      ++at;
    }
  }

  // Prints the nodes one below the other, with = signs aligned unless that is too far to the right.
  template <class Nodes>
  void add_nodes(const Nodes& nodes) {
    std::size_t width = 0;
    for (const NodeId node : nodes) {
      const std::size_t left = text_columns(outputs_text(node));
      if (left <= kWidestLeft) width = std::max(width, left);
    }
    for (const NodeId node : nodes) {
      add_node(node, "  ", width);
      add_bodies(node);
    }
  }

 private:
  // Prints the nodes of bodies below the name of each body, indented by one bar for each enclosing
  // node. A body node's target is the path of its body, see formats/onnx/read/reader.cc, "graph maker".
  void add_bodies(NodeId owner) {
    std::string_view last;
    for (const NodeId inner : graph_.body_nodes(owner)) {
      const std::string_view path = graph_.text(graph_.node(inner).target);
      const auto depth = static_cast<std::size_t>(std::ranges::count(path, '/')) + 1;
      std::string indent = "  ";
      for (std::size_t i = 0; i < std::min(depth, kMostBars); ++i) indent += "| ";
      // When returning from a body inside this one, the name was printed before.
      const bool is_back = last.substr(0, path.size() + 1) == std::string(path) + '/';
      if (path != last && !is_back) {
        text_ += indent + escaped(path.substr(path.rfind('/') + 1)) + ":\n";
      }
      last = path;
      add_node(inner, indent + (path.empty() ? "" : "  "), 0);
    }
  }

  void add_node(NodeId node, std::string_view indent, std::size_t width) {
    std::string left = outputs_text(node);
    const std::size_t columns = text_columns(left);
    if (columns < width) left.append(width - columns, ' ');
    text_ += indent;
    if (!left.empty()) text_ += left + " = ";
    text_ += op_of(node) + '(' + operands_text(node) + ')';
    if (const std::string attributes = attributes_text(node); !attributes.empty()) {
      text_ += " {" + attributes + '}';
    }
    if (!bears_name(node)) text_ += "  # " + escaped(graph_.node(node).name);
    text_ += '\n';
  }

  std::string outputs_text(NodeId node) const {
    return joined(graph_.outputs(node), ", ", [&](const ValueId output) { return typed(output); });
  }

  std::string op_of(NodeId node) const {
    return escaped(op_text(plain_domain(graph_.domain(node)), graph_.op(node)));
  }

  // Positional inputs with _ for one that is left out, keywords, captures, own parameters.
  std::string operands_text(NodeId node) const {
    std::string text;
    std::uint32_t position = 0;
    bool in_list = false;
    OperandSlot list = OperandSlot::capture();
    const auto begin_item = [&] { text += text.empty() ? "" : ", "; };
    for (const Operand& operand : graph_.operands(node)) {
      const OperandSlot slot = operand.slot;
      const std::string name = reference(graph_.value(operand.value).name);
      if (in_list && slot == list) {
        text += ", " + name;
        continue;
      }
      if (in_list) text += ']';
      in_list = slot.is_inside_list();
      list = slot;
      if (slot.is_positional()) {
        add_gap(text, position, slot.position());
        position = slot.position() + 1;
      }
      begin_item();
      if (slot.is_keyword()) text += escaped(graph_.text(slot.name())) + '=';
      if (slot.is_capture()) text += "captured ";
      text += (in_list ? "[" : "") + name;
    }
    if (in_list) text += ']';
    std::string_view separator = "; ";
    for (const ValueId parameter : graph_.module_parameters(node)) {
      text += std::string(separator) + reference(graph_.value(parameter).name);
      separator = ", ";
    }
    return text;
  }

  static void add_gap(std::string& text, std::uint32_t from, std::uint32_t to) {
    constexpr std::uint32_t kMostGaps = 16;
    for (std::uint32_t i = from; i < to && i - from < kMostGaps; ++i) {
      text += text.empty() ? "_" : ", _";
    }
    if (to > from && to - from > kMostGaps) text += ", ...";
  }

  std::string attributes_text(NodeId node) const {
    std::string text;
    for (const Attribute& attribute : graph_.attributes(node)) {
      if (!text.empty()) text += ", ";
      text += escaped(graph_.text(attribute.name)) + '=' +
              attribute_text(graph_.attribute_pools(), attribute);
    }
    return text;
  }

  // True when an output has the node's name.
  bool bears_name(NodeId node) const {
    const auto outputs = graph_.outputs(node);
    return std::ranges::any_of(outputs, [&](ValueId output) {
      return graph_.value(output).name == graph_.node(node).name;
    });
  }

  const Graph& graph_;
  std::string text_;
};

std::vector<ValueId> file_parameters(const Graph& graph) {
  std::vector<ValueId> parameters;
  for (const ValueId parameter : graph.parameters()) {
    if (graph.value(parameter).producer == kNone<NodeId>) parameters.push_back(parameter);
  }
  return parameters;
}

std::string references(const Graph& graph, std::span<const ValueId> values) {
  return joined(values, ", ",
                [&](const ValueId value) { return reference(graph.value(value).name); });
}

std::string title(const Graph& graph) {
  const std::string name = graph.name().empty() ? "model" : escaped(graph.name());
  return name + ": " + counted(graph.node_count(), "node");
}

// The side of the split that the part is on; empty when the split has no sides.
std::string side_of(const Partition& partition, PartId part) {
  if (partition.devices.empty()) return {};
  return partition.is_acc(part) ? "accelerator" : "CPU";
}

void add_part_head(Printer& printer, const Partition& partition, const Boundaries& boundaries,
                   PartId part, std::string_view device) {
  printer.add(escaped(partition.name(part)) + ": " + escaped(device) +
              (device.empty() ? "" : ", ") + counted(partition.nodes(part).size(), "node") + '\n');
  const auto add_list = [&](std::string_view label, std::span<const ValueId> values) {
    for (const ValueId value : values) {
      printer.add("  " + std::string(label) + printer.typed(value) + '\n');
    }
  };
  add_list("in   ", boundaries.inputs[part]);
  add_list("out  ", boundaries.outputs[part]);
  add_list("read ", boundaries.parameters[part]);
}

// The constants that parts need, in model order: by part, and those that several parts need.
struct PrintedConstants {
  PerPart<std::vector<NodeId>> of_part;
  std::vector<NodeId> shared;
};

// Linear: a constant is visited once for the first part that needs it and once for the second. From
// then on it and all that it is made of are known to be shared.
PrintedConstants constants_by_part(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries) {
  enum class Need : std::uint8_t { no_part, one_part, several };
  std::vector<Need> need(graph.constants().size(), Need::no_part);
  std::vector<PartId> owner(need.size(), kNone<PartId>);
  std::vector<NodeId> open;
  for (const PartId part : partition.parts()) {
    open.assign(boundaries.constants[part].begin(), boundaries.constants[part].end());
    while (!open.empty()) {
      const NodeId constant = open.back();
      open.pop_back();
      const std::size_t at = index(constant) - graph.node_count();
      if (need[at] == Need::several || owner[at] == part) continue;
      need[at] = need[at] == Need::no_part ? Need::one_part : Need::several;
      owner[at] = part;
      for (const Operand& operand : graph.operands(constant)) {
        const NodeId maker = graph.value(operand.value).producer;
        if (maker != kNone<NodeId>) open.push_back(maker);
      }
    }
  }
  PrintedConstants result{PerPart<std::vector<NodeId>>(partition.count(), {}), {}};
  for (const NodeId constant : graph.constants()) {
    const std::size_t at = index(constant) - graph.node_count();
    if (need[at] == Need::one_part) result.of_part[owner[at]].push_back(constant);
    if (need[at] == Need::several) result.shared.push_back(constant);
  }
  return result;
}

}  // namespace

std::string print_model(const Graph& graph, std::span<const std::string> output_notes) {
  Printer printer(graph);
  printer.add(title(graph) + '\n');
  printer.add_values("\ninputs", graph.inputs());
  printer.add_values("\nparameters", file_parameters(graph));
  if (!graph.constants().empty()) {
    printer.add("\nconstants\n");
    printer.add_nodes(graph.constants());
  }
  if (graph.node_count() > 0) {
    printer.add("\nnodes\n");
    printer.add_nodes(graph.nodes());
  }
  printer.add_values("\noutputs", graph.outputs(), output_notes);
  return printer.take();
}

std::string print_split(const Graph& graph, const Partition& partition,
                        const Boundaries& boundaries) {
  Printer printer(graph);
  printer.add(title(graph) + " in " + counted(partition.count(), "part") + '\n');
  printer.add_values("\ninputs", graph.inputs());
  if (partition.count() > 0) printer.add("\ncalls\n");
  for (const PartId part : partition.parts()) {
    const std::string made = references(graph, boundaries.outputs[part]);
    printer.add("  " + made + (made.empty() ? "" : " = ") + escaped(partition.name(part)) + '(' +
                references(graph, boundaries.inputs[part]) + ")\n");
  }
  printer.add_values("\noutputs", graph.outputs());
  const PrintedConstants constants = constants_by_part(graph, partition, boundaries);
  if (!constants.shared.empty()) {
    printer.add("\nconstants of several partitions\n");
    printer.add_nodes(constants.shared);
  }
  for (const PartId part : partition.parts()) {
    printer.add("\n");
    add_part_head(printer, partition, boundaries, part, side_of(partition, part));
    printer.add_nodes(constants.of_part[part]);
    printer.add_nodes(partition.nodes(part));
  }
  return printer.take();
}

std::string print_part(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                       PartId part, std::string_view device) {
  Printer printer(graph);
  add_part_head(printer, partition, boundaries, part, device);
  printer.add_nodes(needed_constants(graph, boundaries, part));
  printer.add_nodes(partition.nodes(part));
  return printer.take();
}

}  // namespace cleave
