#include "formats/report/split/reason_page.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr std::size_t kMostWays = 4;

struct Page {
  std::string_view heading;
  std::string_view meaning;
  std::array<std::string_view, kMostWays> ways;  // those that are not ""
};

constexpr std::array<Page, kReasonCodeCount - 1> kPages = {{
    {"no rule names the op",
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
      "else change the model: another opset, type or attribute", ""}},
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
     "A support list limits whole partitions: max_nodes, max_parameter_bytes, max_inputs or "
     "max_outputs. A larger partition is cut into several, but this node, or the group in which it "
     "must stay, is beyond the limit by itself.",
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
}};

}  // namespace

std::vector<std::string> reason_code_names() {
  std::vector<std::string> names;
  for (int code = 1; code < kReasonCodeCount; ++code) {
    names.emplace_back(reason_code_name(static_cast<ReasonCode>(code)));
  }
  return names;
}

std::string reason_page(ReasonCode code) {
  const Page& page = kPages[static_cast<std::size_t>(code) - 1];
  std::string text =
      std::string(reason_code_name(code)) + ": " + std::string(page.heading) + "\n\n";
  text += wrapped(page.meaning, 2, 2) + "\nways out\n";
  for (const std::string_view way : page.ways) {
    if (!way.empty()) text += wrapped("- " + std::string(way), 2, 4);
  }
  return text;
}

}  // namespace cleave
