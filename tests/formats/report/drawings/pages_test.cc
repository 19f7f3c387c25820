#include "formats/report/drawings/pages.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "formats/report/drawings/drawings.h"
#include "tests/catch2.h"
#include "tests/formats/report/report_case.h"

namespace cleave {

namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

// All ops but `Odd` are on the accelerator.
ReportCase make_case(std::string_view graph) { return make_report_case(graph, "Relu\nTanh\n"); }

constexpr std::string_view kModel = R"(
  input x: float32[4,8]
  a: float32[4,8] = Relu(x)
  b: float32[4,8] = Odd(a)
  c: float32[4,8] = Tanh(b)
  output c)";

std::string drawing_of(const ReportCase& made, const ViewOptions& options, std::uint32_t view) {
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, options);
  return ViewDrawings(report, views).draw(ViewId{view});
}

TEST_CASE("A view draws its nodes by role, with the values that enter and leave") {
  const std::string drawing = drawing_of(make_case(kModel), {}, 0);
  CHECK_THAT(drawing, Contains("id=n0") && Contains("id=n1") && Contains("id=n2"));
  CHECK_THAT(drawing, Contains("class=unsupported"));
  CHECK_THAT(drawing, Contains("id=s0_") && Contains("id=t3_"));
  CHECK_THAT(drawing, Contains("n0 -> n1") && Contains("n1 -> n2"));
  CHECK_THAT(drawing, Contains("128 B"));
}

TEST_CASE("A view draws groups with their CPU nodes, and one edge between two") {
  const std::string drawing = drawing_of(make_case(R"(
    input x: float32[4,8]
    scope m
    a: float32[4,8] = Relu(x)
    b: float32[4,8] = Tanh(a)
    scope k
    c: float32[4,8] = Relu(a, b)
    d: float32[4,8] = Tanh(c)
    output d)"),
                                         {.most_boxes = 2}, 0);
  CHECK_THAT(drawing, Contains("m\\n2 nodes") && Contains("k\\n2 nodes"));
  CHECK_THAT(drawing, Contains("g1 -> g2") && Contains("2 values, 256 B"));
  CHECK_THAT(drawing, !Contains("n0"));
}

TEST_CASE(
    "A view of dense edges leaves the longest ones out, keeps one of each node, and says so") {
  std::string text = "input x: float32[4]\n";
  std::string all = "x";
  for (int i = 0; i < 60; ++i) {
    text += "n" + std::to_string(i) + ": float32[4] = Relu(" + all + ")\n";
    all += ", n" + std::to_string(i);
  }
  const std::string drawing = drawing_of(make_case(text + "output n59"), {}, 0);
  CHECK_THAT(drawing, Contains("edges are left out: they span the most boxes"));
  for (int i = 0; i < 59; ++i) {
    CHECK_THAT(drawing, Contains("\tn" + std::to_string(i) + " -> ") &&
                            Contains(" -> n" + std::to_string(i + 1) + "\t"));
  }
  CHECK_THAT(drawing_of(make_case(kModel), {}, 0), !Contains("left out"));
}

TEST_CASE("A value from outside a view links to its maker") {
  const std::string drawing = drawing_of(make_case(kModel), {.most_boxes = 2}, 0);
  CHECK_THAT(drawing, Contains("g1") && Contains("n2"));
  CHECK_THAT(drawing_of(make_case(kModel), {.most_boxes = 2}, 1), Contains("t2_2"));
}

TEST_CASE("Many values from outside are drawn as one ellipse") {
  std::string text = "input x0: float32[2]\n";
  std::string reads = "x0";
  for (int i = 1; i < 30; ++i) {
    text += "input x" + std::to_string(i) + ": float32[2]\n";
    reads += ", x" + std::to_string(i);
  }
  const std::string drawing =
      drawing_of(make_case(text + "a = Relu(" + reads + ")\n output a"), {}, 0);
  CHECK_THAT(drawing, Contains("values from outside") && Contains("30 values, 240 B"));
}

TEST_CASE("The page's data holds partitions, reasons and nodes, ready to be shown") {
  const ReportCase made = make_case(kModel);
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, {});
  const Json data = Json::parse(html_data(report, views, {"<svg/>"}));
  REQUIRE(data["parts"].size() == 3);
  CHECK(data["parts"][0]["name"] == "_run_on_acc_0");
  CHECK(data["parts"][0]["in"] == Json::array({128, "128 B"}));
  CHECK(data["reasons"] == Json::parse(R"([{"code": "no_rule", "words": "no rule", "count": 1}])"));
  REQUIRE(data["nodes"].size() == 3);
  CHECK(data["nodes"][0] ==
        Json::parse(R"(["a", "Relu", 0, 0, null, "float32[4, 8]", "", null, []])"));
  CHECK(data["nodes"][1][4] == Json::parse(R"(["no_rule", "the list does not have op \"Odd\""])"));
  CHECK(data["views"][0]["svg"] == "<svg/>");
  CHECK(data["notes"] == Json::parse(R"(["a note"])"));
}

// The boxes of a drawing, a line each: its id, its class and its label.
std::string boxes_of(const std::string& drawing) {
  std::string text;
  for (std::size_t at = drawing.find("id="); at != drawing.npos; at = drawing.find("id=", at + 1)) {
    const std::size_t begin = drawing.rfind('[', at);
    const std::string box = drawing.substr(begin, drawing.find("];", at) - begin);
    for (const std::string_view name : {"id=", "class=", "label="}) {
      const std::size_t from = box.find(name) + name.size();
      const bool is_quoted = box[from] == '"';
      const std::size_t end = is_quoted ? box.find('"', from + 1) : box.find_first_of(",\n", from);
      text += box.substr(from, end - from) + (is_quoted ? "\" " : " ");
    }
    text.back() = '\n';
  }
  return text;
}

TEST_CASE("Boxes are of their node's role, and groups of the roles of all of theirs") {
  CHECK(boxes_of(drawing_of(make_report_case(R"(
    input x: float32[4,8]
    scope all
    a: float32[4,8] = Relu(x)
    b: float32[4,8] = Tanh(a)
    scope some
    c: float32[4,8] = Odd(b)
    d: float32[4,8] = Relu(c)
    scope none
    e: float32[4,8] = Odd(d)
    f: float32[4,8] = Odd(e)
    output f)",
                                             "Relu\nTanh\n"),
                            {.most_boxes = 3}, 0)) ==
        "g1 \"group acc\" \"\u25b8 all\\n2 nodes\"\n"
        "g2 \"group mixed\" \"\u25b8 some\\n2 nodes, 1 on the CPU\"\n"
        "g3 \"group cpu\" \"\u25b8 none\\n2 nodes on the CPU\"\n"
        "t6_ port f\ns0_ port x\n");
  CHECK(boxes_of(drawing_of(make_report_case(R"(
    input x: float32[4,8]
    a: float32[4,8] = Relu(x)
    b: float32[4,8] = Tanh(a)
    c: float32[4,8] = Odd(b)
    d: float32[4,8] = Relu(c)
    output d)",
                                             "Relu\nTanh\n", {.min_acc_size = 2}),
                            {}, 0)) ==
        "n0 acc \"Relu\\na\\nfloat32[4, 8]\"\n"
        "n1 acc \"Tanh\\nb\\nfloat32[4, 8]\"\n"
        "n2 unsupported \"Odd\\nc\\nfloat32[4, 8]\"\n"
        "n3 kept \"Relu\\nd\\nfloat32[4, 8]\"\n"
        "t4_ port d\ns0_ port x\n");
}

TEST_CASE("Nodes that no drawing shows are listed, too: the search finds them") {
  const ReportCase made = make_case(kModel);
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, {});
  const Json data = Json::parse(html_data(report, views, {""}));
  CHECK(data["node_ids"] == Json::parse("[0, 1, 2]"));
}

// A chain of Relu; the node `odd` is on the CPU.
std::string chain_of(std::size_t nodes, std::size_t odd) {
  std::string text = "input x: float32[1]\n";
  for (std::size_t i = 0; i < nodes; ++i) {
    text += "n" + std::to_string(i) + ": float32[1] = " + (i == odd ? "Odd(" : "Relu(") +
            (i == 0 ? "x" : "n" + std::to_string(i - 1)) + ")\n";
  }
  return text + "output n" + std::to_string(nodes - 1);
}

TEST_CASE("Of more than 10,000 nodes 5,000 are listed, those on the CPU first") {
  const ReportCase made = make_case(chain_of(10'001, 9'000));
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, {.most_views = 1});
  const Json data =
      Json::parse(html_data(report, views, std::vector<std::string>(views.views.size())));
  CHECK(data["node_ids"].size() == 5'000);
  CHECK(data["node_ids"].front() == 0);
  CHECK(data["node_ids"].back() == 9'000);
}

TEST_CASE("No text from the model can end the page's data") {
  const std::string page = html_report(make_case(kModel).report()).text;
  CHECK_THAT(page, Contains("<title>m - cleave</title>"));
  CHECK_THAT(page, Contains("2 of 3 nodes"));
  CHECK_THAT(page, !Contains("{{"));
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const std::string data = page.substr(begin, page.find("</script>", begin) - begin);
  CHECK_THAT(data, !Contains("<"));
  CHECK(Json::parse(data)["views"][0]["svg"].get<std::string>().starts_with("<svg"));
}

}  // namespace
namespace {

TEST_CASE("the page lists reasons by count, and those of one count in the order of their codes") {
  const ReportCase made = make_report_case(R"(
    input x: float32[4]
    n: scalar = size(x)
    a = Relu(x, n)
    m: scalar = Tanh(x)
    b = Odd(x)
    c = Odd(m)
    output a, b, c)",
                                           "Relu\nTanh\n");
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, {});
  const auto data = nlohmann::json::parse(html_data(report, views, {""}));
  std::string text;
  for (const auto& reason : data["reasons"]) {
    text += reason["code"].get<std::string>() + " " + reason["count"].dump() + "\n";
  }
  CHECK(text == "no_rule 3\nnon_tensor_input 1\nnon_tensor_output 1\n");
}

TEST_CASE("Of more than 10,000 nodes the whole alone is drawn, in groups, and the page says so") {
  const auto drawn = [](std::size_t nodes) {
    const ReportCase made = make_case(chain_of(nodes, nodes));
    const HtmlPage page = split_data(made.report(), {.seconds = 0}, {});
    const Json data = Json::parse(page.text);
    const auto has_drawing = [](const Json& view) { return view["svg"] != ""; };
    const auto says_so = [](const Json& note) {
      return note.get<std::string>().starts_with("the page draws the model in groups");
    };
    CHECK(data["node_ids"].size() == (nodes > 10'000 ? 5'000 : nodes));
    return std::pair(std::count_if(data["views"].begin(), data["views"].end(), has_drawing),
                     std::any_of(data["notes"].begin(), data["notes"].end(), says_so));
  };
  CHECK(drawn(10'000).first > 100);
  CHECK_FALSE(drawn(10'000).second);
  CHECK(drawn(10'001) == std::pair(std::ptrdiff_t{1}, true));
}

}  // namespace

}  // namespace cleave
