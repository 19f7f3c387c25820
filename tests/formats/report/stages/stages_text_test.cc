#include "formats/report/stages/stages_report.h"

#include <limits>

#include "tests/catch2.h"

namespace cleave {

namespace {

TEST_CASE("a balance in JSON has its bound where there is one") {
  StageBalance balance;
  balance.unit = "us";
  balance.objective = 6;
  balance.bound = 4;
  balance.gap = 0.5;
  balance.certificate = "cut";
  balance.curve = {{.stages = 1, .objective = 10}, {.stages = 2, .objective = 6}};
  const auto with_bound = [](const std::string& bound) {
    return "{\n \"objective\": 6,\n \"bound\": " + bound +
           ",\n \"gap\": 0.5,\n \"certificate\": \"cut\",\n \"unit\": \"us\",\n \"curve\": [\n"
           "  {\"stages\": 1, \"objective\": 10},\n  {\"stages\": 2, \"objective\": 6}\n ]\n}\n";
  };
  CHECK(json_text(kBalanceFields, {&balance}) == with_bound("4"));
  balance.bound = 0;
  CHECK(json_text(kBalanceFields, {&balance}) == with_bound("null"));
  CHECK(json_text(kBalanceFields, {}) ==
        "{\n \"objective\": null,\n \"bound\": null,\n \"gap\": null,\n \"certificate\": null,\n"
        " \"unit\": null,\n \"curve\": []\n}\n");
}

}  // namespace
namespace {

// Two stages balanced by FLOPs, proved to be within this gap.
StageBalance with_gap(double gap) {
  StageBalance balance;
  balance.by = BalanceBy::flops;
  balance.unit = "count";
  balance.objective = 4e9;
  balance.bound = balance.objective / (1 + gap);
  balance.gap = gap;
  balance.certificate = "ideals";
  balance.loads = {{.compute = 4e9, .load = 4e9}, {.compute = 2e9, .load = 2e9}};
  return balance;
}

TEST_CASE("a proved gap is rounded up, with at most two digits") {
  const auto proof = [](double gap) {
    const std::string line = balance_conclusions(with_gap(gap), {"a", "b"}).front();
    return line.substr(line.find("GFLOP, ") + 7);
  };
  CHECK(proof(0) == "proved optimal (by exact search)");
  CHECK(proof(0.00004) == "proved within 0.01% of the optimum (by exact search)");
  CHECK(proof(0.00234) == "proved within 0.24% of the optimum (by exact search)");
  CHECK(proof(0.0503) == "proved within 5.1% of the optimum (by exact search)");
  CHECK(proof(0.123) == "proved within 13% of the optimum (by exact search)");
  CHECK(proof(1.234) == "proved within 130% of the optimum (by exact search)");
}

TEST_CASE("the conclusion names the slowest stage, and the mean load against it") {
  CHECK(balance_conclusions(with_gap(0), {"a", "b"}) ==
        std::vector<std::string>{"bottleneck a, 4 GFLOP, proved optimal (by exact search)",
                                 "mean load 75% of the bottleneck's"});
}

using Lines = std::vector<std::string>;

// Two stages balanced by time, in this unit.
StageBalance by_time(const std::string& unit, double objective) {
  StageBalance balance = with_gap(0);
  balance.by = BalanceBy::time;
  balance.unit = unit;
  balance.objective = objective;
  balance.loads = {{.compute = objective / 2, .load = objective / 2},
                   {.compute = objective * 0.8, .in = objective * 0.2, .load = objective}};
  balance.measured_share = 0.95;
  return balance;
}

TEST_CASE("the conclusion of times has the rate, the efficiency and what the proof holds for") {
  CHECK(balance_conclusions(by_time("us", 2000), {"a", "b"}) ==
        Lines{"bottleneck b, 2 ms, proved optimal for these times (measured 95%), by exact search",
              "throughput at most 500 a second; pipeline efficiency 65%"});
  StageBalance balance = by_time("ms", 2000);
  CHECK(balance_conclusions(balance, {"a", "b"})[0].starts_with("bottleneck b, 2 s, "));
  CHECK(balance_conclusions(balance, {"a", "b"})[1] ==
        "throughput at most 0.5 a second; pipeline efficiency 65%");
  balance.measured_share = 0;
  CHECK(balance_conclusions(balance, {"a", "b"})[0].ends_with(
      "proved optimal for these times (estimated), by exact search"));
  balance.gap = 9.99;
  CHECK(balance_conclusions(balance, {"a", "b"})[0].ends_with(
      "proved within 1000% of the optimum for these times (estimated), by exact search"));
  balance.gap = 10;
  balance.bound = 100;
  CHECK(balance_conclusions(balance, {"a", "b"})[0].ends_with(
      "no assignment is proved to need more than 100 ms, by exact search"));
}

TEST_CASE("each kind of proof and of what is balanced has its words") {
  const auto first = [](BalanceBy by, const std::string& certificate) {
    StageBalance balance = with_gap(0);
    balance.by = by;
    balance.certificate = certificate;
    balance.objective = 4096;
    return balance_conclusions(balance, {"a", "b"})[0];
  };
  CHECK(first(BalanceBy::bytes, "path-mincut") ==
        "bottleneck a, 4 KiB, proved optimal (by minimum cuts)");
  CHECK(first(BalanceBy::params, "single-node") ==
        "bottleneck a, 4,096 parameters, proved optimal (by its heaviest node alone)");
  CHECK(first(BalanceBy::nodes, "work") ==
        "bottleneck a, 4,096 nodes, proved optimal (by the sum of all work)");
}

TEST_CASE("fewer stages that are as good are told, of balances that are sure") {
  StageBalance balance = with_gap(0);
  balance.curve = {{.stages = 1, .objective = 6e9},
                   {.stages = 2, .objective = 4e9},
                   {.stages = 4, .objective = 4e9}};
  balance.enough_stages = 2;
  CHECK(balance_conclusions(balance, {"a", "b"}).back() == "2 stages are as good as 4");
  balance.enough_stages = 1;
  CHECK(balance_conclusions(balance, {"a", "b"}).back() == "1 stage is as good as 4");
  balance.enough_stages = 4;
  CHECK(balance_conclusions(balance, {"a", "b"}).size() == 2);
  balance.enough_stages = 2;
  balance.curve.back().objective = 4e9 / 1.0011;  // more stages are faster
  CHECK(balance_conclusions(balance, {"a", "b"}).size() == 2);
  balance.curve.back().objective = 4e9 / 1.0009;
  CHECK(balance_conclusions(balance, {"a", "b"}).size() == 3);
  balance.caveats = {"a caveat"};
  CHECK(balance_conclusions(balance, {"a", "b"}).back() == "a caveat");
  balance.is_least = true;  // nothing is proved, and what is known bounds the rate
  CHECK(balance_conclusions(balance, {"a", "b"}).front() == "bottleneck a, at least 4 GFLOP");
  balance.is_least = false;
  balance.caveats.clear();
  balance.is_partly_known = true;
  CHECK(balance_conclusions(balance, {"a", "b"}) ==
        Lines{"bottleneck a, at least 4 GFLOP", "mean load not known"});
  balance.by = BalanceBy::time;
  balance.unit = "us";
  CHECK(balance_conclusions(balance, {"a", "b"})[1] ==
        "throughput and pipeline efficiency not known");
}

TEST_CASE("where nothing costs anything there is nothing to balance") {
  StageBalance balance = with_gap(0);
  balance.objective = 0;
  CHECK(balance_conclusions(balance, {"a", "b"}) ==
        Lines{"no stage costs anything: there is nothing to balance"});
  balance.caveats = {"one", "two"};
  CHECK(balance_conclusions(balance, {"a", "b"}) ==
        Lines{"nothing to balance: no cost above 0 is known", "one", "two"});
  balance.loads.clear();
  CHECK(balance_conclusions(balance, {}).empty());
}

TEST_CASE("a share is a bar of computing and transfers, and a percentage") {
  const StageBalance balance = by_time("us", 100);
  const auto bar = [&](double compute, double load) {
    return share_bar(balance, {.compute = compute, .load = load}, 10);
  };
  CHECK(bar(60, 80) == "######==    80%");
  CHECK(bar(100, 100) == "########## 100%");
  CHECK(bar(0, 0) == "             0%");
  CHECK(bar(4, 5) == "=            5%");
  CHECK(bar(120, 50) == "#####       50%");
  CHECK(bar(50, 130) == "#####===== 100%");
  StageBalance none = balance;
  none.objective = 0;
  CHECK(share_bar(none, {.compute = 1, .load = 1}, 10) == "-");
}

TEST_CASE("amounts that are no number, or too large for one, are said to be so") {
  StageBalance balance = with_gap(0);
  CHECK(amount_text(balance, std::numeric_limits<double>::infinity()) == "-");
  balance.by = BalanceBy::bytes;
  CHECK(amount_text(balance, 1.7e19).ends_with(" EiB"));
  CHECK(amount_text(balance, 1.8e19) == "more than 15 EiB");
  balance.by = BalanceBy::nodes;
  CHECK(amount_text(balance, 2.5) == "3");
  CHECK(amount_text(balance, 1e18) == "?");
}

TEST_CASE("a curve has a bar for each number of stages, and of many only some") {
  StageBalance balance = by_time("us", 400);
  balance.curve = {{.stages = 1, .objective = std::numeric_limits<double>::infinity()},
                   {.stages = 2, .objective = 600},
                   {.stages = 3, .objective = 200}};
  CHECK(curve_text(balance) ==
        "stages  bottleneck\n"
        "     1           -  none found that fits\n"
        "     2      600 us  ##############################\n"
        "     3      200 us  ##########\n");
  CHECK(curve_text(balance, "devices").starts_with("devices  bottleneck\n"));
  balance.objective = 0;
  CHECK(curve_text(balance).empty());
  balance.objective = 400;
  const auto rows = [&](std::uint32_t most) {
    balance.curve.clear();
    for (std::uint32_t k = 1; k <= most; ++k) balance.curve.push_back({k, 600.0 / k});
    balance.enough_stages = 37;
    std::string text = curve_text(balance), stages;
    for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1) {
      stages += std::to_string(std::stoi(text.substr(at))) + " ";
    }
    return stages;
  };
  CHECK(rows(1).empty());
  CHECK(rows(2) == "1 2 ");
  CHECK(rows(20) == "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ");
  CHECK(rows(21) == "1 2 3 4 6 8 12 16 21 ");
  CHECK(rows(100) == "1 2 3 4 6 8 12 16 24 32 37 48 64 96 100 ");
}

}  // namespace

}  // namespace cleave
