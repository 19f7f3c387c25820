#include "core/study/comparison.h"

#include "core/graph/fingerprint.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

constexpr std::string_view kGraph = "input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c";

// One letter a node: a(cc), c(pu), - (absent).
PerNode<Place> places_of(std::string_view letters) {
  PerNode<Place> places(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    places[id_at<NodeId>(i)] = letters[i] == 'a'   ? Place::acc
                               : letters[i] == 'c' ? Place::cpu
                                                   : Place::absent;
  }
  return places;
}

// "b: acc -> cpu by the list\n"
std::string describe(const Graph& graph, const Comparison& comparison) {
  std::string text;
  for (const Move& move : comparison.moves) {
    text += std::string(graph.node(move.node).name) + ": " + std::string(place_name(move.from)) +
            " -> " + std::string(place_name(move.to)) + " by " +
            std::string(change_name(move.cause)) + "\n";
  }
  for (const auto& removed : comparison.removed) {
    text += removed.node + ": " + std::string(place_name(removed.from)) + " -> gone\n";
  }
  return text;
}

std::string compared(const NamedPlaces& before, const std::vector<Step>& trail) {
  const Graph graph = graph_from_text(kGraph);
  return describe(graph, compare(graph, before, trail));
}

TEST_CASE("a move is blamed on the change after which the node stays where it is") {
  const NamedPlaces before = {{"a", Place::acc}, {"b", Place::acc}, {"c", Place::acc}};
  CHECK(compared(before, {{Change::model, places_of("caa")},
                          {Change::list, places_of("cca")},
                          {Change::settings, places_of("ccc")}}) ==
        "a: acc -> cpu by model\nb: acc -> cpu by list\nc: acc -> cpu by settings\n");
  CHECK(compared(before, {{Change::model, places_of("cca")},
                          {Change::list, places_of("aaa")},
                          {Change::settings, places_of("caa")}}) == "a: acc -> cpu by settings\n");
}

TEST_CASE("nodes that were absent are new; removed nodes are listed by name") {
  const NamedPlaces before = {
      {"a", Place::acc}, {"b", Place::cpu}, {"z", Place::cpu}, {"d", Place::acc}};
  CHECK(compared(before, {{Change::model, places_of("aac")}}) ==
        "b: cpu -> acc by model\nc: absent -> cpu by model\nd: acc -> gone\nz: cpu -> gone\n");
}

TEST_CASE("a new node is blamed on the model, even if the earlier list is unknown") {
  const NamedPlaces before = {{"a", Place::acc}, {"b", Place::acc}};
  CHECK(compared(before, {{Change::model_or_list, places_of("acc")}}) ==
        "b: acc -> cpu by model_or_list\nc: absent -> cpu by model\n");
}

SupportList list_of(const std::vector<std::string>& ops) {
  SupportList list;
  for (const std::string& op : ops) list.allow.emplace_back().op = op;
  return list;
}

std::string trail_of(const std::vector<SupportList>& lists, const SplitOptions& options,
                     const Origin& origin) {
  const Graph graph = graph_from_text(kGraph);
  const OpFacts facts;
  const auto split = split_graph({graph, lists, facts}, options);
  std::string text;
  for (const Step& step :
       make_trail({graph, facts, lists, options, split.value().partition}, origin)) {
    text += std::string(change_name(step.change)) + ": ";
    for (const NodeId node : graph.nodes()) text += place_name(step.places[node])[0];
    text += '\n';
  }
  return text;
}

TEST_CASE("a trail has a step for the model, and for each other change that was made") {
  const std::vector<SupportList> all = {list_of({"f", "g"})};
  const std::vector<SupportList> some = {list_of({"f"})};
  SplitOptions large;
  large.subgraphs.min_acc_size = 2;
  const Origin same{.is_same_model = false, .are_same_lists = true};
  CHECK(trail_of(all, {}, same) == "model: aaa\n");
  CHECK(trail_of(some, {}, {.lists = all}) == "model: aaa\nlist: aca\n");
  CHECK(trail_of(all, large, same) == "model: aaa\nsettings: aaa\n");
  CHECK(trail_of(some, large, {.is_same_model = true, .lists = all}) ==
        "program: aaa\nlist: aca\nsettings: ccc\n");
}

TEST_CASE("an unknown earlier list is blamed, or model and list together") {
  const std::vector<SupportList> some = {list_of({"f"})};
  CHECK(trail_of(some, {}, {.is_same_model = true}) == "list: aca\n");
  CHECK(trail_of(some, {}, {.is_same_model = false}) == "model_or_list: aca\n");
  CHECK(trail_of(some, {}, {}) == "model_or_list: aca\n");
}

TEST_CASE("the speed of the link is a setting where only some subgraphs are kept") {
  const std::vector<SupportList> all = {list_of({"f", "g"})};
  SplitOptions kept;
  kept.keep.most = 1;
  Link slow = default_link();
  slow.bytes_per_second /= 2;
  const Origin same{.are_same_lists = true, .options = kept};
  const Origin slower{.are_same_lists = true, .options = kept, .link = slow};
  CHECK(trail_of(all, kept, same) == "model: aaa\n");
  CHECK(trail_of(all, kept, slower) == "model: aaa\nsettings: aaa\n");
  CHECK(trail_of(all, {}, {.are_same_lists = true, .link = slow}) == "model: aaa\n");
}

TEST_CASE("names of parts are not a change; extensions of absent subgraphs are ignored") {
  const std::vector<SupportList> some = {list_of({"f"})};
  SplitOptions named;
  named.partition.acc_prefix = "npu";
  CHECK(trail_of(some, named, {.is_same_model = true, .are_same_lists = true}) == "program: aca\n");
  Origin extended{.is_same_model = true, .are_same_lists = true};
  extended.options.extend = {ExtendOptions::Which::one, 7};
  CHECK(trail_of(some, {}, extended) == "program: aca\nsettings: aca\n");
}

TEST_CASE("the fingerprint changes with what can move a node, and with nothing else") {
  const auto of = [](std::string_view text) { return fingerprint(graph_from_text(text)); };
  const std::uint64_t base = of("input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u");
  CHECK(of("input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u") == base);
  CHECK(of("input y\nn@ v = Conv(y) {group=2, mode=\"same\"}\noutput v") == base);  // other values
  for (const std::string_view other : {
           "input x\nm@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conw(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = ml::Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=3, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2, mode=\"valid\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2}\noutput u",
           "input x\nn@ u = Conv(x, x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(k=x) {group=2, mode=\"same\"}\noutput u",
           "input x: int8\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x: float32[2,N]\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x: float32[2,?]\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u: tuple(float32) = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nopset \"\" 17\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u, x",
       }) {
    INFO(other);
    CHECK(of(other) != base);
  }
}

}  // namespace
}  // namespace cleave
