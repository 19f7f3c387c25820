// DotGraph writes the same text as Graphviz's own library for the same drawing.
#include "formats/report/drawings/dot_graph.h"

#include <graphviz/cgraph.h>

#include <random>
#include <string>
#include <vector>

#include "tests/catch2.h"

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
