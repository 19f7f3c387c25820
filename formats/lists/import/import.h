// Imports what vendors and compilers publish about their operators as native support lists.
//
//   table      operator tables in Markdown (ONNX Runtime's providers, onnx-tensorrt, Vela, TIDL)
//   devices    {"node": "NPU"}: OpenVINO's query_model, ONNX Runtime's assignment; made verdicts
//   torch      torch's SupportDict: {"aten.add.Tensor": {"args": [["float32"], null]}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"
#include "formats/lists/import/operator_table.h"

namespace cleave {

enum class ImportKind : std::uint8_t { table, devices, torch };

// "table", "devices", "torch"
std::string_view import_kind_name(ImportKind kind);

struct ListImport {
  ImportKind kind;
  TableImport result;  // its list has the text of a native list
};

struct ImportOptions {
  std::optional<ImportKind> kind = {};  // nullopt: what the content shows
  std::string name = {};                // of the list; empty: that of the file
  std::string section = {};             // only tables below headings with this text; empty: all
};

// Reads the file ("-": standard input).
Loaded<ListImport> import_list(const std::string& path, const ImportOptions& options);
// The same of a text, as if read from `path`.
Loaded<ListImport> import_list_text(const std::string& path, std::string_view bytes,
                                    const ImportOptions& options);

// A text that says what was read and what was not turned into conditions.
std::string import_text(const ListImport& import);

}  // namespace cleave
