#include <random>
#include <string>
#include <vector>

#include <graphviz/cgraph.h>

#include "formats/report/drawings/drawings.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/report_case.h"

// ---- dot graph test ----
//
// DotGraph writes the same text as Graphviz's own library for the same drawing.

using namespace cleave;

namespace {

char* text_of(const std::string& text) { return const_cast<char*>(text.c_str()); }

int append_text(void* to, const char* text) {
  static_cast<std::string*>(to)->append(text);
  return 0;
}
int nothing_to_flush(void*) { return 0; }

// The same calls with cgraph.
class Reference {
 public:
  explicit Reference(const std::string& name) : graph_(agopen(text_of(name), Agdirected, &all_)) {
    declare(AGRAPH, {{"linelength", "0"}});
    // A layout in this process has given every graph after it this default.
    if (agattr(nullptr, AGNODE, text_of("label"), nullptr) != nullptr) {
      declare(AGNODE, {{"label", ""}});
    }
  }
  ~Reference() { agclose(graph_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  void declare(int kind, const DotAttributes& attributes) {
    for (const DotAttribute& attribute : attributes) {
      agattr(graph_, kind, text_of(attribute.name), text_of(attribute.value));
    }
  }
  void add_node(const std::string& id, const DotAttributes& attributes) {
    set(agnode(graph_, text_of(id), 1), attributes);
  }
  void add_edge(const std::string& from, const std::string& to, const DotAttributes& attributes) {
    Agnode_t* const tail = agnode(graph_, text_of(from), 0);
    set(agedge(graph_, tail, agnode(graph_, text_of(to), 0), nullptr, 1), attributes);
  }
  std::string text() {
    std::string text;
    agwrite(graph_, &text);
    return text;
  }

 private:
  static void set(void* object, const DotAttributes& attributes) {
    std::string none;
    for (const DotAttribute& attribute : attributes) {
      agsafeset(object, text_of(attribute.name), text_of(attribute.value), text_of(none));
    }
  }
  Agiodisc_t into_string_ = {nullptr, append_text, nothing_to_flush};
  Agdisc_t all_ = {&AgMemDisc, &AgIdDisc, &into_string_};
  Agraph_t* graph_;
};

const std::vector<std::string> kTexts = {
    "",          "a",      "A_1",      "node",     "Node", "GRAPH", "subgraph", "nodes", "1",
    "-1",        "1.5",    ".5",       "-.5",      "5.",   "1.2.3", "5-3",      "--",    "-",
    ".",         "1a",     "a.b",      "a-b",      "a b",  "a\"b",  "\"",       "\\N",   "x\\ly",
    "\xCE\xBBx", "#12abc", "<b>",      "a,b",      "0x1",  "1e5",   "strict",   "edge ", "a:b",
    "box",       "filled", "\xC3\xA9", "legend:0", "%",    "a;b",   "[x]",      "{x}",   "&lt;"};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return random_() % count; }
  const std::string& text() { return kTexts[below(kTexts.size())]; }
  // May name an attribute twice.
  DotAttributes attributes(std::size_t most) {
    static constexpr const char* kNames[] = {"label", "color", "style", "shape", "fontsize", "x"};
    DotAttributes all;
    for (std::size_t i = below(most + 1); i > 0; --i) all.push_back({kNames[below(6)], text()});
    return all;
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a drawing's text is what cgraph writes") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Maker make(seed);
    const std::string name = make.below(2) == 0 ? "g" : "a model";
    DotGraph drawing(name);
    Reference reference(name);
    const DotAttributes of_graph = make.attributes(3), of_nodes = make.attributes(4),
                        of_edges = make.attributes(2);
    drawing.set_graph(of_graph);
    reference.declare(AGRAPH, of_graph);
    drawing.set_node_defaults(of_nodes);
    reference.declare(AGNODE, of_nodes);
    drawing.set_edge_defaults(of_edges);
    reference.declare(AGEDGE, of_edges);
    std::vector<std::string> ids;
    for (std::size_t i = make.below(12); i > 0; --i) {
      // cgraph treats a name that begins with '%' as its own, and an empty one as missing.
      const std::string id = make.below(3) == 0 ? "n" + std::to_string(i) : "n" + make.text();
      const DotAttributes attributes = make.attributes(4);
      drawing.add_node(id, attributes);
      reference.add_node(id, attributes);
      ids.push_back(id);
    }
    for (std::size_t i = ids.empty() ? 0 : make.below(20); i > 0; --i) {
      const std::string &from = ids[make.below(ids.size())], &to = ids[make.below(ids.size())];
      const DotAttributes attributes = make.attributes(2);
      drawing.add_edge(from, to, attributes);
      reference.add_edge(from, to, attributes);
    }
    INFO("seed " << seed);
    REQUIRE(drawing.text() == reference.text());
  }
}

TEST_CASE("ids of every kind are quoted as cgraph quotes them") {
  for (const std::string& id : kTexts) {
    if (id.empty() || id.starts_with('%')) continue;
    DotGraph drawing(id);
    Reference reference(id);
    drawing.add_node(id, {{"label", id}});
    reference.add_node(id, {{"label", id}});
    CHECK(drawing.text() == reference.text());
  }
}

TEST_CASE("a number that Graphviz could not read again is quoted") {
  DotGraph drawing("g");
  drawing.add_node("n", {{"label", "-."}});
  CHECK(drawing.text().find("label=\"-.\"") != std::string::npos);
}

TEST_CASE("clusters come after nodes and edges, and list bare ids") {
  DotGraph drawing("g");
  drawing.add_node("a", {{"label", "x"}});
  drawing.add_node("b c", {});
  drawing.add_cluster({{"label", "say \"x\""}}, {"a", "b c"});
  CHECK(drawing.text() ==
        "digraph g {\n\tgraph [linelength=0];\n\ta\t[label=x];\n\t\"b c\";\n"
        "\tsubgraph cluster_0 { label=\"say \\\"x\\\"\";\n\t\t\"a\"; \"b c\"; \n\t}\n}\n");
}

// A chain; each node reads a parameter of its own behind a cast, and what is two nodes before it.
TEST_CASE("a parameter stands beside what reads it: its edge is not taken for a long one") {
  constexpr int kNodes = 100;
  DotGraph drawing("g");
  for (int i = 0; i < kNodes; ++i) {
    const std::string number = std::to_string(i);
    for (const char* kind : {"n", "p", "c"}) drawing.add_node(kind + number, {});
  }
  for (int i = 0; i < kNodes; ++i) {
    const std::string number = std::to_string(i);
    drawing.add_edge("p" + number, "c" + number, {});
    drawing.add_edge("c" + number, "n" + number, {});
    if (i > 0) drawing.add_edge("n" + std::to_string(i - 1), "n" + number, {});
    if (i > 1) drawing.add_edge("n" + std::to_string(i - 2), "n" + number, {});
  }
  CHECK(drawing.leave_out_long_edges(5 * kNodes) == 0);
  CHECK(drawing.leave_out_long_edges(5 * kNodes - 20) == 8);  // the sum is 495
}

namespace cleave {

// ---- node heat test ----

namespace {

constexpr std::string_view kModel = R"(
  input x: float32[100,100]
  a: float32[100,100] = MatMul(x, x)
  b: float32[100,100] = Relu(a)
  c: float32[?,100] = Mystery(b)
  output b, c
)";

TEST_CASE("nodes are classed by their share of the total, unknown ones apart") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Report report = made.report();
  const HeatMap heat = make_heat(report, ColorBy::flops);
  const Graph& graph = made.model.graph;
  CHECK(heat.total == 2e6 + 1e4);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "a")]) == 0);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "b")]) == 3);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "c")]) == kHeatClasses - 1);
  CHECK(heat_text(heat, 2e6) == "2 MFLOP");  // c may have more
  CHECK(heat_text(heat, -1) == "FLOPs not known");
  CHECK(heat_class_name(heat, 0) == "over 10% of the known FLOPs");
  const std::vector<NodeId> both = {node_named(graph, "b"), node_named(graph, "c")};
  CHECK(heat_of(heat, both) == 1e4);
  CHECK(heat_text(heat, both) == "10 kFLOP+");
}

TEST_CASE("shares are given when all amounts are known") {
  const ReportCase made = make_report_case(R"(
    input x: float32[100,100]
    a: float32[100,100] = MatMul(x, x)
    b: float32[100,100] = Relu(a)
    output b
  )",
                                           "MatMul\n");
  const HeatMap heat = make_heat(made.report(), ColorBy::flops);
  CHECK(heat_text(heat, 2e6) == "2 MFLOP, 99.5% of the FLOPs");
  CHECK(heat_class_name(heat, 0) == "over 10% of the FLOPs");
}

TEST_CASE("a drawing by FLOPs has their legend in place of that of support") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Report report = made.report();
  const HeatMap heat = make_heat(report, ColorBy::flops);
  for (const std::string& drawing :
       {draw_support(report, 100, &heat), draw_support(report, 1, &heat),
        draw_preview(report, &heat), draw_part(report, PartId{0}, 100, &heat)}) {
    CHECK(drawing.find("over 10% of the known FLOPs") != std::string::npos);
    CHECK(drawing.find("unsupported\"") == std::string::npos);
    CHECK(drawing.find("#b2182b") != std::string::npos);
  }
}

TEST_CASE("without times no node's time is known") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const HeatMap heat = make_heat(made.report(), ColorBy::time);
  CHECK(heat.total == 0);
  CHECK(heat_class(heat, heat.amounts[NodeId{0}]) == kHeatClasses - 1);
}

TEST_CASE("a class begins at its least share, and shares below all are the last") {
  HeatMap heat{.by = ColorBy::bytes, .amounts = {}, .total = 1000};
  CHECK(heat_class(heat, 100) == 0);
  CHECK(heat_class(heat, 99.9) == 1);
  CHECK(heat_class(heat, 30) == 1);
  CHECK(heat_class(heat, 29.9) == 2);
  CHECK(heat_class(heat, 10) == 2);
  CHECK(heat_class(heat, 9.9) == 3);
  CHECK(heat_class(heat, 3) == 3);
  CHECK(heat_class(heat, 2.9) == 4);
  CHECK(heat_class(heat, 0) == 4);
  CHECK(heat_class(heat, -1) == 5);
  heat.total = 0;
  CHECK(heat_class(heat, 0) == 4);
  CHECK(heat_text(heat, 0) == "0 B, 0% of the bytes");
  std::string names;
  for (std::size_t i = 0; i < kHeatClasses; ++i) names += heat_class_name(heat, i) + "; ";
  CHECK(names == "over 10% of the bytes; 3% to 10%; 1% to 3%; 0.3% to 1%; less; bytes not known; ");
  heat.by = ColorBy::time;
  CHECK(heat_text(heat, 5) == "5 us, 0% of the time");
}

TEST_CASE("several nodes have the sum of what is known, and nothing where nothing is") {
  HeatMap heat{.by = ColorBy::bytes, .amounts = PerNode<double>(4, -1), .total = 30};
  heat.amounts[NodeId{0}] = 10;
  heat.amounts[NodeId{1}] = 20;
  heat.amounts[NodeId{2}] = 0;
  const auto of = [&](std::vector<NodeId> nodes) { return heat_of(heat, nodes); };
  CHECK(of({NodeId{0}, NodeId{1}}) == 30);
  CHECK(of({NodeId{0}, NodeId{3}}) == 10);
  CHECK(of({NodeId{2}}) == 0);
  CHECK(of({NodeId{2}, NodeId{3}}) == -1);
  CHECK(of({NodeId{3}}) == -1);
  CHECK(heat_text(heat, std::vector<NodeId>{NodeId{3}}) == "bytes not known");
  CHECK(heat_text(heat, std::vector<NodeId>{NodeId{0}}) == "10 B, 33.3% of the bytes");
}

}  // namespace

}  // namespace cleave
