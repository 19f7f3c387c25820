#include "tests/formats/onnx/read/onnx_text.h"

#include <onnx/defs/parser.h>

#include "tests/catch2.h"

namespace cleave {

std::string onnx_bytes(const std::string& text, const ModelEdit& edit) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  INFO(text);
  INFO(status.ErrorMessage());
  REQUIRE(status.IsOK());
  if (edit) edit(model);
  return model.SerializeAsString();
}

SourceFile onnx_file(const std::string& graph, const ModelEdit& edit) {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17]>\n";
  return SourceFile::from_text("m.onnx", onnx_bytes(head + graph, edit));
}

}  // namespace cleave
