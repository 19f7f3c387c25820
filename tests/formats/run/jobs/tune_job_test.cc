#include <filesystem>
#include <sstream>

#include "formats/run/jobs/tune_job.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// ---- tune job test ----

namespace {

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[64, 64] x) => (float[64, 64] y) { a = Exp (x) b = Sin (a) y = Neg (b) })";

// Tunes the model with a list that accepts `ops`, when Exp took 5 us and Sin 15 us on the accelerator: the
// times of nodes, or why there are none.
std::string tuned(const std::string& ops, double budget_seconds = 0) {
  const TestFolder folder;
  TuneRequest request;
  request.split.model.path = folder.with_file("m.onnx", onnx_bytes(kModel));
  request.command = "echo 0.25 ms";
  request.budget_seconds = budget_seconds;
  request.split.lists.paths = {folder.with_file("npu.txt", ops)};
  request.split.costs = {{CostTarget::acc, folder.with_file("t.csv", "Exp_0,5\nSin_1,15\n")}};
  for (const char* target :
       {"cpu:flops=1MFLOP/s,bandwidth=1MB/s", "acc:flops=1TFLOP/s,bandwidth=1TB/s,launch=1us"}) {
    request.split.targets.push_back(*parse_target(target));
  }
  const auto job = run_tuning(request);
  if (!job) return job.error().faults.front().message;
  std::ostringstream text;
  for (const NamedTime& time : job->acc_times) text << time.name << " " << time.us << "; ";
  return text.str();
}

TEST_CASE("the time of a partition, less the launch, is divided by the known times of its nodes") {
  CHECK(tuned("Exp\nSin\n") == "Exp_0 62.25; Sin_1 186.75; ");
}

TEST_CASE("times that were given are no result when no partition was timed") {
  CHECK(tuned("Conv\n") == "no partition is on the accelerator, so there is nothing to time");
  CHECK(tuned("Exp\nSin\n", 1e-9) == "the budget ended before a partition was timed");
}

TEST_CASE("no whole split is timed once the budget is spent") {
  const TestFolder folder;
  TuneRequest request;
  request.split.model.path = folder.with_file("m.onnx", onnx_bytes(kModel));
  request.split.lists.paths = {folder.with_file("npu.txt", "Exp\nSin\n")};
  for (const char* target :
       {"cpu:flops=1MFLOP/s,bandwidth=1MB/s", "acc:flops=1TFLOP/s,bandwidth=1TB/s,launch=1us"}) {
    request.split.targets.push_back(*parse_target(target));
  }
  request.command = "echo 0.25 ms";
  request.journal = folder.path("times.journal");
  REQUIRE(run_tuning(request));
  // The journal has the times of all partitions, so only whole splits would be run.
  request.whole_command = "touch " + folder.path("ran") + "; echo 1";
  request.budget_seconds = 1e-9;
  const auto job = run_tuning(request);
  REQUIRE(job);
  CHECK(job->end == TuneEnd::repeats);
  CHECK(job->wholes.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path("ran")));
  CHECK(tune_text(*job).ends_with(
      "not measured as a whole: the budget ended before all whole splits were timed: --limit "
      "time=TIME gives it more\n"));
  CHECK_FALSE(job->plan.empty());
  request.budget_seconds = 0;
  CHECK(run_tuning(request)->wholes.size() == 3);
}

}  // namespace

// ---- tune journal test ----

namespace {

TuneJournal opened(const std::string& path, const std::string& command) {
  auto journal = TuneJournal::open(path, command);
  if (!journal) FAIL(journal.error().message);
  return *std::move(journal);
}

const std::string kHash(64, 'a'), kOther(64, 'b');
const std::string kHead = "{\"format\":\"cleave tune journal\",\"version\":2}\n";

TEST_CASE("the journal keeps times for the same command only") {
  const TestFolder folder;
  const std::string path = folder.path("j");
  {
    TuneJournal first = opened(path, "run {model}");
    CHECK_FALSE(first.find(kHash));
    REQUIRE(first.add(kHash, 12.5));
    CHECK(first.find(kHash) == 12.5);
    CHECK(first.used_before() == 0);
  }
  {
    TuneJournal again = opened(path, "run {model}");
    CHECK(again.find(kHash) == 12.5);
    CHECK(again.find(kHash) == 12.5);
    CHECK_FALSE(again.find("other"));
    CHECK(again.used_before() == 1);
  }
  TuneJournal other = opened(path, "run --fast {model}");
  CHECK_FALSE(other.find(kHash));
  CHECK(other.used_before() == 0);
}

TEST_CASE("a file that is not a journal of times is refused, and stays as it is") {
  const TestFolder folder;
  const auto is_refused = [&](const std::string& content) {
    const std::string path = folder.with_file("j", content);
    const auto journal = TuneJournal::open(path, "run");
    const bool is_told =
        !journal && journal.error().message ==
                        path +
                            ": is not a journal of cleave tune, which would write one here: "
                            "move it, or write elsewhere";
    CHECK(folder.content("j") == content);
    return is_told;
  };
  CHECK(is_refused("Conv\nRelu\n"));
  CHECK(is_refused("my notes"));
  CHECK(is_refused("notes 7\n"));
  CHECK(is_refused(kHash + " 7\n"));  // of an earlier version
}

TEST_CASE("a time is read as it was written, with all its digits") {
  const TestFolder folder;
  const double us = 1234567.0 / 3;
  REQUIRE(opened(folder.path("j"), "run").add(kHash, us));
  CHECK(opened(folder.path("j"), "run").find(kHash) == us);
}

TEST_CASE("a line that is no time of this command is passed over") {
  const TestFolder folder;
  const std::string path = folder.path("j");
  REQUIRE(opened(path, "run").add(kHash, 7));
  const std::string whole = folder.content("j");
  const std::string key = whole.substr(kHead.size(), 2 * 64 + 1);
  for (const std::string time : {"-5", "0x10", "5 6", "1e300", "nan", "inf", "", "\x1b[1m5"}) {
    folder.with_file("j", kHead + "notes\n" + key + " " + time + "\n" + kOther + " 5\n");
    INFO(time);
    CHECK_FALSE(opened(path, "run").find(kHash));
  }
  folder.with_file("j", whole + "notes\n");
  CHECK(opened(path, "run").find(kHash) == 7);
}

TEST_CASE("a line of times that was cut off is dropped, and an unused journal removed") {
  const TestFolder folder;
  const std::string whole = kHead + kHash + "." + kOther + " 7\n";
  const std::string path = folder.with_file("j", whole + kHash + ".0");
  { opened(path, "run"); }
  CHECK(folder.content("j") == whole);
  { opened(folder.path("unused"), "run"); }
  CHECK_FALSE(std::filesystem::exists(folder.path("unused")));
}

}  // namespace

// ---- tune text test ----

namespace {

// A job of these times of an inference, in microseconds, round by round.
TuneJob job_of(const std::vector<double>& totals, std::optional<double> all_cpu = 9000) {
  TuneJob job;
  for (const double total : totals) {
    TunedRound& round = job.rounds.emplace_back();
    round = {.acc_parts = 2, .distinct = 1, .timed = 1, .known = 0, .all_cpu_us = all_cpu};
    if (total >= 0) round.total_us = total;
    if (total < job.rounds[job.best].total_us) job.best = job.rounds.size() - 1;
  }
  job.last = job.best;
  return job;
}

std::string headline_of(const TuneJob& job) {
  const std::string text = tune_text(job);
  return text.substr(0, text.find("\n\n"));
}

TEST_CASE("the headline of tuning has the best round, and the CPU alone beside it") {
  CHECK(headline_of(job_of({3000})) ==
        "latency 3 ms after 1 round, all on the CPU 9 ms (3.00x); the placement repeats");
  CHECK(headline_of(job_of({5000, 3000, 4000})) ==
        "latency 3 ms after 3 rounds, in round 2, all on the CPU 9 ms (3.00x); the placement "
        "repeats");
  CHECK(headline_of(job_of({5000, 3000})).find("in round") == std::string::npos);
  CHECK(headline_of(job_of({12000})) ==
        "latency 12 ms after 1 round, slower than the CPU alone (9 ms); the placement repeats");
  // The same to three digits is not slower.
  CHECK(headline_of(job_of({9000.001})) ==
        "latency 9 ms after 1 round, all on the CPU 9 ms (1.00x); the placement repeats");
  CHECK(headline_of(job_of({9000})).find("slower") == std::string::npos);
  CHECK(headline_of(job_of({3000}, std::nullopt)) ==
        "latency 3 ms after 1 round; the placement repeats");
  CHECK(headline_of(job_of({-1})) ==
        "latency not known after 1 round: --costs FILE gives the times on the CPU; the placement "
        "repeats");
  CHECK(headline_of(job_of({0})) == "latency 0 ns after 1 round; the placement repeats");
  CHECK(tune_text({}) == "the budget was spent in the first round: latency not known\n");
}

TEST_CASE("what tuning leaves open is said below the headline") {
  TuneJob job = job_of({3000, 4000});
  job.last = 1;
  CHECK(headline_of(job) ==
        "latency 3 ms after 2 rounds, in round 1, all on the CPU 9 ms (3.00x); the placement "
        "repeats\n"
        "--place cost with these times gives the placement of round 2 (4 ms), not that of round 1: "
        "the times of its partitions do not add up from nodes");
  job.end = TuneEnd::budget;
  CHECK(headline_of(job) ==
        "latency 3 ms after 2 rounds, in round 1, all on the CPU 9 ms (3.00x); the budget is "
        "spent\n"
        "--place cost with these times may give a placement that was not timed");
  job = job_of({3000});
  job.from_journal = 1;
  CHECK(headline_of(job).ends_with(
      "\n1 time is from the journal of an earlier run: remove it to start afresh"));
  job.from_journal = 2;
  CHECK(headline_of(job).ends_with(
      "\n2 times are from the journal of an earlier run: remove it to start afresh"));
}

TEST_CASE("each round of tuning is a row, and what was not measured is said") {
  TuneJob job = job_of({5000, -1});
  job.rounds[1] = {.acc_parts = 7, .distinct = 5, .timed = 3, .known = 4};
  CHECK(tune_text(job).substr(tune_text(job).find("\n\n") + 2) ==
        "round  partitions  distinct  timed  known    latency\n"
        "1               2         1      1      0       5 ms\n"
        "2               7         5      3      4  not known\n"
        "\n"
        "not measured as a whole: --run 'COMMAND {split}' compares the plan with the CPU alone\n");
}

std::string wholes_of(const std::vector<TunedWhole>& wholes) {
  TuneJob job = job_of({3000});
  job.wholes = wholes;
  const std::string text = tune_text(job);
  return text.substr(text.find("measured as a whole"));
}

using What = TunedWhole::What;

TEST_CASE("of wholes that were measured the fastest is the advice") {
  CHECK(wholes_of({{What::plan, 2, 3000, 3500}, {What::cpu, 0, 9000, 8000}}) ==
        "measured as a whole, the plan takes 3.5 ms, predicted 3 ms\n"
        "\n"
        "as a whole     partitions  predicted  measured\n"
        "the plan                2       3 ms    3.5 ms\n"
        "the CPU alone           0       9 ms      8 ms\n");
  CHECK(wholes_of({{What::plan, 2, std::nullopt, 3500}, {What::greedy, 3, 4000, 3400}})
            .starts_with("measured as a whole, the plan takes 3.5 ms, predicted not known: it is "
                         "not the fastest; all that the lists accept takes 3.4 ms: split "
                         "without --place cost\n"));
  CHECK(wholes_of({{What::plan, 2, 3000, 3500}, {What::cpu, 0, 5000, 3000}})
            .starts_with("measured as a whole, the plan takes 3.5 ms, predicted 3 ms: it is not "
                         "the fastest; the CPU alone takes 3 ms: do not split this model for "
                         "this accelerator\n"));
  // Of equals the plan stays.
  CHECK(wholes_of({{What::plan, 2, 3000, 3000}, {What::cpu, 0, 5000, 3000}})
            .find("not the fastest") == std::string::npos);
}

TEST_CASE("a profile that is twice off what the CPU takes now is told") {
  const auto is_told = [](std::optional<double> predicted, double measured, What what = What::cpu) {
    std::string text = wholes_of({{What::plan, 2, 100, 100}, {what, 0, predicted, measured}});
    for (std::size_t at = text.find("\n  "); at != text.npos; at = text.find("\n  ")) {
      text.replace(at, 3, " ");
    }
    return text.find("the profile does not fit this machine now") != text.npos;
  };
  CHECK(is_told(1000, 2000));
  CHECK_FALSE(is_told(1000, 1999));
  CHECK_FALSE(is_told(1000, 501));
  CHECK(is_told(1000, 500));
  CHECK_FALSE(is_told(std::nullopt, 2000));
  CHECK_FALSE(is_told(0, 2000));
  CHECK_FALSE(is_told(1000, 0));
  CHECK_FALSE(is_told(1000, 5000, What::greedy));
}

}  // namespace

}  // namespace cleave
