// Operator tables of vendors as support lists: a row an operator, with columns for the types, the
// opset and notes. Columns are known by their headings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support_list.h"

namespace cleave {

// What became of the rows. Nothing becomes a silent yes: a note that could not be turned into a
// condition is `unchecked` in its rule.
struct TableImport {
  SupportList list;
  std::size_t rows = 0;
  std::size_t unsupported_rows = 0;         // that say that the operator is not supported
  std::size_t sentences = 0;                // of notes
  std::size_t conditions = 0;               // sentences that became conditions
  std::vector<std::string> unchecked = {};  // sentences that did not, each once
  std::vector<std::string> renamed = {};    // "Argmax is ArgMax"
  std::vector<std::string> unknown = {};    // names that ONNX does not have
  std::vector<std::string> types = {};      // words for types that are not known, each once
};

// True when the text has a table with a column of operators.
bool has_operator_table(std::string_view text);

// All tables that have a column of operators. The list's text is empty: see import.h. Linear.
TableImport import_operator_tables(std::string_view text);

}  // namespace cleave
