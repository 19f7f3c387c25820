#include "formats/base/faults.h"
#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- diagnostic test ----

namespace {

std::string shown_at(std::string_view text, std::size_t offset) {
  return format_diagnostic(diagnostic_at("m.json", text, offset, "wrong"));
}

TEST_CASE("a diagnostic names file, line and column, and points at the place") {
  CHECK(shown_at("{\n  \"a\": x7\r\n}", 9) ==
        "m.json:2:8: error: wrong\n"
        "      \"a\": x7\n"
        "           ^\n");
}

TEST_CASE("notes follow, one a line") {
  Diagnostic diagnostic = diagnostic_of("m.json", "node \"a\" reads \"x7\"");
  diagnostic.severity = Severity::warning;
  diagnostic.notes = {"did you mean \"x6\"?", "or not"};
  CHECK(format_diagnostic(diagnostic) ==
        "m.json: warning: node \"a\" reads \"x7\"\n"
        "note: did you mean \"x6\"?\n"
        "note: or not\n");
}

TEST_CASE("a diagnostic without a file begins with its severity") {
  CHECK(format_diagnostic(diagnostic_of("", "wrong")) == "error: wrong\n");
}

TEST_CASE("a diagnostic can point at the end of a line, of the text, and of an empty text") {
  CHECK(shown_at("ab", 2) == "m.json:1:3: error: wrong\n    ab\n      ^\n");
  CHECK(shown_at("ab", 99) == "m.json:1:3: error: wrong\n    ab\n      ^\n");
  CHECK(shown_at("ab\ncd", 2) == "m.json:1:3: error: wrong\n    ab\n      ^\n");
  CHECK(shown_at("ab\n", 3) == "m.json:2:1: error: wrong\n");
  CHECK(shown_at("", 0) == "m.json:1:1: error: wrong\n");
}

TEST_CASE("columns count characters, not bytes") {
  CHECK(shown_at("\u00e4\u20ac x", 6) ==
        "m.json:1:4: error: wrong\n    \u00e4\u20ac x\n       ^\n");
}

TEST_CASE("the source line shows no control characters and keeps the caret in place") {
  CHECK(shown_at("\t\x1b[1mx", 5) ==
        "m.json:1:6: error: wrong\n"
        "     \\x1B[1mx\n"
        "            ^\n");
  CHECK(shown_at("\xff\xfe!", 2) == "m.json:1:3: error: wrong\n    \\xFF\\xFE!\n            ^\n");
}

TEST_CASE("a long source line is cut around the caret to 100 columns") {
  const std::string line(1000, 'a');
  const Diagnostic middle = diagnostic_at("m", line + "X" + line, 1000, "wrong");
  CHECK(middle.column == 1001);
  CHECK(middle.source_line == "..." + std::string(47, 'a') + "X" + std::string(46, 'a') + "...");
  CHECK(middle.source_line[middle.caret - 1] == 'X');
  const Diagnostic start = diagnostic_at("m", "X" + line, 0, "wrong");
  CHECK(start.source_line == "X" + std::string(93, 'a') + "...");
  CHECK(start.caret == 1);
  const Diagnostic end = diagnostic_at("m", line + "X", 1000, "wrong");
  CHECK(end.source_line == "..." + std::string(93, 'a') + "X");
  CHECK(end.caret == 97);
  const std::string whole(100, 'a');
  CHECK(diagnostic_at("m", whole, 50, "wrong").source_line == whole);
}

TEST_CASE("names are quoted, with unsafe characters escaped") {
  CHECK(escaped_in_quotes("conv1") == "\"conv1\"");
  CHECK(escaped_in_quotes("na\u00efve") == "\"na\u00efve\"");
  CHECK(escaped_in_quotes("a\nb\x7f") == "\"a\\x0Ab\\x7F\"");
  CHECK(escaped_in_quotes("\xc3(") == "\"\\xC3(\"");
  CHECK(escaped_in_quotes("\xed\xa0\x80") == "\"\\xED\\xA0\\x80\"");
  CHECK(escaped_in_quotes("evil\u202egpj") == "\"evil\\xE2\\x80\\xAEgpj\"");
  CHECK(escaped_in_quotes("a\uFEFFb") == "\"a\\xEF\\xBB\\xBFb\"");
  CHECK(escaped_in_quotes("a\U000E0041b") == "\"a\\xF3\\xA0\\x81\\x81b\"");
  CHECK(escaped_in_quotes("a\U000E0100b") == "\"a\\xF3\\xA0\\x84\\x80b\"");
  CHECK(escaped_in_quotes("\u009b") == "\"\\xC2\\x9B\"");
  CHECK(escaped_in_quotes(std::string(200, 'a')) == "\"" + std::string(200, 'a') + "\"");
  CHECK(escaped_in_quotes(std::string(201, 'a')) == "\"" + std::string(200, 'a') + "...\"");
}

TEST_CASE("characters that show as nothing are escaped, and those that are seen are not") {
  for (const std::string hidden :
       {"\u00AD", "\u034F", "\u061C", "\u115F", "\u180E", "\u200B", "\u200D", "\u2028", "\u202E",
        "\u2062", "\u3164", "\uFE0F", "\uFEFF", "\uFFF9", "\uFFFE", "\U0001D173"}) {
    CHECK(escaped("a" + hidden + "b").starts_with("a\\x"));
  }
  for (const std::string seen : {"\u00E9", "e\u0301", "\u4E2D", "\uFFFD", "\U0001F600", "\u00A0"}) {
    CHECK(escaped(seen) == seen);
  }
}

TEST_CASE("the caret stands below a place behind wide characters and marks") {
  const Diagnostic wide = diagnostic_at("m", "\u4E2D\u6587x", 6, "wrong");
  CHECK(wide.column == 3);
  CHECK(wide.caret == 5);
  const Diagnostic marked = diagnostic_at("m", "e\u0301x", 3, "wrong");
  CHECK(marked.column == 3);
  CHECK(marked.caret == 2);
}

TEST_CASE("the nearest name differs by a slip of spelling") {
  const std::vector<std::string_view> names = {"conv1", "conv2", "fc", "bfloat16"};
  CHECK(nearest_name("conv11", names) == "conv1");
  CHECK(nearest_name("cnov2", names) == "conv2");
  CHECK(nearest_name("conv3", names) == "conv1");
  CHECK(nearest_name("float16", names) == "bfloat16");
  CHECK(nearest_name("fx", names) == "fc");
  CHECK(nearest_name("MaxPool", names).empty());
  CHECK(nearest_name("a", {}).empty());
}

}  // namespace

// ---- limits test ----

namespace {

TEST_CASE("a limit is set by its name") {
  ModelLimits limits;
  REQUIRE(set_limit(limits, "nodes=5000"));
  CHECK(limits.nodes == 5000);
  REQUIRE(set_limit(limits, "file-bytes=0"));
  CHECK(limits.file_bytes == 0);
  CHECK(limits.values == ModelLimits().values);
  REQUIRE(set_limit(limits, "utf8=lenient"));
  CHECK(limits.names == NameBytes::any);
  REQUIRE(set_limit(limits, "utf8=strict"));
  CHECK(limits.names == NameBytes::utf8);
}

TEST_CASE("bad limits are refused with the valid ones") {
  const auto fault = [](const std::string& text) {
    ModelLimits limits;
    const auto set = set_limit(limits, text);
    REQUIRE(!set);
    CHECK(limits == ModelLimits());
    return set.error();
  };
  CHECK(fault("nodes") == "\"nodes\" is not of the form nodes=5000000");
  CHECK(fault("node=3") == "\"node\" is not a limit: did you mean nodes?");
  CHECK(fault("x=3") ==
        "\"x\" is not a limit: there are nodes, values, attributes, dims, depth, name-bytes, "
        "file-bytes, utf8");
  CHECK(fault("nodes=3k") == "\"3k\" is not a limit of nodes: give a whole number");
  CHECK(fault("utf8=1") == "\"1\" is not strict or lenient");
  CHECK(fault("nodes=") == "\"\" is not a limit of nodes: give a whole number");
  CHECK(fault("depth=1001") == "1001 is above the most that depth can be limited to, 1,000");
}

TEST_CASE("every default is below its maximum") {
  for (const LimitRow& row : limit_rows()) {
    INFO(row.name);
    CHECK(ModelLimits().*row.value <= row.most);
  }
}

TEST_CASE("a model is read again under the limits that it was read under") {
  const TestFolder test;
  const std::string path = test.with_file(
      "m.json", R"({"format": "cleave.graph", "version": 1, "inputs": [], "outputs": [],
                    "nodes": [{"name": "a", "op": "f"}, {"name": "b", "op": "f"}]})");
  const auto model = read_model(path, {}, {.nodes = 2});
  REQUIRE(model);
  CHECK(model->limits.nodes == 2);
  CHECK(read_again(*model, {}).has_value());
  const auto refused = read_model(path, {}, {.nodes = 1});
  REQUIRE(!refused);
  REQUIRE(refused.error().size() == 1);
  CHECK(refused.error().front().message ==
        "the graph has more than 1 nodes; --limit nodes=N sets the most that is read");
  CHECK(refused.error().front().line == 2);
}

}  // namespace

}  // namespace cleave
