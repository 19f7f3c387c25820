#include "core/measures/worth.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

struct SplitCase {
  Graph graph;
  Split split;
  Preview preview;
};

SplitCase split_case(const char* text, const char* op) {
  Graph graph = graph_from_text(text);
  SupportList list;
  list.allow.emplace_back().op = op;
  const std::vector<SupportList> lists = {list};
  auto split = split_graph({graph, lists, {}}, {});
  REQUIRE(split);
  Preview preview = preview_split(graph, split->partition, split->boundaries, default_link());
  return {std::move(graph), *std::move(split), std::move(preview)};
}

WorthVerdict judged(const SplitCase& of, const InferenceTime* time = nullptr) {
  auto verdict = judge_worth(of.graph, of.split, of.preview, time);
  REQUIRE(verdict);
  return *std::move(verdict);
}

Worth answer_of(const WorthVerdict& verdict, WorthCriterion::Kind kind) {
  for (const WorthCriterion& criterion : verdict.criteria) {
    if (criterion.kind == kind) return criterion.answer;
  }
  FAIL("no such criterion");
  return Worth::no;
}

TEST_CASE("A split with all work in one partition, and much of it for each byte, is worth it") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    param w: float32[64,64]
    a: float32[64,64] = MatMul(x, w)
    b: float32[64,64] = MatMul(a, w)
    output b)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::yes);
  REQUIRE(verdict.criteria.size() == 3);
  CHECK(verdict.criteria[0].value == 1);
  CHECK(verdict.criteria[1].value == 1);
  CHECK(verdict.criteria[2].value == 2 * 2.0 * 64 * 64 * 64 / (2 * 64 * 64 * 4));
  CHECK(verdict.blamed_partitions == 0);
}

TEST_CASE("Partitions that one op separates are too many, and the op is named") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    param w: float32[64,64]
    a: float32[64,64] = MatMul(x, w)
    b: float32[64,64] = Softmax(a)
    c: float32[64,64] = MatMul(b, w)
    d: float32[64,64] = Softmax(c)
    e: float32[64,64] = MatMul(d, w)
    f: float32[64,64] = Erf(e)
    output f)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::no);
  CHECK(answer_of(verdict, WorthCriterion::Kind::work) == Worth::yes);
  CHECK(answer_of(verdict, WorthCriterion::Kind::partitions) == Worth::no);
  CHECK(made.graph.op(verdict.blamed) == "Softmax");
  CHECK(verdict.blamed_partitions == 2);
}

TEST_CASE("Work that is less than moving its bytes is not worth it, however whole the split is") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    a: float32[64,64] = Relu(x)
    output a)",
                               "Relu");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::no);
  CHECK(answer_of(verdict, WorthCriterion::Kind::partitions) == Worth::yes);
  CHECK(answer_of(verdict, WorthCriterion::Kind::intensity) == Worth::no);
}

TEST_CASE(
    "Where FLOPs are not known the share is that of the nodes, and nothing is said of bytes") {
  const auto made = split_case(R"(
    input x: float32[N,64]
    a: float32[N,64] = MatMul(x, x)
    b: float32[N,64] = Odd(a)
    output b)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  REQUIRE(verdict.criteria.size() == 2);
  CHECK(verdict.criteria[0].value == 0.5);
  CHECK(verdict.answer == Worth::maybe);
}

TEST_CASE("Where times are known they alone decide") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    a: float32[64,64] = Relu(x)
    output a)",
                               "Relu");
  InferenceTime time;
  const auto speedup = [&](double with, double on_cpu) {
    time.without.total_us = with;
    time.without.all_cpu_us = on_cpu;
    const WorthVerdict verdict = judged(made, &time);
    REQUIRE(verdict.criteria.size() == 1);
    CHECK(verdict.criteria[0].value == on_cpu / with);
    return verdict.answer;
  };
  CHECK(speedup(10, 20) == Worth::yes);
  CHECK(speedup(10, 10.5) == Worth::maybe);
  CHECK(speedup(10, 9) == Worth::no);
  time.without.total_us = std::nullopt;
  CHECK(judged(made, &time).criteria.size() == 3);
}

TEST_CASE("Nothing on the accelerator is a no, and a model without nodes has no verdict") {
  const auto none = split_case("input x: float32[2]\n a: float32[2] = Relu(x)\n output a", "f");
  const WorthVerdict verdict = judged(none);
  CHECK(verdict.answer == Worth::no);
  REQUIRE(verdict.criteria.size() == 1);
  CHECK(verdict.criteria[0].value == 0);
  const auto empty = split_case("input x: float32[2]\n output x", "f");
  CHECK_FALSE(judge_worth(empty.graph, empty.split, empty.preview, nullptr));
}

}  // namespace
}  // namespace cleave
