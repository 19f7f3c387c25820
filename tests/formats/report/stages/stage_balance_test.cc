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
}  // namespace cleave
