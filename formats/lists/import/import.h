// Imports what vendors and compilers publish about their operators as native support lists.
//
//   table      operator tables in Markdown (ONNX Runtime's providers, onnx-tensorrt, Vela, TIDL)
//   devices    {"node": "NPU"}: OpenVINO's query_model, ONNX Runtime's assignment; made verdicts
//   torch      torch's SupportDict: {"aten.add.Tensor": {"args": [["float32"], null]}}
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/text/diagnostic.h"
#include "formats/lists/import/operator_table.h"
#include "formats/lists/support/support_file.h"

namespace cleave {

enum class ImportKind : std::uint8_t { table, devices, torch };

struct ListImport {
  ImportKind kind;
  TableImport result;  // its list has the text of a native list
  OperatorNames names = OperatorNames::onnx;
};

struct ImportOptions {
  std::optional<ImportKind> kind = {};  // nullopt: what the content shows
  std::string name = {};                // of the list; empty: that of the file
  std::string section = {};             // only tables below headings with this text; empty: all
  OperatorNames names = OperatorNames::onnx;  // of operators in tables
};

// Reads the file ("-": standard input).
Loaded<ListImport> import_list(const std::string& path, const ImportOptions& options);
// The same of a text, as if read from `path`.
Loaded<ListImport> import_list_text(const std::string& path, std::string_view bytes,
                                    const ImportOptions& options);

// A text that says what was read and what was not turned into conditions.
std::string import_text(const ListImport& import);

// A support list to start from: one rule for each op of some models, with the types that the op has
// there.

// The text of a native list. Rules are in the order of first use; `why` says how many nodes of how
// many models each is for. Linear in the nodes.
std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name);

}  // namespace cleave
