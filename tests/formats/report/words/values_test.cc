#include <nlohmann/json.hpp>

#include "core/measures/measures.h"
#include "formats/report/words/words.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/report_case.h"

namespace cleave {

// ---- cost words test ----

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
  Report report = made.report();
  report.time = &time;
  const auto read = nlohmann::json::parse(report_json(report));
  CHECK(read["latency"]["launches"] == 2);
  CHECK(read["latency"]["all_cpu_us"] == 3000);
  CHECK(read["latency"]["is_measured"] == true);
  CHECK(read["residency"]["off"]["link_bytes"] == 20'000'000);
  CHECK(read["residency"]["on"]["link_bytes"] == 16'000'000);
}

TEST_CASE("numbers of a machine that changed are told with what they were") {
  const Machine before{.cpu = {.flops_per_second = 1e12, .bytes_per_second = 5e10, .node_us = 2},
                       .launch_us = 500};
  CHECK(changed_numbers(before, before).empty());
  Machine now = before;
  now.cpu.node_us = 0;
  now.acc.flops_per_second = 4e12;
  now.launch_us = std::nullopt;
  now.cpu_launch_us = 3;
  now.duplex = Duplex::full;
  CHECK(changed_numbers(before, now) ==
        std::vector<std::string>{
            "target cpu: 1 TFLOP/s, 50 GB/s, was 1 TFLOP/s, 50 GB/s, 2 us a node",
            "target acc: 4 TFLOP/s, unknown bandwidth, was unknown FLOPs, unknown bandwidth",
            "launch: unknown, was 500 us", "launch of a CPU partition: 3 us, was 0 ns",
            "duplex: full, was half"});
}

TEST_CASE("times that changed are told, but for rounding") {
  CHECK(changed_times(20000, 30000) ==
        "times (--costs, --target): all on the CPU 30 ms, was 20 ms");
  CHECK_FALSE(changed_times(30000, 20000).empty());
  CHECK(changed_times(20000, 20000).empty());
  CHECK(changed_times(1e9, 1e9 + 1).empty());
  CHECK_FALSE(changed_times(1e9, 1e9 + 1.5).empty());
  CHECK(changed_times(std::nullopt, 1).empty());
  CHECK(changed_times(1, std::nullopt).empty());
}

TEST_CASE("a link is named, and one of PCIe with its rate") {
  CHECK(link_text({"gen4x16", 31.508e9}) == "gen4x16 (31.5 GB/s)");
  CHECK(link_text({"Gen3x1", 0.985e9}) == "Gen3x1 (0.985 GB/s)");
  CHECK(link_text({"12GB/s", 12e9}) == "12GB/s");
}

TEST_CASE("a file of times says how much of it matched, by which rules, and what is left out") {
  ModelCosts costs;
  costs.path = "p.json";
  costs.match.us = PerNode<double>(8, -1);
  costs.match.total_us = 400;
  costs.match.matched_us = 300;
  costs.match.measured_nodes = 6;
  costs.used_nodes = 6;
  const std::string begin = "p.json (" + std::string(cost_format_name(costs.format));
  CHECK(costs_text(costs) == begin + "): 75% of 400 us matched, 6 of 8 nodes");
  costs.match.us_by_rule[0] = 100;
  costs.match.us_by_rule[6] = 200;
  costs.runs = 5;
  costs.match.fused_nodes = 2;
  costs.used_nodes = 4;
  costs.shapes.resize(1);
  costs.dims = {{"batch", 1}, {"height", 320}};
  costs.contradicted = 3;
  CHECK(costs_text(costs) ==
        begin + ", median of 5 runs): 75% of 400 us matched (25% by " +
            std::string(match_rule_name(MatchRule::name)) + ", 50% by " +
            std::string(match_rule_name(MatchRule::order)) +
            "), 6 of 8 nodes, 2 of them as fused, 4 of them used: files before this one have the "
            "others; 1 shape observed; inputs had batch=1, height=320; shapes of 3 kernels left "
            "out, which differ from the model's");
  costs.used_nodes = 0;
  CHECK(costs_text(costs).find(", none of them used: ") != std::string::npos);
  ModelCosts calibrated;
  calibrated.path = "c.json";
  calibrated.op_times = {{.op = "Conv", .us = 1}};
  CHECK(costs_text(calibrated).ends_with("): calibrated times of 1 op"));
}

TEST_CASE("times without a node are named, the largest first, and the others counted") {
  ModelCosts costs;
  CHECK(unmatched_text(costs).empty());
  costs.match.largest_unmatched = {{"Reorder", "r", 43}, {"Transpose", "t", 12}};
  costs.match.unmatched = 2;
  CHECK(unmatched_text(costs) == "\"Reorder\" 43 us, \"Transpose\" 12 us");
  costs.match.unmatched = 5;
  CHECK(unmatched_text(costs) == "\"Reorder\" 43 us, \"Transpose\" 12 us and 3 more");
}

TEST_CASE("a calibration tells its error, where several models show it, and each op's times") {
  Calibration calibration{
      .times = {{"", 2, 0, 0}, {"Conv", 1, 1e-6, 1e-3}}, .kernels = 2100, .models = 2, .error = {}};
  const std::vector<CalibratedModel> models = {{"a", 2000, 3}, {"b", 100, 0}};
  CHECK(calibration_text(calibration, models) ==
        "2,100 kernels of 2 models; the error is not known: that takes two models or more, each "
        "predicted from the others\n"
        "\n"
        "model  kernels  unused  error\n"
        "a        2,000       3      -\n"
        "b          100       0      -\n"
        "\n"
        "op          a node  computing     memory\n"
        "all others    2 us          -          -\n"
        "Conv          1 us  1 TFLOP/s  954 MiB/s\n");
  calibration.error =
      LeftOutError{.node_factor = 1.4, .model_factors = {1.25, 1.05}, .model_factor = 1.15};
  CHECK(calibration_text(calibration, models)
            .starts_with("2,100 kernels of 2 models; typical error of a node 1.40x, of a model "
                         "1.15x (each model predicted from the others)\n"
                         "\n"
                         "model  kernels  unused  error\n"
                         "a        2,000       3  1.25x\n"
                         "b          100       0  1.05x\n"));
}

// The headline of a split that takes this long, in microseconds, on a machine of one accelerator.
InferenceTime time_of(double cpu, double acc, double link, double launch, double all_cpu) {
  InferenceTime time;
  Latency& latency = time.without;
  latency.cpu_us = cpu;
  latency.acc_us = acc;
  latency.link_us = link;
  latency.launch_us = launch;
  latency.total_us = cpu + acc + link + launch;
  latency.launches = 1;
  latency.all_cpu_us = all_cpu;
  return time;
}

std::string headline_of(const InferenceTime& time) {
  return latency_headline(graph_from_text("input x\n y = f(x)\n output y"), time);
}

TEST_CASE("the terms of a latency have three digits in the unit of their sum") {
  CHECK(headline_of(time_of(1, 2, 3, 4, 5))
            .starts_with("latency 10 us, slower than the CPU alone "
                         "(5 us, 0.50x): 1 CPU + 2 acc + 3 link + 4 "
                         "for 1 launch"));
  CHECK(headline_of(time_of(99.5, 800.4, 12.34, 9.876, 1e5))
            .find(": 99.5 CPU + 800 acc + 12.3 link + 9.88 for 1 launch") != std::string::npos);
  CHECK(headline_of(time_of(500, 500, 0, 0, 1e5))
            .starts_with("latency 1 ms: 0.5 CPU + 0.5 acc + 0 "
                         "link + 0 for 1 launch; all on the "
                         "CPU 100 ms (100x)"));
  CHECK(headline_of(time_of(5e5, 5e5, 0, 0, 2e6)).starts_with("latency 1 s: 0.5 CPU + 0.5 acc"));
  InferenceTime time = time_of(1000, 0, 0, 0, 1000);
  time.without.launches = 0;
  CHECK(headline_of(time) == "latency 1 ms: all of it on the CPU");
}

TEST_CASE("a factor has the digits that say something") {
  const auto factor = [](double total, double all_cpu) {
    const std::string line = headline_of(time_of(total, 0, 0, 0, all_cpu));
    const std::size_t at = line.rfind('(') + 1;
    return line.substr(at, line.find(')', at) - at);
  };
  CHECK(factor(1000, 1090) == "1.09x");
  CHECK(factor(1000, 1096) == "1.1x");
  CHECK(factor(1000, 99900) == "99.9x");
  CHECK(factor(1000, 100000) == "100x");
  CHECK(factor(1000, 1000) == "1.00x");
}

TEST_CASE("a latency is compared with the best that was found, or with the bound") {
  const auto end_of = [](double best, double bound, double all_cpu = 1e6) {
    InferenceTime time = time_of(1000, 0, 0, 0, all_cpu);
    time.without.best_us = best;
    time.without.bound_us = bound;
    const std::string line = headline_of(time);
    return line.substr(line.find("x)") + 2);
  };
  CHECK(end_of(500, 400) == "; 500 us is possible (--place cost)");
  CHECK(end_of(989, 400) == "; 989 us is possible (--place cost)");
  CHECK(end_of(990, 600) == "; within 66.7% of the least possible");
  CHECK(end_of(1000, 501) == "; within 99.6% of the least possible");
  CHECK(end_of(1000, 500) == "; no placement takes less than 500 us");
  CHECK(end_of(1000, 0).empty());
  CHECK(end_of(900, 100, 1e3 * 0.9).find("no faster placement than the CPU alone was found") !=
        std::string::npos);
  InferenceTime time = time_of(1000, 0, 0, 0, 1e6);
  time.without.best_us = 500;
  time.without.bound_us = 400;
  time.is_placed_by_cost = true;
  CHECK(headline_of(time).ends_with(
      "; 500 us is possible (as --place cost placed the nodes: other options and limits moved "
      "some)"));
  time.keeps_for_gain = true;
  CHECK(headline_of(time).ends_with("; 500 us is possible (--min-gain 0%)"));
  time.is_proved_best = true;
  CHECK(headline_of(time).find("possible") == std::string::npos);
}

TEST_CASE("energy is told device by device, beside the CPU alone and the bound") {
  InferenceTime time;
  CHECK(energy_text(time).empty());
  time.use.emplace();
  CHECK(energy_text(time).empty());
  time.use->energy_mj = {1, 2, 3};
  time.basis.target_names = {"npu", "gpu"};
  CHECK(energy_text(time) == "6 mJ: 1 mJ npu + 2 mJ gpu + 3 mJ CPU");
  time.all_cpu_mj = 9;
  CHECK(energy_text(time) == "6 mJ: 1 mJ npu + 2 mJ gpu + 3 mJ CPU; all on the CPU 9 mJ (1.5x)");
  time.bound_mj = 6;
  CHECK(energy_text(time).ends_with("(1.5x); the least possible"));
  time.bound_mj = 5;
  CHECK(energy_text(time).ends_with("(1.5x); no placement takes less than 5 mJ"));
  time.in_order_cost = 7;
  CHECK(energy_text(time).ends_with(
      "(1.5x); npu then gpu then CPU by order: 7 mJ; no placement takes less than 5 mJ"));
}

TEST_CASE("the time of a part is the sum of its three, where all are known") {
  CHECK(part_time_text({.compute_us = 1000, .link_us = 200, .launch_us = 30}) == "1.23 ms");
  CHECK(part_time_text({.compute_us = {}, .link_us = 200, .launch_us = 30}) == "?");
  CHECK(part_time_text({.compute_us = 1000, .link_us = {}, .launch_us = 30}) == "?");
  CHECK(part_time_text({.compute_us = 1000, .link_us = 200, .launch_us = {}}) == "?");
}

}  // namespace

// ---- value text test ----

namespace {

TEST_CASE("the size of a tensor becomes known by its named dims, or it is said why none helps") {
  const Graph graph = graph_from_text(R"(
    input named: float32[N,3,M,N]
    input unnamed: float32[?,3]
    input texts: string[3]
    input unranked: float32
  )");
  const auto mend = [&](std::string_view name) {
    return size_mend(graph, value_named(graph, name));
  };
  CHECK(mend("named") == "give --dim N=SIZE --dim M=SIZE");
  CHECK(mend("unnamed") == "a dim without a name is not known");
  CHECK(mend("texts") == "its elements have no fixed size");
  CHECK(mend("unranked") == "its rank is not known");
  CHECK(hazard_text(graph, {Hazard::Kind::unknown_bytes, value_named(graph, "unnamed")}) ==
        "the bytes of \"unnamed\" float32[?, 3] are not known: a dim without a name is not known");
}

TEST_CASE("options for dims name each dim of the inputs once, and at most five") {
  const auto options = [](const char* text, std::optional<std::int64_t> likely) {
    return dim_options(graph_from_text(text), [=](ValueId, std::size_t) { return likely; });
  };
  CHECK(options("input x: float32[A,2,B,A]\n input y: float32[B,C,?]", 128) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --input-shape 'y=?,?,128'");
  CHECK(options("input x: float32[?,3,48,?]", 7) == "--input-shape x=7,3,48,7");
  CHECK(options("input x: float32[?,3]", {}) == "--input-shape x=SIZE,3");
  CHECK(options("input x: float32[A,B,C,D,E,F]", {}) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --dim D=SIZE --dim E=SIZE");
  CHECK(options("input x: float32[2]", 1).empty());
}

TEST_CASE("types are named as far as they are known, and of many dims the first sixteen") {
  const Graph graph = graph_from_text(R"(
    input a: float32[2,N,?]
    input b: float32
    input c: scalar
    input d: float32[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
    input e: float32[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]
  )");
  const auto type = [&](std::string_view name) {
    return type_text(graph, value_named(graph, name));
  };
  CHECK(type("a") == "float32[2, N, ?]");
  CHECK(type("b") == "float32[...]");
  CHECK(type("c") == "scalar");
  CHECK(type("d").ends_with(", 15, 16]"));
  CHECK(type("e").ends_with(", 15, 16, ...]"));
}

TEST_CASE("an operator has its domain in front, and a signature its names") {
  CHECK(op_text("", "Conv") == "Conv");
  CHECK(op_text("my", "Conv") == "my::Conv");
  CHECK(signature_text({}) == "()");
  CHECK(signature_text({{DType::float32, DType::unknown}, {{"axis", DType::int64}}}) ==
        "(float32, -, axis=int64)");
}

}  // namespace

}  // namespace cleave
