#include "core/graph/graph_builder.h"

#include <algorithm>
#include <array>
#include <random>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// Each fault's message, then its notes, then the line that it points at.
std::string faults(std::string_view text) {
  const auto built = build_from_text(text);
  if (built) return "";
  std::string result;
  for (const GraphFault& fault : built.error()) {
    result += fault.message + '\n';
    for (const std::string& note : fault.notes) result += "  " + note + '\n';
    result += "  at: " + std::string(text.substr(fault.where.offset, fault.where.length)) + '\n';
  }
  return result;
}

std::string order(const Graph& graph) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  return names_of(graph, nodes);
}

TEST_CASE("A node of interned names is that of the names, with the attributes of an earlier node") {
  GraphBuilder builder;
  const ValueHandle x = builder.add_input({.name = "x"}, {});
  const NodeHandle first = builder.add_node({.name = "a", .op = "f", .scope = "s"});
  builder.add_operand(x, OperandSlot::positional(0));
  const ValueHandle y = builder.add_output({.name = "y"}, 0);
  const std::array<std::int64_t, 2> sizes = {3, 5};
  builder.add_attribute(builder.intern("sizes"), sizes, AttributeType::integers);
  builder.add_opaque_attribute(builder.intern("body"));
  const NameId op = builder.intern("f"), scope = builder.intern("s");
  builder.add_node(InternedNode{.name = "b", .op = op, .scope = scope});
  builder.add_operand(y, OperandSlot::positional(0));
  builder.add_graph_output(builder.add_output({.name = "z"}, 0), {});
  builder.add_attributes_of(first);
  const auto graph = builder.finish();
  REQUIRE(graph);
  const NodeId a{0}, b{1};
  CHECK(graph->op(b) == "f");
  CHECK(graph->domain(b).empty());
  CHECK(graph->node(b).scope == graph->node(a).scope);
  CHECK(graph->text(graph->node(b).scope) == "s");
  REQUIRE(graph->attributes(b).size() == 2);
  CHECK(graph->text(graph->attributes(b)[1].name) == "body");
  const auto values = graph->attribute_pools().integers_of(graph->attributes(b)[0]);
  CHECK(std::vector<std::int64_t>(values.begin(), values.end()) == std::vector<std::int64_t>{3, 5});
  CHECK(values.data() == graph->attribute_pools().integers_of(graph->attributes(a)[0]).data());
}

// ---- order ----

TEST_CASE("Nodes that are in order keep it") {
  CHECK(order(graph_from_text("input x\nb = f(x)\na = f(x)\nc = f(b)\noutput c")) == "b a c");
}

TEST_CASE("A node that reads a later node's value moves after it; the others keep their order") {
  CHECK(order(graph_from_text("input x\na = f(d)\nb = f(x)\nc = f(a)\nd = f(b)\noutput c")) ==
        "b d a c");
}

TEST_CASE("Forward references reach lists, keywords and captures") {
  CHECK(order(graph_from_text("a = f([b], k=c, ^d)\nb = f()\nc = f()\nd = f()\noutput a")) ==
        "b c d a");
}

TEST_CASE("The builder says whether nodes were in order") {
  for (const bool in_order : {true, false}) {
    GraphBuilder builder;
    const ValueHandle read = builder.value_named("a");
    for (const char* name : {in_order ? "a" : "b", in_order ? "b" : "a"}) {
      NodeDecl decl;
      decl.name = name;
      builder.add_node(decl);
      ValueDecl made;
      made.name = name;
      builder.add_output(made, 0);
      if (std::string_view(name) == "b") {
        builder.add_operand(read, OperandSlot::positional(0));
      }
    }
    REQUIRE(builder.finish().has_value());
    CHECK(builder.was_sorted() == in_order);
    CHECK(builder.node_ids()[0] == (in_order ? NodeId{0} : NodeId{1}));
    CHECK(builder.value_ids()[index(read)] == ValueId{0});
  }
}

TEST_CASE("Records follow their node when nodes are sorted") {
  const Graph graph = graph_from_text(R"(
    input x
    param w
    b = g(a, k=x) {mode="late", n=[1,2]} !w
    a, a2: scalar = f(x) {alpha=0.5}
    output b)");
  REQUIRE(order(graph) == "a b");
  const NodeId a = node_named(graph, "a"), b = node_named(graph, "b");
  CHECK(graph.op(a) == "f");
  CHECK(graph.op(b) == "g");
  CHECK(graph.operands(b).size() == 2);
  CHECK(graph.value(graph.operands(b)[0].value).name == "a");
  CHECK(graph.text(graph.operands(b)[1].slot.name()) == "k");
  CHECK(graph.outputs(a).size() == 2);
  CHECK(graph.value(value_named(graph, "a2")).slot == 1);
  CHECK(graph.value(value_named(graph, "a2")).producer == a);
  CHECK(graph.attributes(a).size() == 1);
  CHECK(graph.attributes(b).size() == 2);
  CHECK(graph.module_parameters(a).empty());
  CHECK(names_of(graph, graph.module_parameters(b)) == "w");
}

TEST_CASE("Sorting any shuffled graph gives the first of the ready nodes each time") {
  std::mt19937 rng(3);
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 1 + rng() % 12;
    std::vector<std::vector<std::size_t>> reads(count);
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t k = rng() % 3; k > 0; --k) reads[i].push_back(rng() % i);
    }
    std::vector<std::size_t> in_file(count);
    for (std::size_t i = 0; i < count; ++i) in_file[i] = i;
    std::shuffle(in_file.begin(), in_file.end(), rng);
    std::string text;
    for (const std::size_t i : in_file) {
      text += "n" + std::to_string(i) + " = f(_";
      for (const std::size_t from : reads[i]) text += ", n" + std::to_string(from);
      text += ")\n";
    }
    INFO(text);
    std::vector<std::size_t> done;
    while (done.size() < count) {
      for (const std::size_t i : in_file) {
        const auto is_done = [&](std::size_t n) { return std::count(done.begin(), done.end(), n); };
        if (is_done(i) || !std::all_of(reads[i].begin(), reads[i].end(), is_done)) continue;
        done.push_back(i);
        break;
      }
    }
    std::string expected;
    for (const std::size_t i : done)
      expected += (expected.empty() ? "n" : " n") + std::to_string(i);
    REQUIRE(order(graph_from_text(text)) == expected);
  }
}

// ---- what is refused ----

TEST_CASE("A value that no node produces is refused, with the nearest name") {
  CHECK(faults("input x7\nconv1 = f(x8)\noutput conv1") ==
        "node \"conv1\" reads \"x8\", which nothing produces\n"
        "  did you mean \"x7\"?\n"
        "  at: conv1 = f(x8)\n");
}

TEST_CASE("A value without a near name is refused without one") {
  CHECK(faults("input x\na = f(elsewhere)\noutput a") ==
        "node \"a\" reads \"elsewhere\", which nothing produces\n"
        "  at: a = f(elsewhere)\n");
}

TEST_CASE("Graph outputs, module parameters and aliases of unknown values are refused") {
  CHECK(faults("input x\noutput yonder") ==
        "the graph's output reads \"yonder\", which nothing produces\n  at: output yonder\n");
  CHECK(faults("input x\na = f(x) !weight\noutput a") ==
        "node \"a\" reads \"weight\", which nothing produces\n  at: a = f(x) !weight\n");
  CHECK(faults("param bias = weight\n") ==
        "parameter \"bias\" reads \"weight\", which nothing produces\n"
        "  at: param bias = weight\n");
}

TEST_CASE("A value made twice is refused, whatever makes it") {
  const std::string message = "value \"x\" is made twice: names of values must be unique\n";
  CHECK(faults("input x\ninput x") == message + "  at: input x\n");
  CHECK(faults("input x\nparam x") == message + "  at: param x\n");
  CHECK(faults("input x\nn@ x = f()") == message + "  at: n@ x = f()\n");
  CHECK(faults("input x\nconst n@ x = f()") == message + "  at: const n@ x = f()\n");
  CHECK(faults("a, a = f()") ==
        "value \"a\" is made twice: names of values must be unique\n  at: a, a = f()\n");
}

TEST_CASE("Two nodes of one name are refused, also if one is a constant") {
  const std::string message = "two nodes are called \"n\": names of nodes must be unique\n";
  CHECK(faults("n@ a = f()\nn@ b = f()") == message + "  at: n@ b = f()\n");
  CHECK(faults("n@ a = f()\nconst n@ b = f()") == message + "  at: const n@ b = f()\n");
}

TEST_CASE("A node may have the name of another node's value") {
  CHECK(faults("a@ b = f()\nb@ a = f(b)\noutput a").empty());
}

TEST_CASE("Empty names are refused") {
  GraphBuilder builder;
  builder.add_input({}, {.offset = 1, .length = 2});
  builder.add_node({.name = "", .op = "f", .source = {.offset = 5, .length = 7}});
  const auto built = builder.finish();
  REQUIRE(!built.has_value());
  REQUIRE(built.error().size() == 2);
  CHECK(built.error()[0].message == "a value has an empty name");
  CHECK(built.error()[0].where == SourceSpan{1, 2});
  CHECK(built.error()[1].message == "a node has an empty name");
  CHECK(built.error()[1].kind == GraphFault::Kind::empty_name);
  CHECK(built.error()[1].where == SourceSpan{5, 7});
}

TEST_CASE("A cycle is refused with its path, one edge per line") {
  CHECK(faults("input x\na = f(x, c)\nb, b2 = f(a)\nc = f(b2)\nd = f(c)\noutput d") ==
        "the nodes form a cycle: \"a\" -> \"b\" -> \"c\" -> \"a\"\n"
        "  \"a\" makes \"a\", which \"b\" reads\n"
        "  \"b\" makes \"b2\", which \"c\" reads\n"
        "  \"c\" makes \"c\", which \"a\" reads\n"
        "  at: a = f(x, c)\n");
}

TEST_CASE("A node that reads itself is a cycle") {
  CHECK(faults("a = f(a)\noutput a") ==
        "the nodes form a cycle: \"a\" -> \"a\"\n"
        "  \"a\" makes \"a\", which \"a\" reads\n"
        "  at: a = f(a)\n");
}

TEST_CASE("A long cycle is cut short") {
  std::string text = "n0 = f(n199)\n";
  for (int i = 1; i < 200; ++i) {
    text += "n" + std::to_string(i) + " = f(n" + std::to_string(i - 1) + ")\n";
  }
  const auto built = build_from_text(text);
  REQUIRE(!built.has_value());
  const GraphFault& fault = built.error().front();
  CHECK(fault.message ==
        "the nodes form a cycle: \"n0\" -> \"n1\" -> \"n2\" -> \"n3\" -> \"n4\" -> \"n5\" -> "
        "\"n6\" -> \"n7\" -> ... -> \"n0\"");
  CHECK(fault.notes.size() == 101);
  CHECK(fault.notes.back() == "... 100 more edges");
}

TEST_CASE("A cycle among constants is refused too") {
  CHECK(faults("const a = f(b)\nconst b = f(a)\n").substr(0, 24) == "the nodes form a cycle: ");
}

TEST_CASE("Faults are reported in the order of their places, 20 at most") {
  CHECK(faults("a = f(gone)\ninput x\nb = f(lost)\ninput x\noutput none") ==
        "node \"a\" reads \"gone\", which nothing produces\n  at: a = f(gone)\n"
        "node \"b\" reads \"lost\", which nothing produces\n  at: b = f(lost)\n"
        "value \"x\" is made twice: names of values must be unique\n  at: input x\n"
        "the graph's output reads \"none\", which nothing produces\n  at: output none\n");
  std::string text;
  for (int i = 0; i < 30; ++i) {
    text += "n" + std::to_string(i) + " = f(missing" + std::to_string(i) + ")\n";
  }
  CHECK(build_from_text(text).error().size() == 20);
}

// ---- numbering ----

TEST_CASE("Values are numbered: inputs, parameters, outputs of constants, of nodes") {
  const Graph graph = graph_from_text(R"(
    a = f(x, c)
    param w
    const c = g(w)
    input x
    output a)");
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) values.push_back(id_at<ValueId>(i));
  CHECK(names_of(graph, values) == "x w c a");
  CHECK(graph.inputs().size() == 1);
  CHECK(graph.parameters().size() == 2);
  CHECK(graph.is_parameter(value_named(graph, "c")));
  CHECK(graph.value(value_named(graph, "c")).producer == node_named(graph, "c"));
  CHECK(graph.value(value_named(graph, "w")).producer == kNone<NodeId>);
}

TEST_CASE("Constants come after the nodes, in their own topological order") {
  const Graph graph = graph_from_text(R"(
    input x
    param w
    const d = f(c)
    a = f(x, d)
    const c = f(w)
    output a)");
  CHECK(graph.node_count() == 1);
  REQUIRE(graph.constants().size() == 2);
  CHECK(graph.node(graph.constants()[0]).name == "c");
  CHECK(graph.node(graph.constants()[1]).name == "d");
  CHECK(graph.users(value_named(graph, "c")).empty());  // constants are no users
  CHECK(names_of(graph, graph.users(value_named(graph, "d"))) == "a");
}

TEST_CASE("Nodes of bodies belong to the node that owns them, also after sorting") {
  const Graph graph = graph_from_text(R"(
    input x
    i = If(b, ^x)
    | h = relu(x)
    | k = neg(h)
    b = g(x)
    l = Loop(i)
    | input t
    | h = abs(t)
    const c = f()
    output l)");
  REQUIRE(order(graph) == "b i l");
  const auto body = graph.body_nodes(node_named(graph, "i"));
  REQUIRE(body.size() == 2);
  CHECK(graph.op(body[0]) == "relu");
  CHECK(graph.op(body[1]) == "neg");
  CHECK(graph.value(graph.operands(body[0])[0].value).kind == ValueKind::input);
  CHECK(graph.value(graph.operands(body[1])[0].value).kind == ValueKind::body_local);
  CHECK(graph.value(graph.operands(body[1])[0].value).producer == body[0]);
  REQUIRE(graph.body_nodes(node_named(graph, "l")).size() == 1);
  CHECK(graph.op(graph.body_nodes(node_named(graph, "l"))[0]) == "abs");
  CHECK(graph.body_nodes(node_named(graph, "b")).empty());
  CHECK(names_of(graph, graph.users(value_named(graph, "x"))) == "b i");
}

// ---- users, outputs, aliases, shapes, names ----

TEST_CASE("Users of a value are the nodes that read it, each once, in model order") {
  const Graph graph = graph_from_text(R"(
    input x
    a, b = f(x)
    c = f(a, a, [a], k=a, ^a)
    d = f(b, a)
    output d, a, a)");
  CHECK(names_of(graph, graph.users(value_named(graph, "a"))) == "c d");
  CHECK(names_of(graph, graph.users(value_named(graph, "b"))) == "d");
  CHECK(names_of(graph, graph.readers(node_named(graph, "a"))) == "c d d");
  CHECK(graph.edge_count() == 4);
}

TEST_CASE("Graph outputs are in the given order, and may repeat") {
  const Graph graph = graph_from_text("input x\na = f(x)\nb = f(a)\noutput b, x, b");
  CHECK(names_of(graph, graph.outputs()) == "b x b");
  CHECK(graph.is_graph_output(value_named(graph, "x")));
  CHECK(!graph.is_graph_output(value_named(graph, "a")));
}

TEST_CASE("An alias is resolved to its parameter, through chains") {
  const Graph graph = graph_from_text("param a = b\nparam b = c\nparam c\nparam d = b\nparam e");
  for (const char* name : {"a", "b", "c", "d"}) {
    CHECK(graph.canonical_parameter(value_named(graph, name)) == value_named(graph, "c"));
  }
  CHECK(graph.canonical_parameter(value_named(graph, "e")) == value_named(graph, "e"));
}

TEST_CASE("A cycle of aliases is resolved to one of them") {
  const Graph graph =
      graph_from_text("param a = b\nparam b = c\nparam c = a\nparam d = c\nparam e = e");
  const ValueId canonical = graph.canonical_parameter(value_named(graph, "a"));
  for (const char* name : {"a", "b", "c", "d"}) {
    CHECK(graph.canonical_parameter(value_named(graph, name)) == canonical);
  }
  CHECK(canonical == value_named(graph, "a"));
  CHECK(graph.canonical_parameter(value_named(graph, "e")) == value_named(graph, "e"));
}

TEST_CASE("Equal shapes are stored once, and a scalar's shape is not an unknown one") {
  GraphBuilder builder;
  const std::array dims = {Dim::fixed(2), Dim(), Dim::symbol(builder.intern("n"))};
  const std::array others = {Dim::fixed(2), Dim(), Dim::symbol(builder.intern("m"))};
  CHECK(builder.intern_shape(dims) == builder.intern_shape(dims));
  CHECK(builder.intern_shape(dims) != builder.intern_shape(others));
  CHECK(builder.intern_shape({}) == builder.intern_shape({}));
  const Graph graph = graph_from_text("input s: float32[]\ninput u: float32\noutput s");
  CHECK(graph.has_rank(value_named(graph, "s")));
  CHECK(graph.shape(value_named(graph, "s")).empty());
  CHECK(!graph.has_rank(value_named(graph, "u")));
}

TEST_CASE("Interned names are found again") {
  const Graph graph = graph_from_text("input x\na = ml::Conv(x)\noutput a");
  CHECK(graph.op(node_named(graph, "a")) == "Conv");
  CHECK(graph.domain(node_named(graph, "a")) == "ml");
  CHECK(graph.text(graph.find_name("Conv")) == "Conv");
  CHECK(graph.find_name("Relu") == kNone<NameId>);
}

TEST_CASE("Kept text lives as long as the graph") {
  std::string text = "a name that goes away, too long for a short string";
  GraphBuilder builder;
  builder.set_name(builder.keep(text));
  text.assign(text.size(), '-');
  CHECK(builder.finish()->name() == "a name that goes away, too long for a short string");
}

TEST_CASE("Values are numbered correctly in whatever order they were first named") {
  // Handles form cycles of several lengths: p, q and x come after what reads them.
  const Graph graph = graph_from_text(
      "c = f(b, p)\nb = f(a, x)\nd = f(c, q, b)\na = f(p)\nparam p\ninput x\nparam q\noutput d");
  std::string values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(id_at<ValueId>(i));
    values += std::string(value.name);
    if (value.producer != kNone<NodeId>)
      values += '=' + std::string(graph.node(value.producer).name);
    values += ' ';
  }
  CHECK(values == "x p q a=a b=b c=c d=d ");
}

TEST_CASE("A wrong guess when reserving memory does not change the graph") {
  for (const double times : {0.5, 1.0, 3.0}) {
    GraphBuilder builder;
    builder.expect_times(times);
    for (int i = 0; i < 100; ++i) {
      const std::string_view name = builder.keep("n" + std::to_string(i));
      NodeDecl decl;
      decl.name = name;
      builder.add_node(decl);
      ValueDecl made;
      made.name = name;
      if (i > 0) {
        const ValueHandle read = builder.value_named("n" + std::to_string(i - 1));
        builder.add_operand(read, OperandSlot::positional(0));
      }
      builder.add_output(made, 0);
      if (i == 20) builder.expect_times(times);
    }
    const auto graph = builder.finish();
    REQUIRE(graph);
    CHECK(graph->node_count() == 100);
    CHECK(graph->value_count() == 100);
    CHECK(graph->edge_count() == 99);
    CHECK(graph->node(NodeId{99}).name == "n99");
    CHECK(graph->value(graph->operands(NodeId{99})[0].value).name == "n98");
  }
}

TEST_CASE("An empty graph is a graph") {
  const Graph graph = graph_from_text("");
  CHECK(graph.node_count() == 0);
  CHECK(graph.value_count() == 0);
  CHECK(graph.outputs().empty());
}

TEST_CASE("Attributes keep their types and values") {
  const Graph graph = graph_from_text(
      R"(a = f() {i=3, r=1.5, s="text", li=[1,-2], lr=[0.5,2.5], ls=["p","q"], body})");
  const AttributePools& pools = graph.attribute_pools();
  const auto attributes = graph.attributes(node_named(graph, "a"));
  REQUIRE(attributes.size() == 7);
  CHECK(attributes[0].type == AttributeType::integer);
  CHECK(pools.integers_of(attributes[0])[0] == 3);
  CHECK(attributes[1].type == AttributeType::real);
  CHECK(pools.reals_of(attributes[1])[0] == 1.5);
  CHECK(attributes[2].type == AttributeType::string);
  CHECK(pools.strings_of(attributes[2])[0] == "text");
  CHECK(attributes[3].type == AttributeType::integers);
  CHECK(pools.integers_of(attributes[3])[1] == -2);
  CHECK(attributes[4].type == AttributeType::reals);
  CHECK(pools.reals_of(attributes[4]).size() == 2);
  CHECK(attributes[5].type == AttributeType::strings);
  CHECK(pools.strings_of(attributes[5])[1] == "q");
  CHECK(attributes[6].type == AttributeType::opaque);
  CHECK(graph.text(attributes[6].name) == "body");
}

}  // namespace

}  // namespace cleave
