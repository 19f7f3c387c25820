#include "formats/report/drawings/drawings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

using namespace cleave;

namespace {

// A graph split by a list that supports every op but the denied ones, and the data that a report
// refers to.
class Sample {
 public:
  Sample(Graph graph, const std::vector<std::string>& denied, std::size_t min_acc_size = 1)
      : model_{SourceFile::from_text("m.json", ""), GraphJsonOrigin{}, std::move(graph), {}, {}},
        lists_(1) {
    lists_[0].name = "npu";
    lists_[0].path = "npu.json";
    lists_[0].allow.emplace_back().op = "*";
    for (const std::string& op : denied) lists_[0].deny.emplace_back().op = op;
    options_.min_acc_size = min_acc_size;
    split_ = *split_graph({model_.graph, lists_, facts_}, options_);
    preview_ = preview_split(model_.graph, split_.partition, split_.boundaries, default_link());
  }

  Report report() const {
    return {model_, model_.graph, lists_, facts_, options_, split_, preview_, {}};
  }
  std::string support(std::size_t collapse_above = 100) const {
    return draw_support(report(), collapse_above);
  }
  std::string preview() const { return draw_preview(report()); }
  // With a link that somebody chose.
  std::string preview(const Link& link) {
    preview_ = preview_split(model_.graph, split_.partition, split_.boundaries, link);
    return preview();
  }
  std::string part(std::uint32_t number, std::size_t collapse_above = 100) const {
    return draw_part(report(), PartId{number}, collapse_above);
  }

 private:
  LoadedModel model_;
  std::vector<SupportList> lists_;
  OpFacts facts_;
  SplitOptions options_;
  Split split_;
  Preview preview_;
};

constexpr std::string_view kModel = R"(
input x: float32[1,3,224,224]
param w: float32[64,3,7,7]
c: float32[1,64,112,112] = Conv(x, w)
r: float32[1,64,112,112] = Relu(c)
e: float32[1,64] = Erf(r)
s: float32[1,64] = Sigmoid(e)
output s
)";

Sample sample() { return {graph_from_text(kModel), {"Erf"}, 2}; }

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// The statement with this beginning, on one line; empty when there is none.
std::string statement(const std::string& dot, const std::string& begin) {
  const std::size_t at = dot.find("\n\t" + begin + "\t[");
  if (at == dot.npos) return {};
  std::string text = dot.substr(at + 2, dot.find("];", at) - at);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(std::remove(text.begin(), text.end(), '\t'), text.end());
  return text;
}

std::vector<std::string> lines_inside_subgraphs(const std::string& dot) {
  std::vector<std::string> lines;
  for (std::size_t at = dot.find("\tsubgraph"); at != dot.npos; at = dot.find("\tsubgraph", at)) {
    at = dot.find('\n', at) + 1;
    lines.push_back(dot.substr(at, dot.find("\n\t}", at) - at));
  }
  return lines;
}

// A chain whose ops alternate between an accelerator's and one for the CPU.
Graph alternating_chain(std::size_t nodes) {
  std::string text = "input x\n";
  std::string last = "x";
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += name + (i % 2 == 0 ? " = Erf(" : " = Relu(") + last + ")\n";
    last = name;
  }
  return graph_from_text(text + "output " + last + "\n");
}

// x -> node -> output, where the node has that name.
Sample named(std::string_view name) {
  GraphBuilder builder;
  builder.add_input({.name = "x", .type = ValueType::tensor, .dtype = DType::float32}, {});
  builder.add_node({.name = name, .op = name});
  builder.add_operand(builder.value_named("x"), OperandSlot::positional(0));
  builder.add_graph_output(builder.add_output({.name = name, .type = ValueType::tensor}, 0), {});
  return {*builder.finish(), {}};
}

}  // namespace

TEST_CASE("support is drawn in three colours, with tooltips") {
  const std::string dot = sample().support();
  CHECK(has(statement(dot, "c"), "fillcolor=\"#c4ecd9\""));
  CHECK(has(statement(dot, "s"), "fillcolor=\"#ffe8a0\""));
  CHECK(has(statement(dot, "e"), "fillcolor=\"#ef9d86\""));
  CHECK(has(statement(dot, "c"), "\\non the accelerator, in _run_on_acc_0\""));
  CHECK(has(statement(dot, "e"), "\\non the CPU, in _run_on_cpu_1:\\ndenied by "));
  CHECK(has(statement(dot, "s"), "\\non the CPU, in _run_on_cpu_1:\\n"));
}

TEST_CASE("the legend says what the colours mean") {
  const std::string dot = sample().support();
  CHECK(has(statement(dot, "\"legend:0\""), "label=\"supported, on the accelerator\""));
  CHECK(has(statement(dot, "\"legend:1\""), "label=\"supported, kept on the CPU\""));
  CHECK(has(statement(dot, "\"legend:2\""), "label=unsupported"));
  CHECK(has(statement(dot, "\"legend:3\""), "label=\"input, output or parameter\""));
}

TEST_CASE("a node is labelled with op type, name and type") {
  const std::string dot = sample().support();
  CHECK(has(statement(dot, "c"), "label=\"Conv\\nc\\nfloat32[1, 64, 112, 112]\""));
}

TEST_CASE("op types are drawn without the modules they come from") {
  CHECK(op_label("torch.nn.modules.conv.Conv2d") == "Conv2d");
  CHECK(op_label("_operator.add") == "add");
  CHECK(op_label("torch.ops.aten.add.Tensor") == "aten.add.Tensor");
  CHECK(op_label("aten.relu.default") == "aten.relu.default");
  CHECK(op_label("Conv") == "Conv");
  CHECK(op_label("torch.") == "torch.");
}

TEST_CASE("inputs, outputs and parameters are neutral") {
  const std::string dot = sample().support();
  CHECK(has(statement(dot, "\"input:0\""), "label=\"x\\nfloat32[1, 3, 224, 224]\""));
  CHECK(has(statement(dot, "\"input:0\""), "fillcolor=\"#f2f2f2\""));
  CHECK(has(statement(dot, "\"output:0\""), "label=\"s\\nfloat32[1, 64]\""));
  CHECK(has(statement(dot, "\"parameter:1\""), "fillcolor=\"#fafafa\""));
  CHECK_FALSE(statement(dot, "\"parameter:1\" -> c").empty());
}

TEST_CASE("parameters are left out where only nodes have room") {
  const std::string dot = sample().support(6);
  CHECK_FALSE(statement(dot, "c").empty());
  CHECK_FALSE(has(dot, "parameter:"));
}

TEST_CASE("edges are labelled with bytes where they enter a partition, once for each value") {
  const Sample sample(graph_from_text("input x: float32[8]\n"
                                      "a: float32[256] = Relu(x)\n"
                                      "b = Relu(a)\n"
                                      "e = Erf(a, b)\n"
                                      "f = Erf(a)\n"
                                      "output e, f\n"),
                      {"Erf"});
  const std::string dot = sample.support();
  CHECK(has(statement(dot, "\"input:0\" -> a"), "label=\" 32 B\""));
  CHECK(has(statement(dot, "a -> e"), "label=\" 1 KiB\""));
  CHECK_FALSE(has(statement(dot, "a -> f"), "label"));
  CHECK(has(statement(dot, "a -> f"), "penwidth=1.6"));
  CHECK_FALSE(has(statement(dot, "a -> b"), "penwidth"));
}

TEST_CASE("partitions are boxes that hold bare ids") {
  const std::string dot = sample().support();
  CHECK(has(dot, "subgraph cluster_1 { label=\"_run_on_acc_0: accelerator, 2 nodes\";"));
  CHECK(has(dot, "subgraph cluster_2 { label=\"_run_on_cpu_1: CPU, 2 nodes\";"));
  CHECK(lines_inside_subgraphs(dot) ==
        std::vector<std::string>{"\t\t\"legend:0\"; \"legend:1\"; \"legend:2\"; \"legend:3\"; ",
                                 "\t\t\"c\"; \"r\"; ", "\t\t\"e\"; \"s\"; "});
}

TEST_CASE("too many nodes collapse to partitions, and the label says so") {
  const std::string dot = sample().support(5);
  CHECK(has(dot,
            "m: 2 of 4 nodes on the accelerator, 2 partitions\\l"
            "4 nodes are too many to draw singly; partitions are drawn instead: raise "
            "--limit drawn-nodes\\l"));
  CHECK(statement(dot, "c").empty());
  CHECK(has(statement(dot, "_run_on_acc_0"), "fillcolor=\"#c4ecd9\""));
  CHECK(has(statement(dot, "_run_on_cpu_1"), "fillcolor=\"#ef9d86\""));
  CHECK(has(statement(dot, "_run_on_cpu_1"), "\\n1 unsupported, 1 supported but kept\\n"));
}

TEST_CASE("drawings with many edges collapse, too") {
  std::string text = "input x";
  std::string reads;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "\n" + name + " = " + (i % 2 == 0 ? "Relu" : "Erf") + "(x" + reads + ")";
    reads += ", " + name;
  }
  const Sample dense(graph_from_text(text + "\noutput n59"), {"Erf"});
  const std::string dot = dense.support(100);
  CHECK(has(dot, "edges are too many to draw singly"));
  std::size_t edges = 0;
  for (std::size_t at = dot.find(" -> "); at != dot.npos; at = dot.find(" -> ", at + 1)) ++edges;
  CHECK(edges > 0);
  CHECK(edges <= 4 * 100);
  CHECK_FALSE(has(dense.support(1000), "too many"));
}

// A chain of nodes that all read one input, too, as the layers of a transformer read a mask.
Graph chain_with_mask(int nodes) {
  std::string text = "input x\ninput mask";
  std::string before = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "\n" + name + " = Relu(" + before + ", mask)";
    before = name;
  }
  return graph_from_text(text + "\noutput " + before);
}

TEST_CASE("a drawing for a layout leaves out the longest of many long edges, and says so") {
  const Sample masked(chain_with_mask(120), {"Erf"});
  const Report report = masked.report();
  for (const std::string& dot :
       {draw_support(report, 2000, nullptr, DrawnEdges::shorter),
        draw_part(report, PartId{0}, 2000, nullptr, DrawnEdges::shorter)}) {
    CHECK(has(dot, " edges are left out: they span the most boxes"));
    CHECK(has(dot, "\tn0 -> n1\t"));
    CHECK_FALSE(has(dot, "\"input:1\" -> n119\t"));
    CHECK(has(dot, "\"input:1\" -> n0\t"));
  }
  CHECK(has(masked.support(2000), "\"input:1\" -> n119\t"));
}

TEST_CASE("a collapsed drawing has no more boxes than asked for") {
  const std::string dot = Sample(alternating_chain(1000), {"Erf"}).support(10);
  CHECK(has(statement(dot, "_run_on_cpu_0"),
            "label=\"_run_on_cpu_0 to _run_on_acc_99\\n100 partitions, 50 on the accelerator\\n"
            "100 nodes\\n50 Erf, 50 Relu\\n"));
  CHECK(statement(dot, "_run_on_acc_99").empty());
  CHECK_FALSE(statement(dot, "_run_on_cpu_900").empty());
}

TEST_CASE("a preview has one box a partition, and bytes on the edges") {
  const std::string dot = sample().preview(*parse_link("gen4x16"));
  CHECK_FALSE(has(sample().preview(), "QPS"));
  CHECK(has(dot, "the link (gen4x16) allows "));
  CHECK(has(statement(dot, "_run_on_acc_0"),
            "label=\"_run_on_acc_0\\naccelerator, 2 nodes\\n1 Conv, 1 Relu\\n"));
  CHECK(has(statement(dot, "_run_on_acc_0"), "36.8 KiB of parameters"));
  CHECK(has(statement(dot, "_run_on_acc_0"), " QPS: the bottleneck\""));
  CHECK(has(statement(dot, "_run_on_cpu_1"), "label=\"_run_on_cpu_1\\nCPU, 2 nodes\\n"));
  CHECK(has(statement(dot, "\"input:0\" -> _run_on_acc_0"), "label=\" 588 KiB\""));
  CHECK(has(statement(dot, "_run_on_acc_0 -> _run_on_cpu_1"), "label=\" 3.06 MiB\""));
  CHECK(has(statement(dot, "_run_on_cpu_1 -> \"output:0\""), "label=\" 256 B\""));
}

TEST_CASE("what flows between the same partitions is one edge") {
  const Sample sample(graph_from_text("input x: float32[8]\n"
                                      "a: float32[256] = Relu(x)\n"
                                      "b: float32[n] = Relu(x)\n"
                                      "c: tuple(float32[2]) = Relu(x)\n"
                                      "e = Erf(a, b, x)\n"
                                      "output e\n"),
                      {"Erf"});
  const std::string edge = statement(sample.preview(), "_run_on_acc_0 -> _run_on_cpu_1");
  CHECK(has(edge, "label=\" 2 values, at least 1 KiB\""));
  CHECK(has(edge, "tooltip=\"a: float32[256], 1 KiB\\nb: float32[n]\""));
}

TEST_CASE("many inputs of the graph are one ellipse in a preview") {
  std::string text, sum = "s = Sum(";
  for (int i = 0; i < 31; ++i) {
    text += "input x" + std::to_string(i) + ": float32[1]\n";
    sum += (i > 0 ? ", x" : "x") + std::to_string(i);
  }
  const std::string dot = Sample(graph_from_text(text + sum + ")\noutput s\n"), {}).preview();
  CHECK(has(statement(dot, "\"input:0\""), "label=\"31 inputs\""));
  CHECK(statement(dot, "\"input:1\"").empty());
  CHECK(has(statement(dot, "\"input:0\" -> _run_on_acc_0"), "label=\" 31 values, 124 B\""));
}

TEST_CASE("a preview of thousands of partitions stays small") {
  const std::string dot = Sample(alternating_chain(5000), {"Erf"}).preview();
  CHECK(has(dot, "_run_on_cpu_0 to _run_on_acc_9\\n10 partitions"));
  CHECK(dot.size() < 500 * 1000);
}

TEST_CASE("a partition is drawn with what it takes in and gives out") {
  const std::string dot = sample().part(1);
  CHECK(has(dot, "label=\"_run_on_cpu_1: CPU, 2 nodes\\ltakes in 3.06 MiB, outputs 256 B\\l \""));
  CHECK(has(statement(dot, "\"input:3\""), "label=\"r\\nfloat32[1, 64, 112, 112]\""));
  CHECK(has(statement(dot, "\"input:3\" -> e"), "label=\" 3.06 MiB\""));
  CHECK_FALSE(statement(dot, "e -> s").empty());
  CHECK(has(statement(dot, "s -> \"output:0\""), "label=\" 256 B\""));
  CHECK(statement(dot, "c").empty());
}

TEST_CASE("a partition with too many nodes is drawn by op types") {
  const Sample sample(graph_from_text("input x\na = Relu(x)\nb = Relu(a)\nc = Exp(b)\nd = Abs(c)\n"
                                      "output d\n"),
                      {});
  const std::string dot = sample.part(0, 2);
  CHECK(has(dot,
            "\\ltoo many nodes or edges to draw singly; op types are drawn instead: raise "
            "--limit drawn-nodes\\l"));
  CHECK(has(statement(dot, "\"node:0\""), "label=\"2 Relu\""));
  CHECK(has(statement(dot, "\"node:1\""), "label=\"1 Abs\""));
  CHECK(has(statement(dot, "\"node:rest\""), "label=\"1 other op type\""));
}

TEST_CASE("a graph without nodes is drawn") {
  const Sample sample(graph_from_text("input x: float32[2]\nparam w\noutput x, w\n"), {});
  CHECK(has(sample.support(), "m: 0 of 0 nodes on the accelerator, 0 partitions"));
  CHECK_FALSE(statement(sample.support(), "\"input:0\" -> \"output:0\"").empty());
  CHECK_FALSE(statement(sample.support(), "\"parameter:1\" -> \"output:1\"").empty());
  CHECK_FALSE(statement(sample.preview(), "\"input:0\" -> \"output:0\"").empty());
}

TEST_CASE("drawing twice gives the same bytes") {
  CHECK(sample().support() == sample().support());
  CHECK(sample().preview() == sample().preview());
}

TEST_CASE("text in labels has no special meaning for Graphviz") {
  CHECK(dot_text("a\\Nb") == "a\\\\Nb");
  CHECK(dot_text("ends\\") == "ends\\\\");
  CHECK(dot_text("two\nlines") == "two\\\\x0Alines");
  CHECK(dot_text("\xE2\x80\xAEright to left") == "\\\\xE2\\\\x80\\\\xAEright to left");
  CHECK(dot_text("caf\xE9") == "caf\\\\xE9");
  CHECK(dot_text("a &lt; b & c; &#955;") == "a &amp;lt; b & c; &amp;#955;");
  CHECK(dot_text("0123456789", 8) == "01...789");
  CHECK(dot_text("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC", 5) == "\xC3\xA4...\xC3\xBC");
}

TEST_CASE("names that cannot be ids get a number") {
  CHECK(dot_id("conv 1", "node", 7) == "conv 1");
  CHECK(dot_id("<b>", "node", 7) == "<b>");
  CHECK(dot_id("", "node", 7) == "node:7");
  CHECK(dot_id("a\"b", "node", 7) == "node:7");
  CHECK(dot_id("a\\", "node", 7) == "node:7");
  CHECK(dot_id("&#0;", "node", 7) == "node:7");
  CHECK(dot_id("%1", "node", 7) == "node:7");
  CHECK(dot_id("input:0", "node", 7) == "node:7");
  CHECK(dot_id("a\nb", "node", 7) == "node:7");
  CHECK(dot_id(std::string(201, 'a'), "node", 7) == "node:7");
}

TEST_CASE("any name can be drawn and laid out") {
  const std::vector<std::string> names = {"a\"b\"",
                                          "two\nlines",
                                          "back\\slash\\",
                                          "\\N",
                                          "<b>bold</b>",
                                          "digraph",
                                          "node",
                                          "%1",
                                          "a:b",
                                          "&lt;&#0;",
                                          "input:0",
                                          "legend:0",
                                          "caf\xE9",
                                          "\x01\x02",
                                          "-> x; }",
                                          "/* no */",
                                          "# no",
                                          "\xF0\x9F\x98\x80",
                                          std::string(100'000, 'x'),
                                          "a;b\t{c}|",
                                          "\xE2\x80\xAE"
                                          "abc",
                                          "\xEF\xBF\xBF"};
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string dot = named(name).support();
    CHECK_FALSE(statement(dot, "\"input:0\"").empty());
    const auto svg = layout_svg(dot);
    REQUIRE(svg.has_value());
    CHECK(has(*svg, "</svg>"));
  }
}

TEST_CASE("an SVG holds titles and tooltips") {
  const auto svg = layout_svg(sample().support());
  REQUIRE(svg.has_value());
  CHECK(has(*svg, "<title>c</title>"));
  CHECK(has(*svg, "xlink:title=\"Conv&#10;c&#10;outputs c: float32[1, 64, 112, 112]"));
  CHECK(has(*svg, "xlink:title=\"x: float32[1, 3, 224, 224], 588 KiB\""));
}

TEST_CASE("text that is not a drawing cannot be laid out") {
  const auto svg = layout_svg("digraph {");
  REQUIRE_FALSE(svg.has_value());
  CHECK(has(svg.error()[0].message, "the drawing is not a graph: syntax error"));
}
