#include "formats/report/stages/stage_balance.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

std::string json_of(const std::optional<StageBalance>& balance) {
  JsonText json;
  json.begin_object();
  write_balance(json, balance);
  json.end_object();
  return std::move(json).finish();
}

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
  CHECK(json_of(balance) == with_bound("4"));
  balance.bound = 0;
  CHECK(json_of(balance) == with_bound("null"));
  CHECK(json_of({}) ==
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

}  // namespace
}  // namespace cleave
