// What vendors' operator tables are made of: Markdown, names of TensorFlow Lite, words for types.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/condition/condition.h"
#include "formats/models/onnx/infer/names.h"

namespace cleave {

// Tables in Markdown: a row of headings, a row of dashes, rows of cells between bars; and the lists
// of items below headings that cells link to.
struct MarkdownRow {
  std::size_t line;                // from 1
  std::vector<std::string> cells;  // without links, code marks and tags but <br>
  std::vector<std::string> links;  // to headings of the text, without "#"
};

struct MarkdownTable {
  std::string section;  // the heading above; empty: none
  std::vector<std::string> headings;
  std::vector<MarkdownRow> rows;
};

// "- text" below a heading.
struct MarkdownItem {
  std::string text;                 // with its own items behind it, but for exceptions
  std::vector<std::string> except;  // "- Exceptions: [A, B]" below it
};

struct MarkdownSection {
  std::string link;  // of its heading: small letters, "-" for blanks, no other signs
  std::vector<MarkdownItem> items;
};

// The sections that have items, in the order of the text. Linear.
std::vector<MarkdownSection> parse_markdown_sections(std::string_view text);

// The tables in the order of the text. Rows may have fewer cells than there are headings. Linear.
std::vector<MarkdownTable> parse_markdown_tables(std::string_view text);

// The operators of TensorFlow Lite, as vendors' tables name them, with the ONNX operators that do
// the same.
struct TfliteOp {
  std::string_view name;        // "DEPTHWISE_CONV_2D"
  std::string_view onnx;        // "Conv"
  std::string_view where = {};  // the nodes of the ONNX operator that it is; empty: all
};

// Null for a name that is not in the table.
const TfliteOp* find_tflite_op(std::string_view name);

// Words for element types, as vendors' tables and ONNX's schemas write them: FP16, half, float16.

// The dtype that the word names, in capital or small letters; nullopt for any other word.
std::optional<DType> dtype_of_word(std::string_view word);

// The element types of tensors that ONNX allows for this input or output.
TypeSet allowed_types(const OnnxFormal& formal);

}  // namespace cleave
