#include "formats/report/words/cost_words.h"

#include "core/measures/preview.h"
#include "tests/catch2.h"
#include "tests/formats/report/report_case.h"

#include <nlohmann/json.hpp>

namespace cleave {
namespace {

constexpr std::string_view kModel = R"(
  input x: float32[1000,1000]
  a: float32[1000,1000] = MatMul(x, x)
  b: float32[1000,1000] = Exp(a)
  c: float32[1000,1000] = MatMul(b, x)
  output c
)";

// CPU: 1 ms a node. Accelerator: 0.1 ms a node.
TimeBasis basis_of(const Graph& graph, double launch_us) {
  TimeBasis basis;
  basis.machine.launch_us = launch_us;
  basis.machine.link_bytes_per_second = 8e9;  // 4 MB: 0.5 ms
  basis.times = target_times(graph, basis.machine, MeasuredTimes(graph.node_count(), 1000),
                             MeasuredTimes(graph.node_count(), 100));
  return basis;
}

std::string headline(double launch_us, Residency residency = Residency::off) {
  ReportCase made = make_report_case(kModel, "MatMul\n");
  made.options.residency = residency;
  const Graph& graph = made.model.graph;
  const InferenceTime time =
      inference_time(graph, made.split, made.options, basis_of(graph, launch_us));
  return latency_headline(graph, time);
}

TEST_CASE("the headline has the latency, its terms, and the best possible latency") {
  // Over the link: x in, a out; b, x in; c out, with residency x once. A MatMul alone on the
  // accelerator gains 0.9 ms and sends at least 1 ms.
  CHECK(headline(10) ==
        "latency 3.72 ms, slower than the CPU alone (3 ms, 0.81x): 1 CPU + 0.2 acc + 2.5 link + "
        "0.02 for 2 launches; no faster placement than the CPU alone was found");
  CHECK(headline(10, Residency::on) ==
        "latency 3.22 ms, slower than the CPU alone (3 ms, 0.93x): 1 CPU + 0.2 acc + 2 link + "
        "0.02 for 2 launches; no faster placement than the CPU alone was found");
}

TEST_CASE("the headline says when the accelerator gains nothing") {
  CHECK(headline(5000).find("no faster placement than the CPU alone was found") !=
        std::string::npos);
}

TEST_CASE("a missing number is named with the option that provides it") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Graph& graph = made.model.graph;
  const auto line = [&](TimeBasis basis) {
    return latency_headline(graph, inference_time(graph, made.split, {}, std::move(basis)));
  };
  TimeBasis nothing;
  nothing.times = target_times(graph, nothing.machine, {}, {});
  CHECK(line(nothing) ==
        "latency not known, give the times of both sides: --costs FILE with a profile of the CPU, "
        "and --target acc:flops=4TFLOP/s,bandwidth=50GB/s,launch=100us");
  CHECK_FALSE(has_times(inference_time(graph, made.split, {}, nothing)));
  TimeBasis measured;
  measured.times = target_times(graph, {}, MeasuredTimes(graph.node_count(), 1000), {});
  CHECK(
      line(measured).starts_with("latency not known, all on the CPU 3 ms; times of the accelerator "
                                 "are missing: give --target"));
  TimeBasis half = measured;
  half.machine.acc.flops_per_second = 1e12;
  half.machine.launch_us = 100;
  CHECK(line(half) ==
        "latency not known, all on the CPU 3 ms; times of the accelerator are missing: give "
        "--target acc:bandwidth=50GB/s, or --costs acc=FILE");
  TimeBasis no_launch = basis_of(graph, 10);
  no_launch.machine.launch_us = std::nullopt;
  CHECK(line(no_launch) ==
        "latency not known, all on the CPU 3 ms; the time of a launch is missing: give --target "
        "acc:launch=100us");
}

TEST_CASE("a node without a time is named with its device and the ways out") {
  const ReportCase made = make_report_case(R"(
    input x: float32[100,100]
    a: float32[100,100] = MatMul(x, x)
    b1: float32[?,100] = Mystery(a)
    output b1
  )",
                                           "MatMul\nMystery\n");
  const Graph& graph = made.model.graph;
  const Machine machine{.acc = {.flops_per_second = 1e14, .bytes_per_second = 1e12},
                        .launch_us = 1};
  const TimeBasis basis{
      .times = target_times(graph, machine, MeasuredTimes(graph.node_count(), 1000), {}),
      .machine = machine};
  CHECK(latency_headline(graph, inference_time(graph, made.split, made.options, basis)) ==
        "latency not known, all on the CPU 2 ms; node \"b1\" (Mystery) has no time on the "
        "accelerator, since its FLOPs or sizes are not known: give a profile made there (--costs "
        "acc=FILE), or the sizes of its dims (--dim), or leave it on the CPU (--deny b1)");
}

TEST_CASE(
    "time of the profile that no node has is said, and no verdict is given that it may flip") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Graph& graph = made.model.graph;
  TimeBasis basis = basis_of(graph, 10);
  const auto line = [&] {
    return latency_headline(graph, inference_time(graph, made.split, made.options, basis));
  };
  basis.cpu_unmatched = {100, 3100};  // 3.72 ms against 3 ms: slower in any case
  CHECK(line() ==
        "latency 3.72 ms, slower than the CPU alone (3 ms, 0.81x): 1 CPU + 0.2 acc + 2.5 link + "
        "0.02 for 2 launches; no faster placement than the CPU alone was found; 3.2% of the "
        "profile's time (100 us) is of kernels that match no node, and in no figure");
  basis.cpu_unmatched = {1000, 4000};
  CHECK(line() ==
        "latency 3.72 ms: 1 CPU + 0.2 acc + 2.5 link + 0.02 for 2 launches; all on the CPU 3 ms "
        "(the faster one is not known); no faster placement than the CPU alone was found; 25% of "
        "the profile's time (1 ms) is of kernels that match no node, and in no figure");
  CHECK(times_text(graph, inference_time(graph, made.split, made.options, basis))
            .starts_with("CPU: measured, but 25% of the profile's time matches no node; "));
}

TEST_CASE("a time on the CPU that is mostly estimated says so") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Graph& graph = made.model.graph;
  TimeBasis basis = basis_of(graph, 10);
  basis.times.cpu.origins[id_at<NodeId>(0)] = TimeOrigin::estimated;
  basis.times.cpu.origins[id_at<NodeId>(1)] = TimeOrigin::estimated;
  basis.machine.link_bytes_per_second = 8e12;
  CHECK(latency_headline(graph, inference_time(graph, made.split, made.options, basis))
            .find("; all on the CPU 3 ms (2.5x; 33.3% of it measured)") != std::string::npos);
}

TEST_CASE("a share of measured times is that of each side") {
  CHECK(measured_text({}) == "estimated");
  CHECK(measured_text({.cpu = 1.0, .acc = 1.0}) == "measured 100%");
  CHECK(measured_text({.cpu = 1.0, .acc = 0.06}) == "CPU measured 100%, accelerator measured 6%");
  CHECK(measured_text({.cpu = 1.0, .acc = 0.0}) == "CPU measured 100%, accelerator estimated");
  CHECK(measured_text({.cpu = 1.0}) == "measured 100%");
}

TEST_CASE("a proof names the times that it holds for") {
  const ReportCase made = make_report_case(kModel, "MatMul\nExp\n");
  const Graph& graph = made.model.graph;
  TimeBasis basis = basis_of(graph, 10);
  const std::string line =
      latency_headline(graph, inference_time(graph, made.split, made.options, basis));
  CHECK(line.starts_with("latency 1.31 ms, proved optimal for these times (measured 100%): 0 CPU"));
  Machine rates{.cpu = {.flops_per_second = 1e12, .bytes_per_second = 1e10},
                .acc = {.flops_per_second = 1e14, .bytes_per_second = 1e12},
                .launch_us = 1};
  basis = {.times = target_times(graph, rates, {}, {}), .machine = rates};
  CHECK(latency_headline(graph, inference_time(graph, made.split, made.options, basis))
            .find("proved optimal for these times (estimated)") != std::string::npos);
}

TEST_CASE("the text on residency compares bytes, rates and latency with and without it") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Graph& graph = made.model.graph;
  const InferenceTime time = inference_time(graph, made.split, made.options, basis_of(graph, 10));
  CHECK(residency_text(time, true) ==
        "15.3 MiB instead of 19.1 MiB cross the link if values stay on the accelerator (peak 11.4 "
        "MiB); 667 QPS, 1,000 with it; latency 3.72 ms, 3.22 ms with it");
  JsonText json;
  json.begin_object();
  write_latency(json, time.asked());
  write_residency(json, time, made.split.partition);
  json.end_object();
  const auto read = nlohmann::json::parse(std::move(json).finish());
  CHECK(read["latency"]["launches"] == 2);
  CHECK(read["latency"]["all_cpu_us"] == 3000);
  CHECK(read["latency"]["is_measured"] == true);
  CHECK(read["residency"]["off"]["link_bytes"] == 20'000'000);
  CHECK(read["residency"]["on"]["link_bytes"] == 16'000'000);
}

}  // namespace
}  // namespace cleave
