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

TEST_CASE(
    "A target's name is a word of lower-case letters, digits and underscores behind a letter") {
  for (const char* const name : {"a", "z", "acc", "npu0_big", "zz9"}) {
    const auto spec = parse_target(std::string(name) + ":node=1us");
    REQUIRE(spec);
    CHECK(spec->name == name);
    CHECK(spec->target == TargetName::acc);
  }
  for (const char* const name : {"", "`", "{", "0a", "_a", "A", "aB", "a-b", "a b"}) {
    const std::string text = std::string(name) + ":node=1us";
    CHECK(refusal_of(text) ==
          "\"" + text +
              "\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
              "acc:launch=100us,...");
  }
  CHECK(refusal_of("acc") ==
        "\"acc\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
        "acc:launch=100us,...");
}

TEST_CASE(
    "All of a target's keys are listed where none is stated, those of a CPU where it is one") {
  CHECK(refusal_of("acc:") ==
        "\"acc:\" states no number: there are flops, bandwidth, node, launch, energy, memory, "
        "max-subgraphs, link, duplex");
  CHECK(refusal_of(" npu : ") ==
        "\" npu : \" states no number: there are flops, bandwidth, node, launch, energy, memory, "
        "max-subgraphs, link, duplex");
  CHECK(
      refusal_of("npu:speed=1") ==
      "\"speed\" is not a number of target npu: there are flops, bandwidth, node, launch, energy, "
      "memory, max-subgraphs, link, duplex");
}

TEST_CASE("Blanks around a target's keys and values do not count, and a comma may end them") {
  const auto spec = parse_target(" npu : launch = 3us , node=2us ,");
  REQUIRE(spec);
  CHECK(spec->name == "npu");
  CHECK(*spec->launch_us == Approx(3));
  CHECK(*spec->node_us == Approx(2));
  CHECK(parse_target("npu:energy=2pJ/FLOP + 30pJ/byte")->energy == EnergyNumbers{2, 30, 0});
  CHECK(refusal_of("npu:launch=3us,,node=2us") != "");
}

TEST_CASE("A CPU has its own launch time and energy, and a target's memory and parts are whole") {
  const Machine machine =
      with_target({}, *parse_target("cpu:launch=4us,node=1us,bandwidth=2GB/s,energy=1pJ/FLOP"));
  CHECK(machine.cpu_launch_us == Approx(4));
  CHECK_FALSE(machine.launch_us);
  CHECK(machine.cpu.node_us == Approx(1));
  CHECK(machine.cpu.bytes_per_second == 2e9);
  CHECK(machine.cpu.energy == EnergyNumbers{1, 0, 0});
  CHECK_FALSE(machine.acc.energy);
  CHECK(with_target({}, *parse_target("npu:launch=4us")).cpu_launch_us == Machine{}.cpu_launch_us);
  CHECK(with_target({}, *parse_target("npu:duplex=half")).duplex == Duplex::half);
  CHECK(refusal_of("npu:max-subgraphs=1.5") ==
        "\"1.5\" is not a value of \"max-subgraphs\": write max-subgraphs=8");
  CHECK(refusal_of("npu:max-subgraphs=8us") ==
        "\"8us\" is not a value of \"max-subgraphs\": write max-subgraphs=8");
  CHECK(refusal_of("npu:duplex=both") ==
        "\"both\" is not a value of \"duplex\": write duplex=half");
}

TEST_CASE("The names of a target's numbers are known") {
  for (const char* const name : {"flops", "bandwidth", "node", "launch", "energy", "memory",
                                 "max-subgraphs", "link", "duplex"}) {
    CHECK(is_target_number(name));
  }
  for (const char* const name : {"", "flop", "speed", "Flops"}) CHECK_FALSE(is_target_number(name));
}

}  // namespace
}  // namespace cleave
