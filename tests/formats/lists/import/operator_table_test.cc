#include "formats/lists/import/operator_table.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

// "Conv com.microsoft::Gelu": the rules of a table whose only row has this text as its operator.
std::string ops_of(const std::string& cell) {
  const TableImport import =
      import_operator_tables("|Operator|Note|\n|--|--|\n|" + cell + "||\n", "");
  CHECK(import.rows == (import.list.allow.empty() ? 0 : 1));
  std::string ops;
  for (const Rule& rule : import.list.allow) {
    ops += (ops.empty() ? "" : " ") + (rule.domain.empty() ? "" : rule.domain + "::") + rule.op;
  }
  return ops;
}

TEST_CASE("a cell of a table can name several operators, up to a bracket") {
  CHECK(ops_of("Conv") == "Conv");
  CHECK(ops_of("Max, Min") == "Max Min");
  CHECK(ops_of("Max / Min") == "Max Min");
  CHECK(ops_of("Add*") == "Add");
  CHECK(ops_of("ai.onnx:Conv") == "Conv");
  CHECK(ops_of("com.microsoft::Gelu") == "com.microsoft::Gelu");
  CHECK(ops_of("Conv (Add and Mul too)") == "Conv");
  CHECK(ops_of("Max, Min(two inputs), Sum") == "Max Min");
}

TEST_CASE("a cell of many words is prose and names no operator") {
  CHECK(ops_of("Max Min Add Sub Mul Div Exp Log") == "Max Min Add Sub Mul Div Exp Log");
  CHECK(ops_of("Max Min Add Sub Mul Div Exp Log Neg").empty());
}

}  // namespace
}  // namespace cleave
