#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph_builder.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/report.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/report_case.h"

namespace cleave {

// ---- report test ----

namespace {

using Json = nlohmann::json;

constexpr std::string_view kModel = R"(
  input x: float32[4,batch]
  input y: float32[4,8]
  param w: float32[8,8]
  a: float32[4,8] = Relu(y)
  b: float32[4,8] = MatMul(a, w)
  c: float32[4,8] = torch.foo(b, k=x)
  n: scalar = size(c)
  d: float32[4,8] = Relu(c)
  e: float32[4,8] = Relu(x)
  output d, n
)";

// The parts of a JSON report, without white space.
std::string field(const Json& report, const char* name) { return report.at(name).dump(); }

TEST_CASE("names of the user are keys of the settings, whatever letters they have") {
  ReportCase made = make_report_case(kModel, "Relu\nMatMul\n");
  made.model.bindings.values = {{R"(a"b\)", R"(1"2)"}};
  made.model.bindings.state.pairs = {{R"(past"0)", R"(present"0)"}};
  const Json settings = Json::parse(report_json(made.report())).at("settings");
  CHECK(settings.at("set_inputs") == Json{{R"(a"b\)", R"(1"2)"}});
  CHECK(settings.at("state") == Json{{R"(past"0)", R"(present"0)"}});
}

TEST_CASE("the JSON report has every field, in the order of the format") {
  const ReportCase made = make_report_case(kModel, "Relu\nMatMul\n");
  const auto json = nlohmann::ordered_json::parse(report_json(made.report()));
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  CHECK(keys ==
        "format version model settings support coverage verdict open_sizes constants host_shapes "
        "acc_nodes_found acc_nodes fusion_groups qdq_groups patterns subgraphs_before cap extended "
        "distinct_acc_partitions partitions node_map link assumed_links cpu_reasons unchecked "
        "notes ");
}

TEST_CASE("the JSON report has nodes, partitions, boundaries and reasons") {
  const ReportCase made = make_report_case(kModel, "Relu\nMatMul\n");
  const Json json = Json::parse(report_json(made.report()));
  CHECK(field(json, "acc_nodes") == R"(["a","b","d","e"])");
  CHECK(field(json, "support") ==
        R"({"all_of":false,"contents":["Relu\nMatMul\n"],"files":["npu.txt"],"name":"npu"})");
  CHECK(field(json, "notes") == R"(["a note"])");
  CHECK(json.at("node_map").at("c") == "_run_on_cpu_1");
  const Json& part = json.at("partitions").at(0);
  CHECK(field(part, "nodes") == R"(["a","b","e"])");
  CHECK(part.at("inputs").dump() ==
        R"([{"bytes":128,"dtype":"float32","name":"y","shape":[4,8],"type":"tensor"},)"
        R"({"bytes":null,"dtype":"float32","name":"x","shape":[4,"batch"],"type":"tensor"}])");
  CHECK(part.at("input_bytes") == 128);
  CHECK(part.at("output_bytes") == 128);
  CHECK(part.at("parameters").dump() == R"(["w"])");
  CHECK(part.at("parameter_bytes") == 256);
  CHECK(part.at("hazards").dump() ==
        R"(["the bytes of \"x\" float32[4, batch] are not known: give --dim batch=SIZE"])");
  CHECK(json.at("partitions").at(1).at("qps").is_null());
  CHECK(json.at("link").is_null());  // the bytes of x are unknown, and so is the rate
  CHECK(
      json.at("cpu_reasons").at(0).dump() ==
      R"({"because":null,"code":"no_rule","detail":"the list does not have op \"torch.foo\"","node":"c"})");
  CHECK(json.at("coverage").at("nodes").dump() ==
        R"({"acc":4,"ratio":0.6666666666666666,"total":6})");
}

TEST_CASE("without an accelerator partition that exchanges bytes the link is null") {
  const ReportCase made = make_report_case("input x\n a = f(x)", "");
  CHECK(Json::parse(report_json(made.report())).at("link").is_null());
}

TEST_CASE("names with invalid UTF-8 or control characters give valid JSON") {
  GraphBuilder builder;
  builder.add_node({.name = "a\xFF\x01", .op = "f"});
  auto graph = builder.finish();
  REQUIRE(graph);
  const ReportCase made = make_report_case(*std::move(graph), "f\n");
  const Json json = Json::parse(report_json(made.report()));
  CHECK(json.at("acc_nodes").at(0) == "a\xEF\xBF\xBD\x01");
}

// Whether a terminal of 100 columns shows it, and no line ends in a blank.
bool fits(const std::string& text) {
  const std::string shown = wrapped(text, kTextColumns);
  for (std::size_t begin = 0; begin < shown.size();) {
    const std::size_t end = shown.find('\n', begin);
    if (end == shown.npos) return false;
    if (text_columns(std::string_view(shown).substr(begin, end - begin)) > kTextColumns)
      return false;
    if (end > begin && shown[end - 1] == ' ') return false;
    begin = end + 1;
  }
  return true;
}

TEST_CASE("the text report begins with the conclusion and ends with the notes") {
  const ReportCase made = make_report_case(kModel, "Relu\nMatMul\n");
  const std::string text = report_text(made.report());
  CHECK(fits(text));
  CHECK(
      text ==
      R"(m: 4 of 6 nodes (66.7%) and 100% of the known 608 FLOP on the accelerator, in 2 accelerator partitions, with 1 partition on the CPU; not known: bytes of 1 value between partitions (give --dim batch=SIZE)
worth it: MAYBE: 66.7% of the nodes are on the accelerator; 2 round trips to the accelerator for 4 nodes, less than a call costs (50 nodes): --costs decides

support list    npu (npu.txt)
subgraphs       3 (2 accelerator, 1 CPU)
parameters      256 B, 100% of them read on the accelerator
link            100GiB/s is assumed, as none was given: --pcie-bw states yours

partition      on   nodes      in    out  parameters      work  QPS at 100GiB/s
_run_on_acc_0  acc      3  128 B+  128 B       256 B  576 FLOP                ?
_run_on_cpu_1  CPU      2  128 B+  128 B         0 B         ?                -
_run_on_acc_2  acc      1   128 B  128 B         0 B   32 FLOP      838,860,800

why 2 nodes are on the CPU
  1  the list does not have op "torch.foo"
     c
  1  the list does not have op "size"
     n

not known
  bytes of 1 value that cross the link: x float32[4, batch]
  FLOPs of 1 node: torch.foo
  to know more give --dim batch=SIZE

note: a note
)");
}

TEST_CASE("long names and many partitions keep the text report within its columns") {
  std::string graph = "input x\n";
  std::string last = "x";
  for (int i = 0; i < 60; ++i) {
    const std::string name = std::string(150, 'n') + std::to_string(i);
    graph += name + (i % 2 == 0 ? " = f(" : " = g" + std::string(150, 'h') + "(") + last + ")\n";
    last = name;
  }
  const ReportCase made = make_report_case(graph, "f\n");
  const std::string text = report_text(made.report());
  CHECK(fits(text));
  CHECK(text.find("... and 40 more (see --json)") != text.npos);
}

TEST_CASE("percentages do not round up to all, nor down to none") {
  CHECK(percent_text(1) == "100%");
  CHECK(percent_text(0.9999) == "99.9%");
  CHECK(percent_text(0.5) == "50%");
  CHECK(percent_text(0.871) == "87.1%");
  CHECK(percent_text(0.0001) == "<0.1%");
  CHECK(percent_text(0) == "0%");
}

TEST_CASE("rates of any size are readable") {
  CHECK(rate_text(35000.4) == "35,000");
  CHECK(rate_text(7.254) == "7.25");
  CHECK(rate_text(1e300) == "1e+300");
}

TEST_CASE("the support report has op types with the dtypes they were met with") {
  const ReportCase made = make_report_case(R"(
    input x
    input i: int64[2]
    input s: scalar
    a = add(x, i)
    b = add(x, _, s)
    c = add(x, _, s)
    d = add([x, i], k=i)
    e = sub(x, x)
  )",
                                           "add\n");
  const Json json = Json::parse(support_report_json(made.report()));
  CHECK(json.at("supported").dump() == R"([{"count":4,"domain":"","op":"add","signatures":[)"
                                       R"({"args":["float32","int64"],"count":1,"kwargs":{}},)"
                                       R"({"args":["float32"],"count":2,"kwargs":{}},)"
                                       R"({"args":[],"count":1,"kwargs":{"k":"int64"}}]}])");
  CHECK(json.at("unsupported").dump() ==
        R"([{"count":1,"domain":"","op":"sub","signatures":[{"args":["float32","float32"],)"
        R"("count":1,"kwargs":{},"reason":"the list does not have op \"sub\""}]}])");
  CHECK(json.at("coverage").at("nodes").at("acc") == 4);
  const std::string text = support_report_text(made.report());
  CHECK(fits(text));
  CHECK(text == R"(m: 4 of 5 nodes (80%) and 80% of 20 FLOP accepted by npu

supported  nodes  inputs
  add          1  (float32, int64)
               2  (float32)
               1  (k=int64)

no rule  nodes  inputs
  sub        1  (float32, float32)
)");
}

TEST_CASE("a model is printed with one line for each node") {
  const Graph graph = graph_from_text(R"(
    opset "" 17
    input x: float32[1,batch,?]
    param w: float32[3,3]
    const k: int64[2] = Cast(w)
    conv_1@ a: float32[1,2] = Conv(x, w, _, bias=x) {group=2, pads=[0,1], mode="same", body}
    p, q: list(int64[2]) = ml::split(x, [a, a], axis=k, k=[a]) !w
    i = If(a, ^x)
    | h = relu(x)
    output p, i
  )");
  CHECK(print_model(graph) == R"(model: 3 nodes

inputs
  %x: float32[1, batch, ?]

parameters
  %w: float32[3, 3]

constants
  %k: int64[2] = Cast(%w)

nodes
  %a: float32[1, 2]           = Conv(%x, %w, bias=%x) {group=2, pads=[0, 1], mode="same", body=...}  # conv_1
  %p: float32[2, 2], %q: list = ml::split(%x, [%a, %a], axis=%k, k=[%a]; %w)
  %i: float32[2, 2]           = If(%a, captured %x)
  | %h: float32[2, 2] = relu(%x)

outputs
  %p: float32[2, 2]
  %i: float32[2, 2]
)");
}

TEST_CASE("a split is printed as its calls, then each part with its boundary") {
  const ReportCase made = make_report_case(kModel, "Relu\nMatMul\n");
  CHECK(print_split(made.model.graph, made.split.partition, made.split.boundaries) ==
        R"(model: 6 nodes in 3 parts

inputs
  %x: float32[4, batch]
  %y: float32[4, 8]

calls
  %b = _run_on_acc_0(%y, %x)
  %c, %n = _run_on_cpu_1(%b, %x)
  %d = _run_on_acc_2(%c)

outputs
  %d: float32[4, 8]
  %n: scalar

_run_on_acc_0: accelerator, 3 nodes
  in   %y: float32[4, 8]
  in   %x: float32[4, batch]
  out  %b: float32[4, 8]
  read %w: float32[8, 8]
  %a: float32[4, 8] = Relu(%y)
  %b: float32[4, 8] = MatMul(%a, %w)
  %e: float32[4, 8] = Relu(%x)

_run_on_cpu_1: CPU, 2 nodes
  in   %b: float32[4, 8]
  in   %x: float32[4, batch]
  out  %c: float32[4, 8]
  out  %n: scalar
  %c: float32[4, 8] = torch.foo(%b, k=%x)
  %n: scalar        = size(%c)

_run_on_acc_2: accelerator, 1 node
  in   %c: float32[4, 8]
  out  %d: float32[4, 8]
  %d: float32[4, 8] = Relu(%c)
)");
}

}  // namespace

}  // namespace cleave

// ---- report values test ----

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
  CHECK(json_text(kCoverageFields, coverage(1, 2))
            .find(R"("ratio": null, "unknown_ops": 0, "unknown_nodes": 2)") != std::string::npos);
}

namespace cleave {

namespace {

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
  CHECK(name("m.tflite") == "m");
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
  CHECK(memory_note(preview, {.acc_memory = 1024}) ==
        "the accelerator's memory is 1 KiB, and the parameters read there are 2 KiB, 1 KiB more: "
        "--place cost keeps to it");
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
