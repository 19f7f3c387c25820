// Operator tables of vendors as support lists: a row an operator, with columns for the types, the
// opset and notes. Columns are known by their headings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support_list.h"
#include "formats/models/onnx/infer/names.h"

namespace cleave {

// A sentence that was not turned into a condition, and the operators that it is about.
struct UncheckedSentence {
  std::string text;
  std::vector<std::string> ops;
};

// The list, and what became of the rows. No note is dropped: one that could not be turned into a
// condition is `unchecked` in its rule.
struct TableImport {
  SupportList list;
  std::size_t rows = 0;
  std::size_t unsupported_rows = 0;               // rows that say that the op is not supported
  std::size_t sentences = 0;                      // of notes
  std::size_t conditions = 0;                     // sentences that became conditions
  std::size_t remarks = 0;                        // sentences that ask nothing: see asks_nothing()
  std::vector<UncheckedSentence> unchecked = {};  // sentences that did not, each once
  std::vector<std::string> renamed = {};          // "Argmax is ArgMax"
  std::vector<std::string> unknown = {};   // names that ONNX, or TensorFlow Lite, does not have
  std::vector<std::string> types = {};     // "INF64 (Conv)": words that name no known type
  std::vector<std::string> not_read = {};  // headings of columns that mean nothing to cleave
  // Not empty: nothing was imported. The headings to choose from: those of tables that have the
  // same operator, of columns that say what is supported, or of all tables when none has the text.
  std::vector<std::string> sections = {};
};

// Whose names the rules have for operators of TensorFlow Lite: those for ONNX models or for .tflite.
enum class OperatorNames : std::uint8_t { onnx, tflite };

// True when the text has a table with a column of operators.
bool has_operator_table(std::string_view text);

// The tables that have a column of operators; with a section, only those with this text in the
// heading above or in that of a column that says what is supported, in capital or small letters.
// Operators of TensorFlow Lite become ONNX's, or with `tflite` all are TensorFlow Lite's. The list's
// text is empty: see import.h. Linear.
TableImport import_operator_tables(std::string_view text, std::string_view section,
                                   OperatorNames names = OperatorNames::onnx);

// Notes of vendors' operator tables: what a sentence asks of a node, as conditions of a rule.
//
//   "axes must be an initializer"                 constant
//   "x_zero_point must be zero"                   values
//   "dilations must be empty or all ones"         a relation
//   "2D or 3D pooling only"                       a rank
//   "Only the first output Y is supported"        outputs used
//   "sorted must be 1"                            an attribute
//   "Supported resize modes: nearest, linear"     an attribute
//   "Only support for transA == 0 is implemented" attributes
//
// Any other sentence is kept in the rule's `unchecked`.

// The sentences of a note, without white space around them. <br> and ". " end one.
std::vector<std::string> sentences_of(std::string_view note);

// Adds what the sentence asks to the rule for the operator; false when that cannot be told.
bool add_note_condition(std::string_view sentence, const OnnxOpNames& op, Rule& rule);

// True for a sentence that asks nothing of a node: what could be added, what the vendor ignores, where
// an operator comes from, what may be, and values of attributes that the operator does not have. Null: the
// operator is none of ONNX's.
bool asks_nothing(std::string_view sentence, const OnnxOpNames* op);

}  // namespace cleave
