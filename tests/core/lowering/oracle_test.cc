#include <algorithm>
#include <bit>

#include "core/lowering/lowering.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {

// ---- oracle test ----

namespace {

std::string signature(std::string message, const MessageNames& names = {}) {
  return failure_signature(
      {.outcome = OracleOutcome::fails, .stage = "compile", .message = message}, names);
}

const Graph& sample() {
  static const Graph kGraph = graph_from_text(R"(
    input x
    /loop/Loop@ v = Loop(x)
    /l/GRU@ u = GRU(v)
    /l/LSTM@ t = LSTM(u)
    output t)");
  return kGraph;
}

MessageNames sample_names() {
  std::vector<NodeId> nodes;
  for (const NodeId node : sample().nodes()) nodes.push_back(node);
  return MessageNames(sample(), nodes);
}

TEST_CASE("Numbers, quoted names and brackets do not distinguish failures") {
  CHECK(signature("Failed analyse for node #12 \"/loop/Loop\" Unimplemented(Loop)\n\n"
                  "Caused by:\n    Wrong number of outputs. Op says 1, node says 2.") ==
        signature("Failed analyse for node #6 \"/loop/Loop\" Unimplemented(Loop)\n\n"
                  "Caused by:\n    Wrong number of outputs. Op says 1, node says 3."));
  CHECK(signature("work/a1/m.mlir:8:10: error: failed to legalize operation 'torch.operator' that "
                  "was explicitly marked illegal: %9 = \"torch.operator\"(%arg0) <{name = "
                  "\"onnx.Conv\"}> : (!torch.vtensor<[1,24],f32>) -> !torch.vtensor<[1,2],f32>") ==
        signature("work/zz/m.mlir:4:7: error: failed to legalize operation 'torch.operator' that "
                  "was explicitly marked illegal: %1 = \"torch.operator\"(%arg0) <{name = "
                  "\"onnx.Pool\"}> : (!torch.vtensor<[1,64,1],f32>) -> !torch.vtensor<[3],f32>"));
}

TEST_CASE("An arrow within angle brackets does not close them") {
  CHECK(signature("error: no kernel for <(i64) -> f32> here") ==
        "compile: error: no kernel for _ here");
  CHECK(signature("error: 3 -> 4 is refused") == "compile: error: # -> # is refused");
}

TEST_CASE("Different failures keep different signatures") {
  CHECK(signature("error: shape input is variable") != signature("error: no kernel for it"));
  CHECK(signature("error: x") !=
        failure_signature(
            {.outcome = OracleOutcome::fails, .stage = "check", .message = "error: x"}, {}));
}

TEST_CASE("A list of ops of the partition is as long as one op") {
  const MessageNames names = sample_names();
  CHECK(
      signature("The following operators are not supported for frontend ONNX: GRU, LSTM", names) ==
      signature("The following operators are not supported for frontend ONNX: GRU", names));
}

TEST_CASE("Backtraces are dropped, wherever they are") {
  CHECK(signature("error: no room\nStack backtrace:\n   0: error at 0x7f\n") ==
        signature("error: no room"));
  CHECK(signature("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n"
                  "    raise ValueError\nValueError: bad error\n") ==
        signature("ValueError: bad error"));
}

TEST_CASE("The signature is the line that says what is wrong, not the lines before it") {
  CHECK(signature("loading\nreading weights\nerror: 3 is odd\nbye") == "compile: error: # is odd");
  CHECK(signature("") == "compile: ");
  CHECK(signature("\n\nplain words\n") == "compile: plain words");
}

TEST_CASE("Lines that only say where, and end in a colon, give way to those behind them") {
  CHECK(
      essential_lines("Exception from src/core.cpp:84:\nCheck 'false' failed at src/ops.cpp:151:\n"
                      "Model wasn't fully converted.\nSummary:\n-- No rule for: NoSuch-14\n") ==
      "Model wasn't fully converted. -- No rule for: NoSuch-14");
  CHECK(essential_lines("error: bad:\n") == "error: bad:");
  CHECK(essential_lines("fine\nerror: bad\nmore") == "error: bad");
}

TEST_CASE("An apostrophe within a word is not a quote") {
  CHECK(signature("error: can't do that, it's late") == "compile: error: can't do that, it's late");
}

TEST_CASE("Wrong values have one signature") {
  const Answer answer{
      .outcome = OracleOutcome::fails, .stage = "values", .difference = Difference::wrong};
  CHECK(failure_signature(answer, {}) == "values: values");
}

TEST_CASE("Only the first and last line of a chain of causes count, where it has both") {
  CHECK(essential_lines("first\nCaused by:\n a\n b\n") == "first <- b");
  CHECK(essential_lines("Caused by:\n an error") == "an error");
  CHECK(essential_lines("first\nCaused by:\n") == "first");
  CHECK(essential_lines(" \n\t\n") == "");
}

TEST_CASE("A trace of Python ends with the first line that is not indented") {
  CHECK(essential_lines("Traceback (most recent call last):\n  an error\nplain\n  a failure") ==
        "a failure");
  CHECK(essential_lines("Traceback (most recent call last):\n\tan error\nplain") == "plain");
  CHECK(essential_lines("  an error\nplain") == "an error");
}

TEST_CASE("Only a line that begins as a backtrace begins one") {
  CHECK(essential_lines("one\nStack trace (newest first)\nan error") == "one");
  CHECK(essential_lines("one\nbacktrace: here\nan error") == "one");
  CHECK(essential_lines("a long line before backtrace:\nan error") == "an error");
}

TEST_CASE("Each digit and each hexadecimal number is one sign") {
  CHECK(signature("error x0 x9 x05 at 0xdeadBEEF9 0x") == "compile: error x# x# x# at #");
  CHECK(signature("error 1a2b 0 09 100") == "compile: error #a#b #");
  CHECK(signature("error 1.25, v10-3") == "compile: error #.#, v#-#");
  CHECK(signature("error 0b1 00x1") == "compile: error #b# #x#");
}

TEST_CASE("Quotes and brackets of each kind that are closed are one sign, with what they nest") {
  CHECK(signature("error a(b(c)d)e [x[1]y] {z} <t<u>>") == "compile: error a_e _");
  CHECK(signature("error 'a b' `c d` \"e f\" end") == "compile: error _ end");
  CHECK(signature("'a error' b") == "compile: _ b");
  CHECK(signature("error (open") == "compile: error (open");
  CHECK(signature("error \"open") == "compile: error \"open");
  CHECK(signature("error x's 'a' y'") == "compile: error x's _ y'");
  CHECK(signature("error a < b > c") == "compile: error a < b > c");
  CHECK(signature("error a <") == "compile: error a <");
}

TEST_CASE("Paths and names of values are one sign, words with a slash alone are not") {
  CHECK(signature("error in /a/b.cc: c\\d %7 here") == "compile: error in _ here");
  CHECK(signature("error / is odd") == "compile: error / is odd");
  CHECK(signature("error v: u. Loop, other", sample_names()) == "compile: error _ other");
  CHECK(signature("error v , , u # # z", sample_names()) == "compile: error _ , _ # z");
}

TEST_CASE("A signature is cut at 160 bytes behind its stage") {
  const std::string text = "error " + std::string(153, 'x');
  CHECK(signature(text) == "compile: " + text);
  CHECK(signature(text + "y") == "compile: " + text + "y");
  CHECK(signature(text + "yz") == "compile: " + text + "y");
}

// Items 0 to 2 of the sample, and an oracle that counts its calls.
struct Asking {
  std::vector<NodeId> nodes = {NodeId{0}, NodeId{1}, NodeId{2}};
  ItemOrder order = order_items(sample(), nodes);
  MessageNames names = sample_names();
  std::vector<Piece> asked;
  Answer answer{.outcome = OracleOutcome::passes};
  Oracle oracle = [this](const Piece& piece) {
    asked.push_back(piece);
    return answer;
  };
  AskingLimits limits{.most_runs = 3};
  Questions questions{order, names, oracle, limits};
};

TEST_CASE("A set is asked once for its remedies, and no more is asked when the runs are spent") {
  Asking asking;
  CHECK(asking.questions.ask({0}, {}).passes());
  CHECK(asking.questions.ask({0}, {}).passes());
  CHECK(asking.asked.size() == 1);
  CHECK(asking.questions.ask({0}, {.pin_shapes = true}).passes());
  CHECK(asking.asked.size() == 2);
  CHECK(asking.asked.back().remedies.pin_shapes);
  CHECK_FALSE(asking.questions.is_spent());
  CHECK(asking.questions.ask({0, 1}, {}).passes());
  CHECK(asking.asked.back().nodes.size() == 2);
  CHECK(asking.questions.runs() == 3);
  CHECK(asking.questions.is_spent());
  const JudgedAnswer& refused = asking.questions.ask({2}, {});
  CHECK_FALSE(refused.passes());
  CHECK_FALSE(refused.fails());
  CHECK(refused.answer.runs == 0);
  CHECK(asking.questions.ask_tolerantly({2}, {}, 4).answer.runs == 0);
  CHECK(asking.asked.size() == 3);
  CHECK(asking.questions.ask({0}, {}).passes());  // still known
  CHECK(asking.questions.ask_again({0}, {}, 2).passes());
  CHECK(asking.asked.back().attempt == 2);
  CHECK(asking.questions.runs() == 4);
}

TEST_CASE("When time is up no more is asked") {
  Asking asking;
  bool is_up = false;
  asking.limits.is_time_up = [&] { return is_up; };
  CHECK_FALSE(asking.questions.is_spent());
  CHECK(asking.questions.ask_tolerantly({1}, {}, 4).passes());
  CHECK(asking.asked.back().tolerance == 4);
  is_up = true;
  CHECK(asking.questions.is_spent());
  CHECK_FALSE(asking.questions.ask({0}, {}).passes());
}

TEST_CASE("What has passed holds the item, under the same remedies") {
  Asking asking;
  asking.questions.ask({0, 2}, {});
  CHECK(asking.questions.has_passed(0, {}));
  CHECK(asking.questions.has_passed(2, {}));
  CHECK_FALSE(asking.questions.has_passed(1, {}));
  CHECK_FALSE(asking.questions.has_passed(0, {.freeze_cuts = true}));
  asking.answer = {.outcome = OracleOutcome::fails, .stage = "compile", .message = "error: v 3"};
  CHECK(asking.questions.ask({1}, {}).signature == "compile: error: _ #");
  CHECK_FALSE(asking.questions.has_passed(1, {}));
}

TEST_CASE("Pieces that passed are told of some items, under the same remedies") {
  Asking asking;
  asking.limits.most_runs = 10;
  for (const ItemSet& items : {ItemSet{0}, ItemSet{0, 1}, ItemSet{1, 2}}) {
    asking.questions.ask(items, {});
  }
  asking.questions.ask({1}, {.pin_shapes = true});
  asking.answer = {.outcome = OracleOutcome::fails, .stage = "compile", .message = "error"};
  asking.questions.ask({1}, {});
  CHECK(asking.questions.passed({0, 1}, {}) == std::vector<ItemSet>{{0}, {0, 1}});
  CHECK(asking.questions.passed({0, 1, 2}, {}) == std::vector<ItemSet>{{0}, {0, 1}, {1, 2}});
  CHECK(asking.questions.passed({0, 1}, {.pin_shapes = true}) == std::vector<ItemSet>{{1}});
}

TEST_CASE("The first answer of no use is kept, with what failed and how") {
  Asking asking;
  const JudgedAnswer passed{.answer = {.outcome = OracleOutcome::passes, .message = "fine"}};
  const JudgedAnswer silent{.answer = {.outcome = OracleOutcome::unresolved}};
  asking.questions.note_blocked({0}, passed);
  asking.questions.note_blocked({0}, silent);
  CHECK_FALSE(asking.questions.blocked());
  asking.questions.note_blocked({1}, {.answer = {.message = "x\nan error"}});
  REQUIRE(asking.questions.blocked());
  CHECK(asking.questions.blocked()->items == ItemSet{1});
  CHECK(asking.questions.blocked()->why == "an error");
  asking.questions.note_blocked({2}, {.answer = {.how = "crashed", .message = "an error"}});
  CHECK(asking.questions.blocked()->why == "an error");
  Asking other;
  other.questions.note_blocked({2}, {.answer = {.how = "crashed", .message = "an error"}});
  CHECK(other.questions.blocked()->why == "crashed: an error");
}

TEST_CASE("An answer passes, fails in the same way, or says nothing of a failure") {
  const JudgedAnswer failed{.answer = {.outcome = OracleOutcome::fails}, .signature = "a"};
  CHECK(judge(failed, "a") == Judgement::same);
  CHECK(judge(failed, "") == Judgement::same);
  CHECK(judge(failed, "b") == Judgement::other);
  CHECK(judge({.answer = {.outcome = OracleOutcome::passes}}, "a") == Judgement::pass);
  CHECK(judge({.answer = {.outcome = OracleOutcome::unresolved}}, "") == Judgement::other);
}

TEST_CASE("Two remedies together are both, with the higher opset") {
  const std::vector<Remedies> each = {{.pin_shapes = true},   {.freeze_values = true},
                                      {.freeze_cuts = true},  {.constants_inside = true},
                                      {.state_inside = true}, {.opset = 13},
                                      {.opset = 17},          {}};
  for (const Remedies& one : each) {
    CHECK((one | Remedies{}) == one);
    CHECK((Remedies{} | one) == one);
    CHECK((one | one) == one);
  }
  CHECK((each[5] | each[6]).opset == 17);
  CHECK((each[6] | each[5]).opset == 17);
  const Remedies all = each[0] | each[1] | each[2] | each[3] | each[4];
  CHECK(all == Remedies{true, true, true, true, true});
}

}  // namespace

// ---- wrong values test ----

namespace {

std::string names_where(const Graph& graph, const std::vector<bool>& flags) {
  std::string names;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    names += (names.empty() ? "" : " ") +
             std::string(graph.value(ValueId{static_cast<std::uint32_t>(i)}).name);
  }
  return names;
}

}  // namespace

TEST_CASE("random values, and values computed from them, are not compared") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "r = RandomNormalLike(x)\n"
      "a = Relu(x)\n"
      "b = Add(a, r)\n"
      "d = Dropout(a)\n"
      "e = Neg(b)\n"
      "f = Dropout(a, a)\n"
      "g = Dropout(a, a, a)\n"
      "h = Concat(a, a, a)\n"
      "output d, e, f, g, h\n");
  CHECK(names_where(graph, random_values(graph)) == "r b e g");
}

TEST_CASE("values after NonZero and similar ops have shapes that depend on data") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "a = Relu(x)\n"
      "n = NonZero(a)\n"
      "g = Gather(a, n)\n"
      "s = Shape(a)\n"
      "output g, s\n");
  CHECK(names_where(graph, values_shaped_by_data(graph)) == "n g");
}

namespace {

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) nodes.push_back(node);
  return nodes;
}

bool holds(const Piece& piece, NodeId node) {
  return std::binary_search(piece.nodes.begin(), piece.nodes.end(), node);
}

Answer wrong(Difference difference = Difference::wrong) {
  return {.outcome = OracleOutcome::fails, .stage = "values", .difference = difference};
}

const Answer kRight = {.outcome = OracleOutcome::passes};

AllWrongValues find_all(const Graph& graph, const Oracle& oracle) {
  const ItemOrder order = order_items(graph, all_nodes(graph));
  return find_wrong_values({graph, order, oracle({.nodes = all_nodes(graph)})}, oracle,
                           {.most_runs = 100});
}

WrongValues find(const Graph& graph, const Oracle& oracle) {
  return find_all(graph, oracle).found.front();
}

TEST_CASE("A node that computes wrongly is found in 2 ceil(log2 n) runs") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_model(seed, 2 + random() % 500);
    const NodeId culprit = some_nodes(random, graph, 1)[0];
    const WrongValues result =
        find(graph, [&](const Piece& piece) { return holds(piece, culprit) ? wrong() : kRight; });
    CHECK(result.verdict == ValueVerdict::culprit);
    CHECK(result.nodes == std::vector{culprit});
    CHECK(result.runs <= 2 * std::bit_width(graph.node_count() - 1));
  }
}

TEST_CASE("A node that gives equal values in another order is not a culprit") {
  const Graph graph = random_model(1, 100);
  const WrongValues result = find(graph, [](const Piece& piece) {
    if (!holds(piece, NodeId{70})) return kRight;
    return wrong(piece.nodes.size() == 1 ? Difference::tie_order : Difference::wrong);
  });
  CHECK(result.verdict == ValueVerdict::tie_order);
  CHECK(result.nodes == std::vector{NodeId{70}});
}

TEST_CASE("Where the reference is not finite no node is to blame, and the rest is searched") {
  const Graph graph = random_model(1, 100);
  const auto oracle = [](const Piece& piece) {
    return holds(piece, NodeId{20}) || holds(piece, NodeId{70}) ? wrong() : kRight;
  };
  const FiniteTest is_finite = [](std::span<const NodeId> nodes) {
    return std::find(nodes.begin(), nodes.end(), NodeId{20}) == nodes.end();
  };
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const AllWrongValues all =
      find_wrong_values({graph, order, wrong()}, oracle, {.most_runs = 100}, is_finite);
  REQUIRE(all.found.size() == 2);
  for (const WrongValues& found : all.found) {
    const bool is_finite_there = found.nodes == std::vector{NodeId{70}};
    CHECK((is_finite_there || found.nodes == std::vector{NodeId{20}}));
    CHECK(found.verdict == (is_finite_there ? ValueVerdict::culprit : ValueVerdict::not_finite));
  }
  CHECK_FALSE(all.is_no_fault);
}

TEST_CASE("Lower precision of the whole partition is reported without a run") {
  const Graph graph = random_model(2, 100);
  const WrongValues result =
      find(graph, [](const Piece&) { return wrong(Difference::lower_precision); });
  CHECK(result.verdict == ValueVerdict::lower_precision);
  CHECK(result.runs == 0);
}

TEST_CASE("Errors that add up blame no node") {
  const Graph graph = random_model(3, 64);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return static_cast<double>(piece.nodes.size()) > 20 * piece.tolerance ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::errors_add_up);
  CHECK(result.nodes.size() == 32);
}

TEST_CASE("Two nodes that are wrong only together are distinguished from errors that add up") {
  const Graph graph = random_model(4, 64);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::together);
  CHECK(std::binary_search(result.nodes.begin(), result.nodes.end(), NodeId{5}));
  CHECK(std::binary_search(result.nodes.begin(), result.nodes.end(), NodeId{60}));
}

TEST_CASE("Of nodes that are wrong only together, those around them are not to blame") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_model(seed, 3 + random() % 200);
    const std::vector<NodeId> pair = some_nodes(random, graph, 2);
    const WrongValues result = find(graph, [&](const Piece& piece) {
      return holds(piece, pair[0]) && holds(piece, pair[1]) ? wrong() : kRight;
    });
    INFO(seed);
    REQUIRE(result.verdict == ValueVerdict::together);
    REQUIRE(result.necessary);
    CHECK((*result.necessary == pair[0] || *result.necessary == pair[1]));
    const ItemOrder order = order_items(graph, all_nodes(graph));
    const auto place = [&](NodeId node) {
      for (std::uint32_t item = 0; item < order.count(); ++item) {
        if (nodes_of(order, ItemSet{item}).front() == node) return item;
      }
      return static_cast<std::uint32_t>(order.count());
    };
    const auto [first, last] = std::minmax({place(pair[0]), place(pair[1])});
    CHECK(result.nodes.size() == last - first + 1);
  }
}

TEST_CASE("Where it is not known what is right without a node, no node is necessary") {
  const Graph graph = random_model(4, 64);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const NodeId last = nodes_of(order, ItemSet{63}).front();
  const WrongValues result = find(graph, [&](const Piece& piece) {
    if (holds(piece, nodes_of(order, ItemSet{0}).front()) && holds(piece, last)) return wrong();
    const bool is_cut_late = piece.nodes.size() > 40;
    return is_cut_late ? Answer{.outcome = OracleOutcome::unresolved} : kRight;
  });
  CHECK(result.verdict == ValueVerdict::together);
  CHECK_FALSE(result.necessary);
}

TEST_CASE("Rounding that decides an order is reported with the node that decides") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Softmax(x)
    t = TopK(a)
    u = NonZero(x)
    g = Gather(a, t)
    output g, u)");
  const WrongValues result = find(graph, [&](const Piece& piece) {
    if (piece.nodes.size() < 4) return kRight;
    Answer answer = wrong();
    answer.first_wrong = value_named(graph, "g");
    return answer;
  });
  CHECK(result.verdict == ValueVerdict::rounding_decides);
  CHECK(names_of(graph, result.deciders) == "t");
}

TEST_CASE("All ops that decide are told where the first wrong value is made outside") {
  const Graph graph = graph_from_text(R"(
    input x
    t = TopK(x)
    u = NonZero(x)
    g = Gather(t)
    h = Relu(u)
    output g, h)");
  const WrongValues result = find(graph, [&](const Piece& piece) {
    if (!holds(piece, NodeId{0}) || !holds(piece, NodeId{1})) return kRight;
    Answer answer = wrong();
    answer.first_wrong = value_named(graph, "g");
    return answer;
  });
  CHECK(result.verdict == ValueVerdict::rounding_decides);
  CHECK(names_of(graph, result.nodes) == "t u");
  CHECK(names_of(graph, result.deciders) == "t u");
}

TEST_CASE("Halves are asked about with pinned shapes, and a finding says so but of the whole") {
  const Graph graph = random_model(1, 9);
  for (std::uint32_t culprit = 0; culprit < 9; ++culprit) {
    std::size_t pinned = 0;
    const WrongValues result = find(graph, [&](const Piece& piece) {
      pinned += piece.remedies.pin_shapes ? 1U : 0U;
      return holds(piece, NodeId{culprit}) ? wrong() : kRight;
    });
    INFO(culprit);
    CHECK(result.nodes == std::vector{NodeId{culprit}});
    CHECK(result.remedies == Remedies{.pin_shapes = true});
    CHECK(pinned == result.runs);
  }
  const auto whole = [](const Piece& piece) { return piece.nodes.size() == 9 ? wrong() : kRight; };
  CHECK(find(graph, whole).nodes.size() == 9);
  CHECK(find(graph, whole).remedies == Remedies{});
}

TEST_CASE("Of ties everywhere eight are found, and the rest may be a fault") {
  const Graph graph = random_model(1, 40);
  const auto ties_at = [&](std::uint32_t step) {
    return find_all(graph, [&](const Piece& piece) {
      const bool is_tie = std::ranges::any_of(
          piece.nodes, [&](NodeId node) { return index(node) % step == step - 1; });
      return is_tie ? wrong(Difference::tie_order) : kRight;
    });
  };
  CHECK(ties_at(8).found.size() == 5);
  CHECK(ties_at(8).is_no_fault);
  CHECK(ties_at(4).found.size() == 8);
  CHECK_FALSE(ties_at(4).is_no_fault);
}

TEST_CASE("Beside a tie all is searched, and what cannot be run may be a fault") {
  const Graph graph = random_model(1, 20);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const auto at = [&](std::uint32_t item) { return order.first_node(item); };
  for (std::uint32_t tie = 0; tie < 20; ++tie) {
    for (const std::uint32_t culprit : {0U, 7U, 19U}) {
      if (tie == culprit) continue;
      const AllWrongValues all = find_all(graph, [&](const Piece& piece) {
        if (holds(piece, at(culprit))) return wrong();
        if (!holds(piece, at(tie))) return kRight;
        return wrong(piece.nodes.size() < 3 ? Difference::tie_order : Difference::wrong);
      });
      INFO(tie << " " << culprit);
      CHECK(all.found.back().nodes == std::vector{at(culprit)});
      CHECK_FALSE(all.is_no_fault);
    }
  }
  for (const std::uint32_t tie : {5U, 19U}) {  // what cannot be run is behind it, or before
    const AllWrongValues unknown = find_all(graph, [&](const Piece& piece) {
      if (holds(piece, at(tie))) return wrong(Difference::tie_order);
      return piece.nodes.size() == (tie == 5 ? 14 : 19) ? Answer{} : kRight;
    });
    CHECK(unknown.found.size() == 1);
    CHECK_FALSE(unknown.is_no_fault);
  }
}

TEST_CASE("Cuts beside the middle are tried by distance, behind it first, and never at an end") {
  const Graph graph = random_model(1, 40);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  std::vector<std::size_t> sizes;  // of first halves
  const WrongValues result = find(graph, [&](const Piece& piece) {
    const std::size_t size = piece.nodes.size();
    if (size < 40 && holds(piece, order.first_node(0))) sizes.push_back(size);
    if (size > 16 && size < 23) return Answer{};
    return holds(piece, order.first_node(39)) ? wrong() : kRight;
  });
  CHECK(sizes == std::vector<std::size_t>{20, 21, 19, 22, 18, 24});
  CHECK(result.nodes == std::vector{order.first_node(39)});

  std::vector<std::size_t> asked;
  const Graph pair = random_model(1, 2);
  find(pair, [&](const Piece& piece) {
    asked.push_back(piece.nodes.size());
    return piece.nodes.size() == 2 ? wrong() : Answer{};
  });
  CHECK(asked == std::vector<std::size_t>{2, 1});
}

TEST_CASE("Where pinned shapes change nothing, the answer is that without them") {
  const Graph graph = random_model(4, 64);
  const auto verdict = [&](const Oracle& oracle) {
    return find(graph,
                [&](const Piece& piece) {
                  return piece.remedies.pin_shapes
                             ? Answer{.outcome = OracleOutcome::unchanged, .runs = 0}
                             : oracle(piece);
                })
        .verdict;
  };
  CHECK(verdict([](const Piece& piece) { return holds(piece, NodeId{5}) ? wrong() : kRight; }) ==
        ValueVerdict::culprit);
  CHECK(verdict([](const Piece& piece) {
          return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong() : kRight;
        }) == ValueVerdict::together);
  CHECK(verdict([](const Piece& piece) {
          return static_cast<double>(piece.nodes.size()) > 20 * piece.tolerance ? wrong() : kRight;
        }) == ValueVerdict::errors_add_up);
}

TEST_CASE("Of two halves that are as many steps off the first is searched") {
  const Graph graph = random_model(1, 20);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const WrongValues result = find(graph, [](const Piece&) { return wrong(Difference::one_step); });
  CHECK(result.nodes == std::vector{order.first_node(0)});
}

TEST_CASE("Where the reference is not finite nothing is wrong together, and a tie is a tie") {
  const Graph graph = random_model(4, 64);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const FiniteTest never = [](std::span<const NodeId>) { return false; };
  const auto found = [&](const Oracle& oracle) {
    return find_wrong_values({graph, order, oracle({.nodes = all_nodes(graph)})}, oracle,
                             {.most_runs = 100}, never)
        .found.front();
  };
  const WrongValues together = found([](const Piece& piece) {
    return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong() : kRight;
  });
  CHECK(together.verdict == ValueVerdict::not_finite);
  CHECK_FALSE(together.necessary);
  const WrongValues tie = found([](const Piece& piece) {
    return holds(piece, NodeId{5}) ? wrong(Difference::tie_order) : kRight;
  });
  CHECK(tie.verdict == ValueVerdict::tie_order);
}

TEST_CASE("A half that is refused is cut elsewhere") {
  const Graph graph = random_model(6, 200);
  const WrongValues result = find(graph, [](const Piece& piece) {
    if (piece.nodes.size() == 100 || piece.nodes.size() == 101) {
      return Answer{
          .outcome = OracleOutcome::fails, .stage = "compile", .message = "error: open shape"};
    }
    return holds(piece, NodeId{150}) ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::culprit);
  CHECK(result.nodes == std::vector{NodeId{150}});
}

TEST_CASE("An interval is unresolved if no half of it can run") {
  const Graph graph = random_model(7, 50);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return piece.nodes.size() == 50 ? wrong() : Answer{.outcome = OracleOutcome::unresolved};
  });
  CHECK(result.verdict == ValueVerdict::unresolved);
  CHECK(result.nodes.size() == 50);
}

TEST_CASE("What explains a part of the partition does not excuse the rest") {
  const Graph graph = random_model(1, 100);
  for (const Difference benign : {Difference::tie_order, Difference::one_step}) {
    const auto tie = [&](const Piece& piece) {
      return wrong(piece.nodes.size() == 1 ? benign : Difference::wrong);
    };
    const AllWrongValues one = find_all(
        graph, [&](const Piece& piece) { return holds(piece, NodeId{30}) ? tie(piece) : kRight; });
    CHECK(one.found.size() == 1);
    CHECK(one.is_no_fault);
    for (const std::uint32_t culprit : {5U, 31U, 70U}) {
      const AllWrongValues both = find_all(graph, [&](const Piece& piece) {
        if (holds(piece, NodeId{culprit})) return wrong();
        return holds(piece, NodeId{30}) ? tie(piece) : kRight;
      });
      INFO(culprit);
      CHECK_FALSE(both.is_no_fault);
      CHECK(both.found.back().verdict == ValueVerdict::culprit);
      CHECK(both.found.back().nodes == std::vector{NodeId{culprit}});
    }
  }
}

TEST_CASE("Two right halves that are a step off together are a step off, and no culprit") {
  const Graph graph = random_model(4, 64);
  const AllWrongValues all = find_all(graph, [](const Piece& piece) {
    return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong(Difference::one_step)
                                                               : kRight;
  });
  CHECK(all.found.front().verdict == ValueVerdict::one_step);
  CHECK(all.is_no_fault);
}

TEST_CASE("What follows a quantiser may enlarge its rounding, which is no fault") {
  const auto verdict_with = [](const char* op) {
    const Graph graph =
        graph_from_text("input x\n a = Conv(x)\n q = " + std::string(op) +
                        "(a)\n d = DequantizeLinear(q)\n s = Sigmoid(d)\n output s");
    const NodeId first = node_named(graph, "a"), last = node_named(graph, "s");
    return find(graph,
                [&](const Piece& piece) {
                  return holds(piece, first) && holds(piece, last) ? wrong() : kRight;
                })
        .verdict;
  };
  CHECK(verdict_with("QuantizeLinear") == ValueVerdict::one_step);
  CHECK(verdict_with("Relu") == ValueVerdict::together);
}

TEST_CASE("Where one half is a tie and the other one wrong, the wrong one is searched") {
  const Graph graph = random_model(1, 100);
  const AllWrongValues all = find_all(graph, [&](const Piece& piece) {
    if (holds(piece, NodeId{70})) return wrong();
    return holds(piece, NodeId{5}) ? wrong(Difference::one_step) : kRight;
  });
  REQUIRE(all.found.size() == 1);
  CHECK(all.found.front().verdict == ValueVerdict::culprit);
  CHECK(all.found.front().nodes == std::vector{NodeId{70}});
}

TEST_CASE("A piece in lower precision is no verdict on a partition that is wrong") {
  const Graph graph = random_model(1, 100);
  const AllWrongValues all = find_all(graph, [](const Piece& piece) {
    return wrong(piece.nodes.size() > 30 ? Difference::wrong : Difference::lower_precision);
  });
  CHECK(all.found.front().verdict == ValueVerdict::lower_precision);
  CHECK_FALSE(all.is_no_fault);
}

TEST_CASE("Halves that could not be run are told, with why") {
  const Graph graph = random_model(5, 50);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return piece.nodes.size() == 50 ? wrong()
                                    : Answer{.outcome = OracleOutcome::fails,
                                             .how = "refused",
                                             .message = "error: no such op"};
  });
  CHECK(result.blocked.size() == 25);
  CHECK(result.blocked_why == "refused: error: no such op");
}

// Four quantised operators; two read one DequantizeLinear, and one of them and another are joined.
const Graph& quantised() {
  static const Graph kGraph = graph_from_text(R"(
    input x
    q = QuantizeLinear(x)
    d = DequantizeLinear(q)
    a = Conv(d)
    qa = QuantizeLinear(a)
    b = Resize(d)
    qb = QuantizeLinear(b)
    da = DequantizeLinear(qa)
    db = DequantizeLinear(qb)
    c = Concat(da, db)
    qc = QuantizeLinear(c)
    dc = DequantizeLinear(qc)
    e = Conv(dc)
    qe = QuantizeLinear(e)
    de = DequantizeLinear(qe)
    output de)");
  return kGraph;
}

// Refuses what only quantises; else as the test says.
AllWrongValues find_quantised(const std::function<Answer(const Piece&)>& values) {
  const Graph& graph = quantised();
  const ItemOrder order = order_quantised(graph, all_nodes(graph));
  const Oracle oracle = [&](const Piece& piece) {
    const NodeId node = operator_of(graph, piece.nodes);
    if (quant_role(graph, node) != QuantRole::none) {
      return Answer{.outcome = OracleOutcome::fails, .how = "refused", .message = "not found"};
    }
    return values(piece);
  };
  return find_wrong_values({graph, order, wrong()}, oracle, {.most_runs = 100});
}

TEST_CASE("A quantised operator is one item, with what dequantises for it") {
  const Graph& graph = quantised();
  const ItemOrder order = order_quantised(graph, all_nodes(graph));
  std::vector<std::string> items;
  for (std::uint32_t item = 0; item < order.count(); ++item) {
    items.push_back(names_of(graph, nodes_of(order, ItemSet{item})));
    for (const std::uint32_t other : order.reads.of(item)) CHECK(other < item);
  }
  CHECK(items == std::vector<std::string>{"q", "d a qa", "b qb", "da db c qc", "dc e qe", "de"});
  const std::vector<NodeId> resize = {node_named(graph, "b"), node_named(graph, "qb")};
  CHECK(names_of(graph, with_dequantizers(graph, all_nodes(graph), resize)) == "d b qb");
  CHECK(operator_of(graph, nodes_of(order, ItemSet{3})) == node_named(graph, "c"));
}

TEST_CASE("All wrong quantised operators are found where what only quantises is refused") {
  const Graph& graph = quantised();
  const std::vector<std::string> operators = {"a", "b", "c", "e"};
  for (unsigned chosen = 1; chosen < 16; ++chosen) {
    std::vector<std::string> culprits, found;
    for (unsigned i = 0; i < 4; ++i) {
      if ((chosen >> i & 1U) != 0) culprits.push_back(operators[i]);
    }
    const AllWrongValues all = find_quantised([&](const Piece& piece) {
      const bool is_wrong = std::ranges::any_of(
          culprits, [&](const auto& name) { return holds(piece, node_named(graph, name)); });
      return is_wrong ? wrong() : kRight;
    });
    for (const WrongValues& one : all.found) {
      CHECK(one.verdict == ValueVerdict::culprit);
      found.emplace_back(graph.node(operator_of(graph, one.nodes)).name);
    }
    std::ranges::sort(found);
    CHECK(found == culprits);
    CHECK_FALSE(all.is_no_fault);
  }
}

TEST_CASE("Beside a wrong quantised operator only what is wrong is searched on") {
  const Graph& graph = quantised();
  for (const Difference beside : {Difference::one_step, Difference::wrong}) {
    const AllWrongValues all = find_quantised([&](const Piece& piece) {
      if (holds(piece, node_named(graph, "e"))) return wrong();
      return holds(piece, node_named(graph, "b")) ? wrong(beside) : kRight;
    });
    CHECK(all.found.size() == (beside == Difference::wrong ? 2 : 1));
    CHECK_FALSE(all.is_no_fault);
  }
}

TEST_CASE(
    "What is further off than its rounding is wrong together, though a quantiser is between") {
  const Graph& graph = quantised();
  for (const double beyond_rounding : {0.0, 5.0}) {
    const AllWrongValues all = find_quantised([&](const Piece& piece) {
      if (!holds(piece, node_named(graph, "b")) || !holds(piece, node_named(graph, "c")))
        return kRight;
      Answer answer = wrong();
      answer.beyond_rounding = beyond_rounding;
      return answer;
    });
    REQUIRE(all.found.size() == 1);
    const WrongValues& found = all.found.front();
    const bool is_known = beyond_rounding > 0;
    CHECK(found.verdict == (is_known ? ValueVerdict::together : ValueVerdict::one_step));
    CHECK(names_of(graph, found.nodes) == "b qb da db c qc");
    CHECK(found.necessary == (is_known ? std::optional(node_named(graph, "c")) : std::nullopt));
  }
}

TEST_CASE("Of two halves that are a step off the one that is further off is searched") {
  const Graph& graph = quantised();
  const AllWrongValues all = find_quantised([&](const Piece& piece) {
    Answer answer = wrong(Difference::one_step);
    answer.beyond_rounding = holds(piece, node_named(graph, "e")) ? 0.9 : 0.1;
    return answer;
  });
  CHECK(names_of(graph, all.found.front().nodes) == "dc e qe");
}

}  // namespace

}  // namespace cleave
