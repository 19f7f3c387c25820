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

TEST_CASE("Several partitions are few where each has much work, whatever the number of nodes") {
  const auto made = split_case(R"(
    input x: float32[512,1024]
    param w: float32[1024,1024]
    a: float32[512,1024] = MatMul(x, w)
    b: float32[512,1024] = Dropout(a)
    c: float32[512,1024] = MatMul(b, w)
    d: float32[512,1024] = Dropout(c)
    e: float32[512,1024] = MatMul(d, w)
    output e)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::yes);
  CHECK(verdict.basis == WorkBasis::flops);
  CHECK(verdict.acc_work == 3 * 2.0 * 512 * 1024 * 1024);
  REQUIRE(verdict.criteria.size() == 3);
  CHECK(verdict.criteria[1].value == 3);
  CHECK(verdict.criteria[1].yes == 12);
  CHECK(verdict.criteria[1].maybe == 64);
}

TEST_CASE("Open dims are judged at their first sizes, before nodes are counted") {
  const auto made = split_case(R"(
    input x: float32[N,64]
    param w: float32[64,64]
    a: float32[N,64] = MatMul(x, w)
    b: float32[N,64] = Relu(a)
    output b)",
                               "MatMul");
  OpenSizes sizes;
  sizes.names = {"N"};
  sizes.flops.at_first = 8256;
  sizes.acc_flops.at_first = 8192;
  sizes.parts = PerPart<OpenPart>(made.split.partition.count());
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].input_bytes.at_first = 256;
    (*sizes.parts)[part].output_bytes.at_first = 256;
  }
  const auto verdict = judge_worth(made.graph, made.split, made.preview, nullptr, &sizes);
  REQUIRE(verdict);
  CHECK(verdict->basis == WorkBasis::flops_at_first);
  REQUIRE(verdict->criteria.size() == 3);
  CHECK(verdict->criteria[0].value == 8192.0 / 8256);
  CHECK(verdict->criteria[2].value == 8192.0 / 512);
  CHECK(verdict->answer == Worth::yes);
  sizes.flops.is_partial = true;
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].flops.is_partial = made.split.partition.is_acc(part);
  }
  const auto least = judge_worth(made.graph, made.split, made.preview, nullptr, &sizes);
  REQUIRE(least);
  CHECK(least->is_at_least);
  CHECK(least->criteria.size() == 2);
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].flops.is_partial = !made.split.partition.is_acc(part);
  }
  const auto partial = judge_worth(made.graph, made.split, made.preview, nullptr, &sizes);
  REQUIRE(partial);
  CHECK(partial->basis == WorkBasis::nodes);
  CHECK(partial->criteria[0].value == 0.5);
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
  // All on the CPU takes as long as the CPU alone.
  const auto none = split_case("input x: float32[2]\n a: float32[2] = Relu(x)\n output a", "f");
  time.without.total_us = time.without.all_cpu_us = 10;
  CHECK(judged(none, &time).answer == Worth::no);
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
