#include "formats/report/lowering/lowering_report.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// A model of one node and several open inputs, lowered in one round as one partition.
struct Lowered {
  LoadedModel model{SourceFile::from_text("m.onnx", ""),
                    GraphJsonOrigin{},
                    graph_from_text(R"(
    input a: float32[N,3]
    input b: float32[N]
    input c: float32[M,?]
    input d: float32[N,1]
    input e: float32[N,2]
    y: float32[N] = f(a, b, c, d, e)
    output y)"),
                    {},
                    {}};
  std::vector<Backend> backends;
  PoolOptions pool;
  SearchSettings search;
  LowerOutcome outcome;

  Lowered() {
    outcome.reference = "onnxruntime 1";
    outcome.rounds.emplace_back();
    outcome.rounds.back().parts.emplace_back();
    part().name = "p";
    part().nodes = {node_named(model.graph, "y")};
  }
  LoweredPart& part() { return outcome.rounds.back().parts.front(); }
  void pin(std::string_view input, const Sizes& shape) {
    part().pinned.push_back({value_named(model.graph, input), shape});
  }
  LoweringReport report() const { return {model, backends, pool, search, outcome}; }
  std::string text() const { return lowering_text(report()); }
  std::vector<std::string> advice(std::vector<std::string> list_options = {}) const {
    LoweringReport report = this->report();
    report.list_options = std::move(list_options);
    return advice_texts(report);
  }
};

using Texts = std::vector<std::string>;

TEST_CASE("shapes that were pinned are listed with all their dims, each input once") {
  Lowered lowered;
  CHECK(lowered.advice().empty());
  lowered.pin("a", {1, 3});
  lowered.pin("b", {1});
  lowered.pin("a", {1, 3});
  CHECK(lowered.advice() == Texts{"open shapes set to those of the reference's run: "
                                  "a float32[N, 3] as [1, 3], b float32[N] as [1]"});
}

TEST_CASE("four pinned shapes are listed, and the others counted") {
  Lowered lowered;
  lowered.pin("a", {1, 3});
  lowered.pin("b", {1});
  lowered.pin("c", {2, 4});
  lowered.pin("d", {1, 1});
  lowered.pin("e", {1, 2});
  CHECK(lowered.advice() ==
        Texts{"open shapes set to those of the reference's run: a float32[N, 3] as [1, 3], "
              "b float32[N] as [1], c float32[M, ?] as [2, 4], d float32[N, 1] as [1, 1] "
              "and 1 more (lowering.json has all)"});
}

TEST_CASE("sizes are proposed for partitions that are refused only for open inputs") {
  Lowered lowered;
  lowered.outcome.reference.clear();
  lowered.pin("a", {1, 3});
  lowered.part().needs_sizes = true;
  lowered.outcome.sizes.dims.push_back({"N", 1});
  CHECK(lowered.advice() ==
        Texts{"1 partition of 1 node is refused only because inputs are open (a: float32[N, 3], "
              "b: float32[N], c: float32[M, ?], d: float32[N, 1] and 1 more), so no op is denied "
              "for it. With sizes all compile: add --dim N=1, or the sizes that you run the model "
              "with. To deny what does not take open shapes, add --pin-shapes off"});
}

TEST_CASE("a model of which the lists take nothing is no success") {
  Lowered lowered;
  lowered.backends.emplace_back().name = "vela";
  lowered.outcome.identities = {""};
  lowered.outcome.is_clean = true;
  lowered.part().is_lowered = true;
  CHECK(ci_report(lowered.report()).is_passed);
  lowered.outcome.rounds.back().parts.clear();
  lowered.outcome.takes_nothing = true;
  CHECK(conclusion_text(lowered.report()).starts_with("NOTHING TO LOWER: "));
  const CiReport ci = ci_report(lowered.report());
  CHECK(!ci.is_passed);
  REQUIRE(ci.suites.size() == 1);
  REQUIRE(ci.suites[0].cases.size() == 1);
  CHECK(ci.suites[0].cases[0].outcome == CiCase::Outcome::failure);
}

TEST_CASE("a backend that only compiles does not compare, whatever was asked for") {
  Lowered lowered;
  Backend& vela = lowered.backends.emplace_back();
  vela.name = "vela";
  vela.serve = BackendServe{.argv = {"vela"}, .ops = {"compile"}};
  lowered.outcome.identities = {""};
  lowered.pool.compares = true;
  CHECK(lowered.text().find(
            "values are not compared: vela compiles, and does not run what it made") !=
        std::string::npos);
  vela.serve->ops.emplace_back("run");
  CHECK(lowered.text().find("not compared") == std::string::npos);
}

TEST_CASE("a partition that was compiled only, though values are compared, is told") {
  Lowered lowered;
  lowered.backends.emplace_back().name = "npu";
  lowered.backends[0].serve = BackendServe{.argv = {"npu"}, .ops = {"compile", "run"}};
  lowered.outcome.identities = {""};
  lowered.pool.compares = true;
  lowered.part().attempt.verdict = LowerVerdict::lowered;
  const auto is_told = [&] {
    return lowered.text().find("NOT compared, as the reference has no values") != std::string::npos;
  };
  CHECK(is_told());
  lowered.part().attempt.stage = LowerStage::run;
  CHECK_FALSE(is_told());
}

TEST_CASE(
    "asking anew (--cache off) is proposed where an earlier run lowered more, and verdicts were "
    "kept") {
  Lowered lowered;
  lowered.outcome.lowered_before = 134;
  CHECK(lowered.advice().empty());
  lowered.outcome.cache_hits = 3;
  REQUIRE(lowered.advice().size() == 1);
  CHECK(lowered.advice().front().find("an earlier run of the same lowered 134 nodes") == 0);
  CHECK(lowered.advice().front().find("--cache off") != std::string::npos);
}

TEST_CASE("a rule with little behind it says so, and how to repeat it") {
  Lowered lowered;
  lowered.backends.emplace_back().name = "npu";
  lowered.outcome.identities = {""};
  LowerFinding& found = lowered.outcome.findings.emplace_back();
  found.part = "p";
  found.finding.kind = FindingKind::culprit;
  found.finding.nodes = lowered.part().nodes;
  found.rule = "deny op f";
  found.cases = 3;
  LoweringReport report = lowered.report();
  report.folder = "my o";
  const auto has = [&](const std::string& words) {
    return lowering_text(report).find(words) != std::string::npos;
  };
  CHECK(has("; deny op f; see my o/findings/1\n"));
  found.cases = 1;
  found.is_weak = true;
  CHECK(doubt_text(report, 0) == "1 case: repeat it with sh 'my o/findings/1/command.sh'");
  CHECK(has("; deny op f (1 case: repeat it with sh"));
  CHECK(doubt_text(lowered.report(), 0) == "1 case: -o DIR writes a command that repeats it");
  // What failed by chance elsewhere makes a rule of many cases doubtful, too.
  found.cases = 3;
  found.is_weak = false;
  lowered.part().attempt.before = "crashed (SIGSEGV)";
  CHECK(doubt_text(lowered.report(), 0) ==
        "3 cases, and npu fails by chance, too: -o DIR writes a command that repeats it");
  found.rule.clear();
  CHECK(doubt_text(lowered.report(), 0).empty());
}

TEST_CASE("shares of lowered nodes are rounded, and only all of them are 100%") {
  Lowered lowered;
  lowered.backends.emplace_back().name = "vela";
  lowered.outcome.identities = {""};
  const auto share = [&](std::size_t some, std::size_t all) {
    lowered.outcome.nodes_lowered = some;
    lowered.outcome.nodes = all;
    const std::string text = conclusion_text(lowered.report());
    const std::size_t at = text.find('(') + 1;
    return text.substr(at, text.find(')') - at);
  };
  CHECK(share(23, 31) == "74.2%");
  CHECK(share(9999, 10000) == "99.9%");
  CHECK(share(5, 5) == "100.0%");
}

TEST_CASE("the command that repeats the split is given when the lists give the same partitions") {
  Lowered lowered;
  lowered.outcome.sizes.dims.push_back({"N", 1});
  lowered.outcome.bound = BoundSplit{.is_same = true, .other_shapes = {}};
  CHECK(lowered.advice({"--support", "my npu.json"}) ==
        Texts{"the same partitions with these shapes: "
              "cleave split m.onnx --support 'my npu.json' --dim N=1 -o parts"});
  lowered.outcome.bound->is_same = false;
  CHECK(lowered.advice({"--support", "my npu.json"}) ==
        Texts{"with --dim N=1 the lists give other partitions: run lower again with it"});
}

TEST_CASE("only values that differ raise the question of the backend's precision") {
  Lowered lowered;
  lowered.backends.emplace_back();
  lowered.backends[0].name = "npu";
  lowered.outcome.identities = {"1.0"};
  const auto asks = [&](LowerVerdict verdict, const std::string& float32_backend) {
    lowered.part().attempt.verdict = verdict;
    lowered.backends[0].float32_backend = float32_backend;
    return lowered.text().find("precision") != std::string::npos ||
           lowered.text().find("less than float32") != std::string::npos;
  };
  CHECK(asks(LowerVerdict::lower_precision, ""));
  CHECK(asks(LowerVerdict::lower_precision, "npu_f32"));
  CHECK(asks(LowerVerdict::wrong_values, "npu_f32"));
  CHECK_FALSE(asks(LowerVerdict::wrong_values, ""));
  CHECK_FALSE(asks(LowerVerdict::refused, "npu_f32"));
  CHECK_FALSE(asks(LowerVerdict::lowered, "npu_f32"));
}

}  // namespace

}  // namespace cleave
