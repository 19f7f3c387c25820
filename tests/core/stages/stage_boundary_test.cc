#include "core/stages/stage_boundary.h"

#include <algorithm>

#include "core/stages/stages.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

// Each node is a part of its own.
std::string shared(std::string_view text) {
  const Graph graph = graph_from_text(text);
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    part_of[node] = PartId{index(node)};
    names.push_back("p" + std::to_string(index(node)));
  }
  std::vector<Device> devices(names.size(), Device::cpu);
  const Partition partition =
      make_partition(std::move(part_of), std::move(names), std::move(devices));
  std::string result;
  for (const auto& one : find_shared_parameters(graph, find_boundaries(graph, partition))) {
    result += std::string(graph.value(one.parameter).name) + ":";
    for (const auto& [part, name] : one.copies) {
      result += " " + partition.name(part) + "=" + std::string(graph.value(name).name);
    }
    result += "\n";
  }
  return result;
}

TEST_CASE("A parameter that one part holds is not shared") {
  CHECK(shared("input x\n param w\n a = f(x, w, w)\n b = f(a)\n output b").empty());
}

TEST_CASE("Parts that hold a parameter are in call order") {
  CHECK(
      shared(
          "input x\n param v\n param w\n a = f(x, w)\n b = f(a, v)\n c = f(b, w, v)\n output c") ==
      "v: p1=v p2=v\nw: p0=w p2=w\n");
}

TEST_CASE("Aliases are one parameter, and each part keeps its own name of it") {
  CHECK(shared("input x\n param w\n param v = w\n a = f(x, v)\n b = linear(a) !w\n output b") ==
        "w: p0=v p1=w\n");
}

struct Found {
  std::string stages, root;
  SkipCosts skips;
  std::string notes;  // or the error, with its notes
};

// Stages by digit, one a node.
Found find(std::string_view text, std::string_view digits, const StageBoundaryOptions& options) {
  const Graph graph = graph_from_text(text);
  PerNode<std::uint32_t> stage_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    stage_of[node] = static_cast<std::uint32_t>(digits[index(node)] - '0');
  }
  const Partition partition = form_stages(graph, stage_of);
  const auto found = find_stage_boundaries(graph, partition, options);
  if (!found) {
    std::string error = found.error().message;
    for (const std::string& note : found.error().notes) error += "\n" + note;
    return {.stages = {}, .root = {}, .skips = {}, .notes = error};
  }
  std::string notes;
  for (const std::string& note : found->notes) notes += (notes.empty() ? "" : "\n") + note;
  return {describe(graph, partition, found->stages), describe(graph, partition, found->root),
          found->skips, notes};
}

constexpr const char* kTied = R"(
  input x
  param w: float32[4,4]
  a = f(x, w)
  b = g(a)
  c = f(b, w, a)
  output c)";

TEST_CASE("A parameter that one stage uses is in that stage alone") {
  const Found found = find("input x\n param w\n a = f(x)\n b = f(a, w)\n output b", "01", {});
  CHECK(found.stages == "submod_pp_0(x) -> a\nsubmod_pp_1(a; w) -> b\n");
  CHECK(found.notes.empty());
}

TEST_CASE("A parameter that several stages use is replicated") {
  CHECK(find(kTied, "012", {}).stages ==
        "submod_pp_0(x; w) -> a\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b a; w) -> c\n");
}

TEST_CASE("A parameter is transmitted by the first stage that uses it, in order of use there") {
  const Found found = find(kTied, "012", {.sharing = Sharing::transmit, .sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b w a) -> c\n");
  CHECK(found.root == found.stages);
}

TEST_CASE("Relays pass on values and transmitted parameters; the root needs no relays") {
  const Found found =
      find(kTied, "012", {.sharing = Sharing::transmit, .sharing_of = {}, .relay = true});
  CHECK(found.stages ==
        "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a w) -> b a w\nsubmod_pp_2(b w a) -> c\n");
  CHECK(found.root == "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b w a) -> c\n");
}

TEST_CASE("The choice can be made by parameter, by any of its names") {
  constexpr const char* kText = R"(
    input x
    param w
    param v = w
    param u
    a = f(x, w, u)
    b = f(a, v, u)
    output b)";
  CHECK(find(kText, "01", {.sharing_of = {{"v", Sharing::transmit}}}).stages ==
        "submod_pp_0(x; w u v) -> a v\nsubmod_pp_1(a v; u) -> b\n");
  CHECK(find(kText, "01", {.sharing = Sharing::transmit, .sharing_of = {{"u", Sharing::replicate}}})
            .stages == "submod_pp_0(x; w u v) -> a v\nsubmod_pp_1(a v; u) -> b\n");
  CHECK(find(kText, "01", {.sharing_of = {{"weight", Sharing::transmit}}}).notes ==
        "the model has no parameter \"weight\"");
  CHECK(find("input x\n param fc.weight\n a = f(x, fc.weight)\n output a", "0",
             {.sharing_of = {{"fc.wieght", Sharing::transmit}}})
            .notes == "the model has no parameter \"fc.wieght\"\ndid you mean \"fc.weight\"?");
}

TEST_CASE("Parameters that a module owns or a constant reads are copied anyway, with a note") {
  constexpr const char* kText = R"(
    input x
    param w
    param v
    const k = Cast(v)
    a = linear(x, v) !w
    b = linear(a, k) !w
    output b)";
  const Found found = find(kText, "01", {.sharing = Sharing::transmit, .sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x; v w) -> a\nsubmod_pp_1(a; v w k) -> b\n");
  CHECK(found.notes ==
        "not transmitted everywhere, since a module or a constant of the stage needs a copy: "
        "parameters \"w\", \"v\"");
}

TEST_CASE("A parameter that no stage uses is left out with a note; one that is returned is not") {
  const Found found =
      find("input x\n param u\n param v\n param r\n a = f(x)\n output a, r", "0", {});
  CHECK(found.stages == "submod_pp_0(x) -> a\n");
  CHECK(found.notes == "left out, since no stage uses them: parameters \"u\", \"v\"");
}

TEST_CASE("Both ways of skipping stages are counted, whichever is taken") {
  constexpr const char* kText = R"(
    input x
    a: float32[10] = f(x)
    b = f(a)
    c = f(b, a)
    d = f(c, a)
    e = f(d, b)
    output e, a)";
  for (const bool relay : {false, true}) {
    const SkipCosts skips = find(kText, "01234", {.sharing_of = {}, .relay = relay}).skips;
    CHECK(skips.values == 2);
    CHECK(skips.direct_transfers == 3 + 2);  // a to 1, 2, 3; b to 2, 4
    CHECK(skips.relay_transfers == 3 + 3);
    CHECK(skips.direct_bytes == 3 * 40 + 2 * 16);
    CHECK(skips.relay_bytes == 3 * 40 + 3 * 16);
  }
  CHECK(find(kText, "00112", {.sharing_of = {}}).skips.values == 1);
}

TEST_CASE("A stage on the way takes a value in once, and the last reader does not give it") {
  CHECK(find("input x\n a = f(x)\n b = f(a)\n c = f(b)\n d = f(c, a)\n output d", "0123",
             {.sharing_of = {}, .relay = true})
            .stages ==
        "submod_pp_0(x) -> a\nsubmod_pp_1(a) -> b a\nsubmod_pp_2(b a) -> c a\n"
        "submod_pp_3(c a) -> d\n");
}

TEST_CASE("Stages of unconnected parts of a graph have no values between them") {
  const Found found =
      find("input x\n input y\n a = f(x)\n b = f(y)\n output a, b", "01", {.sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x) -> a\nsubmod_pp_1(y) -> b\n");
  CHECK(found.skips.values == 0);
}

// ---- invariants of any graph, cut anywhere ----

bool holds(std::span<const ValueId> values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Everything that a stage's nodes read is made there, held there, or an input.
void check_reads(const Graph& graph, const Partition& partition, const Boundaries& boundaries) {
  for (const NodeId node : graph.nodes()) {
    const PartId stage = partition.part_of[node];
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (value.kind == ValueKind::node_output && partition.part_of[value.producer] == stage) {
        continue;
      }
      if (value.kind == ValueKind::parameter && value.producer != kNone<NodeId>) continue;
      CHECK(holds(boundaries.inputs[stage], operand.value) !=
            holds(boundaries.parameters[stage], operand.value));
    }
    for (const ValueId parameter : graph.module_parameters(node)) {
      CHECK(holds(boundaries.parameters[stage], parameter));
    }
  }
}

// Every input of a stage is an input of the graph or an output of an earlier stage; with relays, of
// the one just before.
void check_gifts(const Graph& graph, const Boundaries& boundaries, std::size_t stages, bool relay) {
  for (std::size_t i = 0; i < stages; ++i) {
    const auto stage = id_at<PartId>(i);
    for (const ValueId value : boundaries.inputs[stage]) {
      if (graph.value(value).kind == ValueKind::input) continue;
      bool is_given = false;
      for (std::size_t j = relay && i > 0 ? i - 1 : 0; j < i; ++j) {
        is_given = is_given || holds(boundaries.outputs[id_at<PartId>(j)], value);
      }
      CHECK(is_given);
    }
    for (const ValueId value : boundaries.outputs[stage]) {
      const Value& record = graph.value(value);
      const bool is_own = record.kind == ValueKind::parameter
                              ? holds(boundaries.parameters[stage], value)
                              : !holds(boundaries.inputs[stage], value);
      CHECK((is_own || (relay && holds(boundaries.inputs[stage], value))));
    }
  }
}

TEST_CASE("In random graphs each stage gets what it reads from a stage that has it") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph made = random_graph(seed, 25);
    const Graph& graph = made.graph;
    INFO(made.text);
    PerNode<std::uint32_t> stage_of(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      stage_of[node] =
          static_cast<std::uint32_t>(index(node) * (1 + seed % 6) / graph.node_count());
    }
    const Partition partition = form_stages(graph, stage_of);
    CHECK(check_partition(graph, partition, nullptr).has_value());
    for (const Sharing sharing : {Sharing::replicate, Sharing::transmit}) {
      for (const bool relay : {false, true}) {
        const auto found = find_stage_boundaries(
            graph, partition, {.sharing = sharing, .sharing_of = {}, .relay = relay});
        REQUIRE(found.has_value());
        check_reads(graph, partition, found->stages);
        check_gifts(graph, found->stages, partition.count(), relay);
        check_gifts(graph, found->root, partition.count(), false);
      }
    }
  }
}

}  // namespace

}  // namespace cleave
