#include "formats/lists/import/table_text.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

// "section: a|b; 1|2 (line 3)": the tables, with headings and rows.
std::string tables_in(std::string_view text) {
  std::string all;
  const auto joined = [](const std::vector<std::string>& cells) {
    std::string row;
    for (std::size_t i = 0; i < cells.size(); ++i) row += (i == 0 ? "" : "|") + cells[i];
    return row;
  };
  for (const MarkdownTable& table : parse_markdown_tables(text)) {
    all += (all.empty() ? "" : "\n") + table.section + ": " + joined(table.headings);
    for (const MarkdownRow& row : table.rows) {
      all += "; " + joined(row.cells) + " (line " + std::to_string(row.line) + ")";
      for (const std::string& link : row.links) all += " #" + link;
    }
  }
  return all;
}

// "link: item, item without A B"
std::string sections_in(std::string_view text) {
  std::string all;
  for (const MarkdownSection& section : parse_markdown_sections(text)) {
    all += (all.empty() ? "" : "; ") + section.link + ":";
    for (const MarkdownItem& item : section.items) {
      all += " {" + item.text + "}";
      for (const std::string& name : item.except) all += " -" + name;
    }
  }
  return all;
}

TEST_CASE("a table is a row of headings, a row of dashes, and rows with bars") {
  CHECK(tables_in("|a|b|\n|--|--|\n|1|2|\n") == ": a|b; 1|2 (line 3)");
  CHECK(tables_in("a|b\n-|-\n1|2") == ": a|b; 1|2 (line 3)");
  CHECK(tables_in("| a | b |\r\n| :-- | :-: |\r\n| 1 | 2 |\r\n") == ": a|b; 1|2 (line 3)");
  CHECK(tables_in("|a|b|\n|--|--|\n") == ": a|b");
  CHECK(tables_in("|a|b|\n|1|2|\n").empty());
  CHECK(tables_in("a\n--\n1\n").empty());
  CHECK(tables_in("a\n|--|\n|1|\n").empty());
  CHECK(tables_in("|a|\n|-x-|\n|1|\n").empty());
  CHECK(tables_in("|a|\n|::|\n|1|\n").empty());
  CHECK(tables_in("|a|\n|-|\n|1|\nend\n|2|\n") == ": a; 1 (line 3)");
  CHECK(tables_in("|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|\n") == ": a; 1 (line 3)\n: b; 2 (line 7)");
  CHECK(tables_in("|a|\n|-|\n|-|\n") == ": a; - (line 3)");
}

TEST_CASE("a table is in the section of the last heading above it") {
  CHECK(tables_in("# One\n## Two\n|a|\n|-|\n|1|\n") == "Two: a; 1 (line 5)");
  CHECK(tables_in("#One\n|a|\n|-|\n") == ": a");
  CHECK(tables_in("no # heading\n|a|\n|-|\n") == ": a");
  CHECK(tables_in("#\n|a|\n|-|\n") == ": a");
  CHECK(tables_in("# `A` **b** [c](d)\n|a|\n|-|\n") == "A b c: a");
}

TEST_CASE("cells are plain text: without marks, and links are their words") {
  const auto cells = [](const std::string& row) {
    const std::string text = tables_in("|a|\n|-|\n" + row + "\n");
    const std::string begin = ": a; ", end = " (line 3)";
    REQUIRE(text.starts_with(begin));
    return text.substr(begin.size(), text.find(end) - begin.size());
  };
  CHECK(cells("|`x`|**y**|*z*|") == "x|y|*z*");
  CHECK(cells("|[Abs](Abs.md)|[b] (c)|[d](e|") == "Abs|b (c)|d(e");
  CHECK(cells("|a\\|b|c\\*\\*d|e\\\\f|") == "a|b|c**d|e\\f");
  CHECK(cells("||a||") == "|a|");
  CHECK(cells("|a| |") == "a|");
  CHECK(cells("|a|b") == "a|b");
  CHECK(cells("  | a |") == "a");
  CHECK(cells("|a*|") == "a*");
  CHECK(cells("|a]|") == "a");
  CHECK(cells("|a\\|") == "a|");
}

TEST_CASE("links of rows lead to headings, which have small letters and dashes") {
  CHECK(tables_in("|a|\n|-|\n|[x](#one-two), [y](z), [w](#three)|\n") ==
        ": a; x, y, w (line 3) #one-two #three");
  CHECK(tables_in("|a|\n|-|\n|[x](#open|\n") == ": a; x(#open (line 3)");
  CHECK(sections_in("# Az 09_-(.)\n- item\n") == "az-09_-: {item}");
  CHECK(sections_in("# A\n- item\n# B\n# C\n- other\n") == "a: {item}; c: {other}");
}

TEST_CASE("items have what is below them in their text, and exceptions") {
  CHECK(sections_in("- before a heading\n# A\n- one\n- two\n") == "a: {one} {two}");
  CHECK(sections_in("# A\n- one\n  - more\n  - and more\n") == "a: {one - more - and more}");
  CHECK(sections_in("# A\n  - below nothing\n- one\n") == "a: {one}");
  CHECK(sections_in("# A\n- one\n  - Exceptions: [ADD, MUL]\n- two\n") ==
        "a: {one} -ADD -MUL {two}");
  CHECK(sections_in("# A\n- one\n  - Exceptions: ADD,\n") == "a: {one} -ADD");
  CHECK(sections_in("# A\n- one\n  - Exceptions: []\n") == "a: {one}");
  CHECK(sections_in("# A\n-one\n* two\n").empty());
}

TEST_CASE("words for types are read in capital and small letters") {
  CHECK(dtype_of_word("FP32") == DType::float32);
  CHECK(dtype_of_word("Half") == DType::float16);
  CHECK(dtype_of_word("BOOL") == DType::boolean);
  CHECK(dtype_of_word("i64") == DType::int64);
  CHECK(dtype_of_word("uint4") == DType::uint4);
  CHECK_FALSE(dtype_of_word("fp3"));
  CHECK_FALSE(dtype_of_word("fp322"));
  CHECK_FALSE(dtype_of_word(""));
}

TEST_CASE("operators of TensorFlow Lite are found by their names alone") {
  for (const std::string name :
       {"ABS", "ADD", "ADD_N", "CONV_2D", "DEPTHWISE_CONV_2D", "PADV2", "PRELU", "SPLIT", "SPLIT_V",
        "TRANSPOSE", "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM"}) {
    CAPTURE(name);
    REQUIRE(find_tflite_op(name) != nullptr);
    CHECK(find_tflite_op(name)->name == name);
    CHECK(find_tflite_op(name + "X") == nullptr);
    CHECK(find_tflite_op(name.substr(0, name.size() - 1) + "~") == nullptr);
  }
  CHECK(find_tflite_op("") == nullptr);
  CHECK(find_tflite_op("ZEROS_LIKE") == nullptr);
  CHECK(find_tflite_op("A") == nullptr);
}

}  // namespace
}  // namespace cleave
