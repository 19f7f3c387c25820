#include "core/stages/stages.h"

#include <map>
#include <random>

#include "core/graph/graph_builder.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// "first-last" of each call.
std::string calls_of(std::string_view text, std::string_view scope) {
  const Graph graph = graph_from_text(text);
  std::string found;
  for (const ScopeCall& call : find_calls(graph, scope)) {
    found += (found.empty() ? "" : " ") + std::string(graph.node(call.first).name) + "-" +
             std::string(graph.node(call.last).name);
  }
  return found;
}

TEST_CASE("A scope is inside the scopes that begin its path") {
  CHECK(is_inside("enc.layer.0", "enc.layer"));
  CHECK(is_inside("enc", "enc"));
  CHECK(is_inside("enc", ""));
  CHECK(!is_inside("encoder", "enc"));
  CHECK(!is_inside("enc", "enc.layer"));
  CHECK(!is_inside("", "enc"));
  CHECK(child_of("enc.layer.0.attn", "enc.layer") == "0");
  CHECK(child_of("enc.layer", "enc.layer").empty());
  CHECK(child_of("enc.layer", "") == "enc");
}

TEST_CASE("Call numbers are not part of a scope's name unless they are asked for") {
  CHECK(is_inside("enc@1.layer", "enc"));
  CHECK(is_inside("enc@1.layer", "enc@1"));
  CHECK(!is_inside("enc@2.layer", "enc@1"));
  CHECK(!is_inside("enc@x", "enc"));
  CHECK(child_of("enc@1.layer.0", "enc") == "layer");
}

TEST_CASE("Data that leaves a scope and comes back begins a new call") {
  const char* const model =
      "input x\nscope l\n a = f(x)\n b = f(a)\nscope\n c = f(b)\nscope l\n d = f(c)\n output d";
  CHECK(calls_of(model, "l") == "a-b d-d");
  CHECK(calls_of(model, "") == "a-d");
  CHECK(calls_of(model, "m").empty());
}

TEST_CASE("A node of another scope between them does not divide a call") {
  CHECK(calls_of("input x\nscope l\n a = f(x)\nscope\n s = size(x)\n t = g(a)\nscope l\n"
                 " b = f(a, s)\n output b, t",
                 "l") == "a-b");
}

// A chain of nodes n0, n1, ... that came from these scopes; "|" is a marker.
Graph chain(const std::vector<std::string_view>& scopes) {
  GraphBuilder builder;
  const auto input =
      builder.add_input({.name = "x", .type = ValueType::tensor, .dtype = DType::float32}, {});
  ValueHandle last = input;
  std::size_t count = 0, markers = 0;
  for (const std::string_view scope : scopes) {
    if (scope == "|") {
      const auto name = builder.keep("m" + std::to_string(markers++));
      builder.add_node({.name = name, .op = "torch.ops.pippy._pipe_split.default"});
      builder.add_output({.name = name, .type = ValueType::none}, 0);
      continue;
    }
    const auto name = builder.keep("n" + std::to_string(count++));
    builder.add_node({.name = name, .op = "f", .scope = scope});
    builder.add_operand(last, OperandSlot::positional(0));
    last =
        builder.add_output({.name = name, .type = ValueType::tensor, .dtype = DType::float32}, 0);
  }
  builder.add_graph_output(last, {});
  return std::move(builder.finish()).value();
}

// "n0 n1 | n2", with notes on separate lines; else the error and its notes.
std::string cut(const Graph& graph, const CutOptions& options) {
  const auto numbers = cut_stages(graph, options);
  std::string text;
  if (!numbers) {
    text = numbers.error().message;
    for (const std::string& note : numbers.error().notes) text += "\n" + note;
    return text;
  }
  const Partition stages = form_stages(graph, numbers->stage_of);
  CHECK(stages.devices.empty());
  for (const PartId stage : stages.parts()) {
    CHECK(stages.name(stage) == "submod_pp_" + std::to_string(index(stage)));
    text += (text.empty() ? "" : " | ") + names_of(graph, stages.nodes(stage));
  }
  for (const std::string& note : numbers->notes) text += "\n" + note;
  return text;
}

std::string cut_at(const std::vector<std::string_view>& scopes, std::string scope,
                   ScopeCut::Side side) {
  return cut(chain(scopes), {.at = {{std::move(scope), side}}, .between = {}});
}

constexpr auto kBegin = ScopeCut::Side::begin;
constexpr auto kEnd = ScopeCut::Side::end;

bool is_marker(std::string_view op) {
  const Graph graph = graph_from_text("input x\n a = " + std::string(op) + "(x)\n output x");
  return is_stage_marker(graph, NodeId{0});
}

TEST_CASE("A marker is pippy's pipe_split, however it is spelt") {
  for (const char* op : {"pippy._pipe_split", "torch.ops.pippy._pipe_split",
                         "pippy._pipe_split.default", "torch.ops.pippy._pipe_split.default",
                         "pippy.pipe_split", "pippy::_pipe_split", "_pipe_split", "pipe_split"}) {
    INFO(op);
    CHECK(is_marker(op));
  }
  for (const char* op : {"f", "pipe_splitter", "my_pipe_split", "torch.split", "other._pipe_split",
                         "other::_pipe_split", "pippy._pipe_split.out"}) {
    INFO(op);
    CHECK(!is_marker(op));
  }
}

TEST_CASE("Markers end stages and vanish") {
  const Graph graph = chain({"", "", "|", "", "|", ""});
  CHECK(cut(graph, {}) == "n0 n1 | n2 | n3");
  CHECK(has_stage_markers(graph));
  CHECK(!has_stage_markers(chain({""})));
}

TEST_CASE("Adjacent markers count once") {
  CHECK(cut(chain({"", "|", "|", "|", ""}), {}) == "n0 | n1");
}

TEST_CASE("Markers at the ends make no stage, with a note") {
  CHECK(cut(chain({"|", "", "|", "", "|"}), {}) ==
        "n0 | n1\na cut before the first node makes no stage\n"
        "a cut after the last node makes no stage");
}

TEST_CASE("A model of markers alone has no stages") {
  const Graph graph = graph_from_text("input x\n m: none = pippy::_pipe_split(_)\n output x");
  CHECK(cut(graph, {}).empty());
}

TEST_CASE("A marker must make no value that is used") {
  CHECK(cut(graph_from_text("input x\n m = pippy::_pipe_split(x)\n a = f(m)\n output a"), {}) ==
        "the stage marker \"m\" must make no value that is used, but node \"a\" reads it");
  CHECK(cut(graph_from_text("input x\n m = pippy::_pipe_split(x)\n output m"), {}) ==
        "the stage marker \"m\" must make no value that is used, but the model returns it");
}

TEST_CASE("A scope is cut before its first node or after its last") {
  const std::vector<std::string_view> scopes = {"stem",  "enc.0",  "enc.0.att",
                                                "enc.1", "enc.10", "head"};
  CHECK(cut_at(scopes, "enc", kBegin) == "n0 | n1 n2 n3 n4 n5");
  CHECK(cut_at(scopes, "enc", kEnd) == "n0 n1 n2 n3 n4 | n5");
  CHECK(cut_at(scopes, "enc.0", kEnd) == "n0 n1 n2 | n3 n4 n5");
  CHECK(cut_at(scopes, "enc.1", kEnd) == "n0 n1 n2 n3 | n4 n5");
  CHECK(cut_at(scopes, "enc.0.att", kBegin) == "n0 n1 | n2 n3 n4 n5");
}

TEST_CASE("A scope is cut at each of its calls, or at one") {
  const Graph graph = graph_from_text(
      "input x\nscope l\n a = f(x)\nscope\n b = f(a)\nscope l\n c = f(b)\nscope\n d = f(c)\n"
      " output d");
  CHECK(cut(graph, {.at = {{"l", kEnd}}, .between = {}}) == "a | b c | d");
  CHECK(cut(graph, {.at = {{"l", kEnd, ScopeCut::Calls::first}}, .between = {}}) == "a | b c d");
  CHECK(cut(graph, {.at = {{"l", kEnd, ScopeCut::Calls::last}}, .between = {}}) == "a b c | d");
  CHECK(cut(graph, {.at = {{"l", kBegin, ScopeCut::Calls::last}}, .between = {}}) == "a b | c d");
}

TEST_CASE("Consecutive calls are distinguished by their numbers") {
  CHECK(cut_at({"l.in", "l@1.in", "l@2"}, "l", kEnd) ==
        "n0 | n1 | n2\na cut after the last node makes no stage");
}

TEST_CASE("A node is cut before or after itself") {
  const Graph graph = chain({"", "", ""});
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n1", kBegin}}}) == "n0 | n1 n2");
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n1", kEnd}, {"n0", kEnd}}}) == "n0 | n1 | n2");
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n3", kEnd}}}) ==
        "the model has no node \"n3\"\ndid you mean \"n0\"?");
}

TEST_CASE("Scopes and markers cut together; cuts at one place count once") {
  const Graph graph = chain({"a", "b", "|", "c", "d"});
  CHECK(cut(graph, {.at = {{"c", kBegin}, {"b", kEnd}, {"d", kBegin}}, .between = {}}) ==
        "n0 n1 | n2 | n3");
}

TEST_CASE("A cut by scope at an end of the model makes no stage, with a note") {
  CHECK(cut_at({"a", "b"}, "a", kBegin) == "n0 n1\na cut before the first node makes no stage");
  CHECK(cut_at({"a", "a"}, "a", kEnd) == "n0 n1\na cut after the last node makes no stage");
}

TEST_CASE("For an unknown scope the longest known part is named") {
  CHECK(cut_at({"enc.0.att", "enc.1.att"}, "enc.7.att", kBegin) ==
        "no node is in the scope \"enc.7\": \"enc\" is the longest known part of it\ndid you mean "
        "\"enc.0\"?");
  CHECK(cut_at({"encoder", "decoder"}, "encodr.x", kBegin) ==
        "no node is in the scope \"encodr\"\ndid you mean \"encoder\"?");
  CHECK(cut_at({"enc.self", "enc.cross"}, "enc.attention", kBegin) ==
        "no node is in the scope \"enc.attention\": \"enc\" is the longest known part of "
        "it\ninside \"enc\" there are: cross, self");
  CHECK(cut_at({"enc"}, "enc.0", kBegin) ==
        "no node is in the scope \"enc.0\": \"enc\" is the longest known part of it");
  CHECK(cut_at({"", ""}, "enc", kBegin) ==
        "no node is in the scope \"enc\"\nthe model's nodes have no scopes");
}

TEST_CASE("Each child of a scope becomes a stage") {
  const Graph graph = chain({"stem", "enc.0", "enc.0.a", "enc.1", "enc.2", "head"});
  CHECK(cut(graph, {.at = {}, .between = "enc"}) == "n0 n1 n2 | n3 | n4 n5");
  CHECK(cut(graph, {.at = {}, .between = ""}) == "n0 | n1 n2 n3 n4 | n5");
  CHECK(cut(graph, {.at = {}, .between = "stem"}) ==
        "the scope \"stem\" has no scope inside it to split between");
  CHECK(cut(graph, {.at = {}, .between = "enc.0"}) ==
        "the scope \"enc.0\" has only one scope inside it to split between");
  CHECK(cut(graph, {.at = {}, .between = "dec"}).starts_with("no node is in the scope \"dec\""));
}

TEST_CASE("A child that comes back later begins a stage only once") {
  CHECK(cut(chain({"s.a", "s.b", "s.a", "s.b"}), {.at = {}, .between = "s"}) == "n0 | n1 n2 n3");
}

TEST_CASE("A scope with every node is one stage") {
  CHECK(cut_at({"a", "a", "a"}, "a", kBegin) ==
        "n0 n1 n2\na cut before the first node makes no stage");
}

TEST_CASE("Stage numbers need not be dense") {
  const Graph graph = chain({"", "", ""});
  PerNode<std::uint32_t> stage_of(3);
  stage_of[NodeId{0}] = 2;
  stage_of[NodeId{1}] = 2;
  stage_of[NodeId{2}] = 7;
  const Partition stages = form_stages(graph, stage_of);
  CHECK(stages.names == std::vector<std::string>{"submod_pp_0", "submod_pp_1"});
  CHECK(names_of(graph, stages.nodes(PartId{0})) == "n0 n1");
}

// The stage of each node, as digits.
std::string sharded(std::string_view text, std::uint32_t stages) {
  const Graph graph = graph_from_text(text);
  const AutoShards shards = shard_by_parameters(graph, stages);
  std::string digits;
  for (const std::uint32_t stage : shards.stage_of) digits += std::to_string(stage);
  return digits;
}

TEST_CASE("A stage ends once it holds more than its share of the parameters") {
  CHECK(sharded(R"(
    input x
    param p: float32[3]
    param q: float32[3]
    param r: float32[3]
    param s: float32[3]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c) !s
    output d)",
                2) == "0001");
}

TEST_CASE("A stage that holds exactly its share takes more nodes") {
  CHECK(sharded("input x\n param p: float32[2]\n param q: float32[2]\n a = f(x) !p\n b = f(a)\n"
                "c = f(b) !q\n d = f(c)\n output d",
                2) == "0001");
}

TEST_CASE("A node that reads from an earlier stage joins it, with all nodes between") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    param r: float32[4]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c, a)
    e = f(d)
    output e)";
  CHECK(sharded(kText, 4) == "00001");
}

TEST_CASE("Inputs in lists, keywords and the item just before do not reach back") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    a = f(x) !p
    b = f(a, [x], k=x) !q
    c = f(b)
    output c)";
  CHECK(sharded(kText, 4) == "012");
}

TEST_CASE("A node that reads an input of the graph reaches back to the first stage") {
  CHECK(sharded("input x\n param p: float32[4]\n a = f(x) !p\n b = f(a)\n c = f(b, x)\n output c",
                4) == "000");
}

TEST_CASE("A parameter counts once under all its names, where it is first used") {
  constexpr const char* kText = R"(
    input x
    param w: float32[4]
    param v = w
    param u: float32[4]
    const k = Cast(u)
    a = f(x, w)
    b = f(a, v)
    c = f(b, k)
    d = f(c)
    output d)";
  const Graph graph = graph_from_text(kText);
  const AutoShards shards = shard_by_parameters(graph, 3);
  CHECK(shards.share == 2);
  CHECK(shards.count == 3);
  CHECK(shards.largest == 4);
  CHECK(sharded(kText, 3) == "0112");
}

TEST_CASE("Without parameters there is one stage, and without nodes none") {
  CHECK(sharded("input x\n a = f(x)\n b = f(a)\n output b", 4) == "00");
  CHECK(shard_by_parameters(graph_from_text("input x\n output x"), 4).count == 0);
}

// ---- the method again in the reference's form: quadratic ----

std::vector<std::uint32_t> plain_shards(const Graph& graph, std::uint32_t stages) {
  const std::size_t inputs = graph.inputs().size();
  std::uint64_t total = 0;
  for (const ValueId p : graph.parameters()) {
    if (graph.canonical_parameter(p) == p && graph.has_rank(p)) {
      total += element_count(graph.shape(p)).value_or(0);
    }
  }
  std::vector<std::uint32_t> shard(inputs, 0);  // by item
  std::vector<std::uint64_t> held(inputs, 0);
  ValueSet counted(graph.value_count());
  std::uint32_t current = 0;
  for (const NodeId node : graph.nodes()) {
    const std::size_t item = inputs + index(node);
    std::uint32_t least = current;
    std::size_t from = 0;
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
      if (value.kind == ValueKind::parameter) continue;
      const std::size_t at =
          value.kind == ValueKind::input ? index(operand.value) : inputs + index(value.producer);
      if (at + 1 == item || shard[at] >= least) continue;
      least = shard[at];
      from = at;
    }
    if (least < current) {
      for (std::size_t i = item; i-- > from;) shard[i] = least;
      current = least;
    }
    std::uint64_t own = 0;
    const auto count = [&](ValueId p) {
      if (!graph.is_parameter(p) || !counted.insert(graph.canonical_parameter(p))) return;
      if (graph.has_rank(p)) own += element_count(graph.shape(p)).value_or(0);
    };
    for (const ValueId p : graph.module_parameters(node)) count(p);
    for (const Operand& operand : graph.operands(node)) count(operand.value);
    shard.push_back(current);
    held.push_back(own);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= item; ++i) sum += shard[i] == current ? held[i] : 0;
    if (sum > total / stages) ++current;
  }
  return {shard.begin() + static_cast<std::ptrdiff_t>(inputs), shard.end()};
}

// A chain with shortcuts: most nodes own a parameter, some read further back, or an input.
std::string random_chain(std::mt19937& random) {
  std::string text = "input x\n input y\n";
  const std::size_t nodes = 1 + random() % 25;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "param p" + std::to_string(i) + ": float32[" + std::to_string(random() % 9) + "]\n";
    text += name + " = f(" + (i == 0 ? "x" : "n" + std::to_string(i - 1));
    if (i > 1 && random() % 10 == 0) text += ", n" + std::to_string(random() % i);
    if (random() % 64 == 0) text += ", y";
    if (i > 1 && random() % 4 == 0) text += ", [n" + std::to_string(random() % i) + "]";
    const std::size_t owned = random() % 8 == 0 ? random() % (i + 1) : i;
    text += random() % 5 == 0 ? ")\n" : ") !p" + std::to_string(owned) + "\n";
  }
  return text + "output n0";
}

TEST_CASE("Stages of random chains agree with a plain second implementation") {
  std::mt19937 random(20261121);
  std::map<std::uint32_t, int> counts;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_chain(random);
    INFO(text);
    const Graph graph = graph_from_text(text);
    const auto stages = static_cast<std::uint32_t>(1 + random() % 6);
    const AutoShards shards = shard_by_parameters(graph, stages);
    CHECK(std::vector<std::uint32_t>(shards.stage_of.begin(), shards.stage_of.end()) ==
          plain_shards(graph, stages));
    CHECK(shards.count <= stages);
    ++counts[shards.count];
  }
  CHECK(counts.size() >= 4);  // stages overfill: the last ones asked for are rarely reached
}

}  // namespace

}  // namespace cleave
