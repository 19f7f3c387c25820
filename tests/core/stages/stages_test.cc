#include "core/stages/stages.h"

#include "core/graph/graph_builder.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

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

}  // namespace
}  // namespace cleave
