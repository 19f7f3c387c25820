#include "formats/report/split/print_text.h"

#include <algorithm>
#include <vector>

#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "core/graph/op_name.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/words/value_text.h"

namespace cleave {
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
  void add_values(std::string_view title, const Values& values) {
    if (values.empty()) return;
    text_ += std::string(title) + '\n';
    for (const ValueId value : values) text_ += "  " + typed(value) + '\n';
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
  // node. A body node's target is the path of its body, see onnx/read/graph_maker.cc.
  void add_bodies(NodeId owner) {
    std::string_view last;
    for (const NodeId inner : graph_.body_nodes(owner)) {
      const std::string_view path = graph_.text(graph_.node(inner).target);
      const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + 1;
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
    std::string text;
    for (const ValueId output : graph_.outputs(node)) {
      text += (text.empty() ? "" : ", ") + typed(output);
    }
    return text;
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
    return std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
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
  std::string text;
  for (const ValueId value : values) {
    text += (text.empty() ? "" : ", ") + reference(graph.value(value).name);
  }
  return text;
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

std::string print_model(const Graph& graph) {
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
  printer.add_values("\noutputs", graph.outputs());
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
