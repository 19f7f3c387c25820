#include "formats/models/onnx/write/context_nodes.h"

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

// An EPContext model with one node, whose file a compiler has named so.
std::string model_of_file(std::string_view file) {
  std::string attribute, mode, node, graph, model;
  put_bytes(attribute, attribute_field::kName, "ep_cache_context");
  put_bytes(attribute, attribute_field::kString, file);
  put_bytes(mode, attribute_field::kName, "embed_mode");
  put_number(mode, attribute_field::kInt, 0);
  put_bytes(node, node_field::kOpType, "EPContext");
  put_bytes(node, node_field::kAttribute, attribute);
  put_bytes(node, node_field::kAttribute, mode);
  put_bytes(graph, graph_field::kNode, node);
  put_bytes(model, model_field::kGraph, graph);
  return model;
}

TEST_CASE("of the path that a compiler names, only the file's name counts") {
  for (const std::string path :
       {"part.bin", "../part.bin", "../../etc/part.bin", "/etc/part.bin", "a\\..\\part.bin"}) {
    INFO(path);
    const auto read =
        read_context_model(model_of_file(path), {.part = "p", .folder = "artefacts/"});
    REQUIRE(read);
    CHECK(read->nodes.at(0).find("artefacts/part.bin") != std::string::npos);
    CHECK(read->nodes.at(0).find("..") == std::string::npos);
    std::string asked;
    ContextPlace embedded{.part = "p", .folder = ""};
    embedded.content = [&](std::string_view file) {
      asked = file;
      return std::optional<std::string>("compiled");
    };
    REQUIRE(read_context_model(model_of_file(path), embedded));
    CHECK(asked == "part.bin");
  }
}

TEST_CASE("a compiler that names no file has compiled nothing") {
  for (const std::string path : {"", "..", "a/..", "a/", "."}) {
    INFO(path);
    const auto read =
        read_context_model(model_of_file(path), {.part = "p", .folder = "artefacts/"});
    REQUIRE_FALSE(read);
    CHECK(read.error() == "its file \"" + path + "\" cannot be read");
  }
}

}  // namespace
}  // namespace cleave
