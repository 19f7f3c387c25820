#include "core/cost/target_spec.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

std::string refusal_of(std::string_view text) {
  const auto spec = parse_target(text);
  return spec ? "" : spec.error().message;
}

TEST_CASE("A target's numbers are read") {
  const auto spec = parse_target(
      "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,node=2us,memory=512MiB,max-subgraphs=8,"
      "link=gen4x4,duplex=full");
  REQUIRE(spec);
  const Machine machine = with_target({}, *spec);
  CHECK(machine.acc.flops_per_second == 4e12);
  CHECK(machine.acc.bytes_per_second == 50e9);
  CHECK(machine.acc.node_us == Approx(2));
  CHECK(*machine.launch_us == Approx(100));
  CHECK(machine.acc_memory == 512U << 20U);
  CHECK(machine.most_acc_parts == 8);
  CHECK(machine.duplex == Duplex::full);
  CHECK(spec->link->name == "gen4x4");
  CHECK(!machine.cpu.flops_per_second);
}

TEST_CASE("What a device draws is a sum of what FLOPs, bytes and launches draw") {
  const Machine machine =
      with_target(with_target({}, *parse_target("npu:energy=2pJ/FLOP+30pJ/byte+0.5mJ/launch")),
                  *parse_target("cpu:energy=40pJ/byte"));
  CHECK(machine.acc.energy == EnergyNumbers{2, 30, .5});
  CHECK(machine.cpu.energy == EnergyNumbers{0, 40, 0});
  for (const char* const wrong : {"2", "2pJ", "", "2pJ/FLOP+", "-1pJ/byte"}) {
    CHECK(refusal_of("npu:energy=" + std::string(wrong)) ==
          "\"" + std::string(wrong) +
              "\" is not a value of \"energy\": write energy=2pJ/FLOP+30pJ/byte");
  }
}

TEST_CASE("Numbers that are not given keep their values") {
  Machine machine{.launch_us = 7};
  machine = with_target(machine, *parse_target("cpu:flops=1GFLOP/s"));
  machine = with_target(machine, *parse_target("acc:node=3us"));
  CHECK(machine.launch_us == 7);
  CHECK(machine.cpu.flops_per_second == 1e9);
  CHECK(machine.acc.node_us == Approx(3));
}

TEST_CASE("An unknown target, number or value is refused with the remedy") {
  CHECK(refusal_of("Gpu:flops=1T") ==
        "\"Gpu:flops=1T\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
        "acc:launch=100us,...");
  CHECK(
      refusal_of("cpu:memory=1GiB") ==
      "\"memory\" is not a number of target cpu: there are flops, bandwidth, node, launch, energy");
  CHECK(refusal_of("acc:launch=100") == "\"100\" is not a value of \"launch\": write launch=100us");
  CHECK(refusal_of("acc:launch=1us,launch=2us") ==
        "\"acc:launch=1us,launch=2us\" states \"launch\" twice");
  CHECK(refusal_of("cpu:") ==
        "\"cpu:\" states no number: there are flops, bandwidth, node, launch, energy");
  CHECK(refusal_of("acc:duplex") == "\"\" is not a value of \"duplex\": write duplex=half");
}

}  // namespace
}  // namespace cleave
