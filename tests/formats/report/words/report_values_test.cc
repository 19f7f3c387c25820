#include <vector>

#include "formats/report/words/report_values.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/report_case.h"

using namespace cleave;

namespace {

Coverages coverage(std::size_t computing, std::size_t unknown) {
  Coverages made;
  made.nodes = {.acc = 9, .total = 10};
  made.flops = {{.acc = 1e9, .total = 2e9}, computing, unknown};
  return made;
}

}  // namespace

TEST_CASE("a share of FLOPs is said where most nodes that compute have known FLOPs") {
  CHECK(coverage_text(coverage(4, 0), "on it") == "9 of 10 nodes (90%) and 50% of 2 GFLOP on it");
  CHECK(coverage_text(coverage(2, 2), "on it") ==
        "9 of 10 nodes (90%) and 50% of the known 2 GFLOP on it");
  // Eight nodes of 0 FLOPs, such as a Reshape, do not make the others known.
  CHECK(coverage_text(coverage(1, 2), "on it") == "9 of 10 nodes (90%) on it");
}

TEST_CASE("an unknown share of FLOPs is null in JSON") {
  JsonText json;
  json.begin_object();
  write_coverage(json, coverage(1, 2));
  json.end_object();
  CHECK(std::move(json).finish().find(R"("ratio": null, "unknown_ops": 0, "unknown_nodes": 2)") !=
        std::string::npos);
}

namespace cleave {
namespace {

TEST_CASE("notes are a list in JSON, with the given first notes in front") {
  JsonText json;
  json.begin_object();
  write_notes(json, std::vector<std::string>{"b"}, std::vector<std::string>{"a"});
  json.end_object();
  CHECK(std::move(json).finish() == "{\n \"notes\": [\n  \"a\",\n  \"b\"\n ]\n}\n");
}

TEST_CASE("notes follow a blank line in text, a line each; without notes there is no text") {
  CHECK(notes_text(std::vector<std::string>{"one", "two\x1b"}) == "\nnote: one\nnote: two\\x1B\n");
  CHECK(notes_text({}).empty());
}

TEST_CASE("bytes, work and rates of which something is not known say so") {
  CHECK(known_bytes_text(2048, true) == "2 KiB");
  CHECK(known_bytes_text(2048, false) == "2 KiB+");
  CHECK(known_bytes_text(0, true) == "0 B");
  CHECK(known_bytes_text(0, false) == "?");
  PartNumbers numbers;
  CHECK(work_text(numbers) == "0 FLOP");
  numbers.unknown_flops = 1;
  CHECK(work_text(numbers) == "?");
  numbers.flops = 2000;
  CHECK(work_text(numbers) == "2 kFLOP+");
  numbers.unknown_flops = 0;
  CHECK(work_text(numbers) == "2 kFLOP");
  numbers.qps = 250;
  CHECK(part_qps_text(numbers) == "250");
  CHECK(known_qps(numbers) == 250);
  numbers.hazards = {{Hazard::Kind::non_tensor_input, ValueId{0}}};
  CHECK(part_qps_text(numbers) == "250");
  numbers.hazards.push_back({Hazard::Kind::unknown_bytes, ValueId{0}});
  CHECK(part_qps_text(numbers) == "?");
  CHECK_FALSE(known_qps(numbers));
  CHECK(part_qps_text({}) == "-");
  Preview preview;
  preview.bound.emplace();
  preview.parts = PerPart<PartNumbers>(2, {});
  CHECK(known_bound(preview));
  preview.parts[PartId{1}] = numbers;
  CHECK(has_unknown_bytes(preview));
  CHECK_FALSE(known_bound(preview));
}

TEST_CASE("values that cross have all their bytes, some of them, or an unknown size") {
  const Graph graph =
      graph_from_text("input x: float32[4]\n input y: float32[N]\n input s: scalar");
  const auto words = [&](std::vector<std::string_view> names, std::uint64_t bytes) {
    std::vector<ValueId> values;
    for (const std::string_view name : names) values.push_back(value_named(graph, name));
    return crossing_text(graph, values, bytes) + "; " + crossing_words(graph, values, bytes);
  };
  CHECK(words({"x", "s"}, 16) == "16 B; 16 B");
  CHECK(words({"x", "y"}, 16) == "16 B+; at least 16 B");
  CHECK(words({"y"}, 0) == "?; an unknown size");
  CHECK(words({}, 0) == "0 B; 0 B");
}

TEST_CASE("shares without a total are none, and a model without nodes has none") {
  CHECK(share_text({.acc = 1, .total = 4}) == "25%");
  CHECK(share_text({.acc = 0, .total = 4}) == "0%");
  CHECK(share_text({}) == "-");
  CHECK(coverage_text({}, "on it") == "no nodes");
  Coverages without = coverage(4, 0);
  without.flops.total = 0;
  CHECK(coverage_text(without, "on it") == "9 of 10 nodes (90%) on it");
}

TEST_CASE("a model's name is its file's without a known ending, or of standard input its own") {
  const auto name = [](const std::string& path, const char* graph = "input x\n y = f(x)") {
    return model_name(
        {SourceFile::from_text(path, ""), GraphJsonOrigin{}, graph_from_text(graph), {}, {}});
  };
  CHECK(name("a/b/m.onnx") == "m");
  CHECK(name("m.json") == "m");
  CHECK(name("m.tflite") == "m.tflite");
  CHECK(name(".onnx") == ".onnx");
  CHECK(name("m.json.onnx") == "m.json");
  CHECK(name("m.onnx.json") == "m");
  CHECK(name("a\x1b.pt2") == "a\\x1B");
}

TEST_CASE("a start on the other side is noted where it gives fewer subgraphs") {
  ReportCase made = make_report_case("input x\n a = f(x)\n b = g(a)\n c = f(b)\n output c", "f\n");
  const std::size_t count = made.split.found.subgraphs.count();
  made.split.found.count_from_other_side = count;
  CHECK(start_note(made.split).empty());
  made.split.found.count_from_other_side = count - 1;
  CHECK(start_note(made.split) == "starting from the other side gives " +
                                      std::to_string(count - 1) + " subgraphs instead of " +
                                      std::to_string(count) + ": see --start fewest");
}

TEST_CASE("a placement that gains too little is noted") {
  ReportCase made = make_report_case("input x\n a = f(x)\n output a", "f\n");
  CHECK(gain_note(made.split).empty());
  made.split.placement.emplace();
  CHECK(gain_note(made.split).empty());
  made.split.placement->is_too_little = true;
  made.split.placement->gain = 0.02;
  CHECK(gain_note(made.split) ==
        "no node moved to the CPU: the best placement would take 2% less time, and --min-gain asks "
        "for more");
}

TEST_CASE("host shapes are noted with how they change the number of subgraphs") {
  ReportCase made = make_report_case("input x\n a = f(x)\n output a", "f\n");
  const auto note = [&](std::size_t with, std::size_t without) {
    made.split.merged_count = with;
    made.split.count_without_host_shapes = without;
    return host_shapes_note(made.split, {.host_shapes = true});
  };
  CHECK(note(3, 3) == "host shapes: 0 nodes, as many subgraphs as without");
  CHECK(note(3, 4) == "host shapes: 0 nodes, 1 fewer subgraph");
  CHECK(note(3, 5) == "host shapes: 0 nodes, 2 fewer subgraphs");
  CHECK(note(4, 3) == "host shapes: 0 nodes, 1 more subgraph");
  CHECK(note(5, 3) == "host shapes: 0 nodes, 2 more subgraphs");
  CHECK(host_shapes_note(made.split, {}).empty());
}

TEST_CASE("more parameters than the accelerator's memory are noted, and as many are not") {
  Preview preview;
  preview.coverage.parameter_bytes.acc = 2048;
  CHECK(memory_note(preview, {}).empty());
  CHECK(memory_note(preview, {.acc_memory = 2048}).empty());
  CHECK(
      memory_note(preview, {.acc_memory = 1024}) ==
      "the accelerator's memory is 1 KiB, and the parameters read there are 2 KiB, 1 KiB more: no "
      "option places nodes by memory");
}

TEST_CASE("more partitions than the accelerator holds are noted, with what keeps to it") {
  const ReportCase made =
      make_report_case("input x\n a = f(x)\n b = g(a)\n c = f(b)\n output c", "f\n");
  const auto note = [&](std::optional<std::size_t> most, PlaceBy place, bool has_requirements) {
    SplitOptions options;
    options.place = place;
    return part_count_note(made.split, {.most_acc_parts = most}, options, has_requirements);
  };
  CHECK(note(std::nullopt, PlaceBy::priority, false).empty());
  CHECK(note(2, PlaceBy::priority, false).empty());
  const std::string begin = "2 partitions are on the accelerator, 1 more than max-subgraphs=1";
  CHECK(note(1, PlaceBy::priority, false) ==
        begin + ": --keep-acc-subgraphs 1 or --place cost keeps to it");
  CHECK(note(1, PlaceBy::cost, false) == begin + ": --keep-acc-subgraphs 1 keeps to it");
  CHECK(note(1, PlaceBy::cost, true) ==
        begin + ": nodes of --require take them; without them --place cost keeps to it");
}

}  // namespace
}  // namespace cleave
