#include "formats/report.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "formats/print_text.h"
#include "formats/report_words.h"
#include "formats/support_file.h"
#include "formats/text_layout.h"
#include "tests/catch2.h"
#include "tests/core/graph_text.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

// All that a report refers to.
struct Case {
  LoadedModel model;
  std::vector<SupportList> lists;
  OpFacts facts;
  SplitOptions options;
  Split split;
  Preview preview;
  std::vector<std::string> notes;

  Report report() const { return {model, lists, facts, options, split, preview, notes}; }
};

Case make_case(std::string_view graph_text, std::string_view list_text,
               const SplitOptions& options = {}) {
  LoadedModel model{SourceFile::from_text("m.json", ""),
                    ModelFormat::graph_json,
                    graph_from_text(graph_text),
                    nullptr,
                    {},
                    {}};
  auto list = parse_support("npu.txt", list_text);
  if (!list) FAIL(format_diagnostic(list.error().front()));
  std::vector<SupportList> lists = {std::move(list->list)};
  auto split = split_graph(model.graph, lists, {}, options);
  if (!split) FAIL(split.error().message);
  Preview preview = preview_split(model.graph, split->partition, split->boundaries, default_link());
  return {std::move(model),  std::move(lists),   {},        options,
          *std::move(split), std::move(preview), {"a note"}};
}

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

TEST_CASE("the JSON report has every field, in the order of the format") {
  const Case made = make_case(kModel, "Relu\nMatMul\n");
  const auto json = nlohmann::ordered_json::parse(report_json(made.report()));
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  CHECK(keys ==
        "format version model settings support coverage constants acc_nodes_found acc_nodes "
        "fusion_groups subgraphs_before extended partitions node_map link cpu_reasons notes ");
}

TEST_CASE("the JSON report tells nodes, partitions, boundaries and reasons") {
  const Case made = make_case(kModel, "Relu\nMatMul\n");
  const Json json = Json::parse(report_json(made.report()));
  CHECK(field(json, "acc_nodes") == R"(["a","b","e","d"])");
  CHECK(field(json, "support") == R"({"files":["npu.txt"],"name":"npu"})");
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
  CHECK(json.at("link").at("bottleneck") == "_run_on_acc_0");
  CHECK(
      json.at("cpu_reasons").at(0).dump() ==
      R"({"because":null,"code":"no_rule","detail":"no rule names op \"torch.foo\"","node":"c"})");
  CHECK(json.at("coverage").at("nodes").dump() ==
        R"({"acc":4.0,"ratio":0.6666666666666666,"total":6.0})");
}

TEST_CASE("without an accelerator partition that exchanges bytes the link is null") {
  const Case made = make_case("input x\n a = f(x)", "");
  CHECK(Json::parse(report_json(made.report())).at("link").is_null());
}

TEST_CASE("names that are no UTF-8, or hold control characters, give valid JSON") {
  const Case made = make_case("input x\n a\xFF\x01 = f(x)", "f\n");
  const Json json = Json::parse(report_json(made.report()));
  CHECK(json.at("acc_nodes").at(0) == "a\xEF\xBF\xBD\x01");
}

bool fits(const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    if (end == text.npos) return false;
    if (text_columns(std::string_view(text).substr(begin, end - begin)) > kTextColumns)
      return false;
    if (end > begin && text[end - 1] == ' ') return false;
    begin = end + 1;
  }
  return true;
}

TEST_CASE("the text report begins with the conclusion and ends with the notes") {
  const Case made = make_case(kModel, "Relu\nMatMul\n");
  const std::string text = report_text(made.report());
  CHECK(fits(text));
  CHECK(text ==
        R"(m.json: 4 of 6 nodes (66.7%) and 100% of the known 576 FLOP on the accelerator, in 2 of 3
  partitions
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
  const Case made = make_case(graph, "f\n");
  const std::string text = report_text(made.report());
  CHECK(fits(text));
  CHECK(text.find("... and 40 more (see --json)") != text.npos);
}

TEST_CASE("percentages do not round what is not all to all, nor something to nothing") {
  CHECK(percent_text(1) == "100%");
  CHECK(percent_text(0.9999) == "99.9%");
  CHECK(percent_text(0.5) == "50%");
  CHECK(percent_text(0.871) == "87.1%");
  CHECK(percent_text(0.0001) == "<0.1%");
  CHECK(percent_text(0) == "0%");
}

TEST_CASE("rates read well, however large") {
  CHECK(rate_text(35000.4) == "35,000");
  CHECK(rate_text(7.254) == "7.25");
  CHECK(rate_text(1e300) == "1e+300");
}

TEST_CASE("the support report has op types with the dtypes they were met with") {
  const Case made = make_case(R"(
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
        R"("count":1,"kwargs":{},"reason":"no rule names op \"sub\""}]}])");
  CHECK(json.at("coverage").at("nodes").at("acc") == 4);
  const std::string text = support_report_text(made.report());
  CHECK(fits(text));
  CHECK(text == R"()");
}

TEST_CASE("a model prints one line a node") {
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
  CHECK(print_model(graph) == R"()");
}

TEST_CASE("a split prints its calls, then each part with its boundary") {
  const Case made = make_case(kModel, "Relu\nMatMul\n");
  CHECK(print_split(made.model.graph, made.split.partition, made.split.boundaries) == R"()");
}

}  // namespace
}  // namespace cleave
