#include "tests/formats/run/lowering/shell_backend.h"

#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

// A worker that gives no values, and that converts a model by copying it with a word at its end.
constexpr const char* kReferenceScript = R"sh(
field() { echo "$line" | sed "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/"; }
echo '{"ready": true, "version": "1"}'
while read -r line; do
  case "$line" in
    *convert*) $CONVERT ;;
    *) echo '{"ok": true, "tensors": []}' ;;
  esac
done
)sh";
constexpr const char* kConvert =
    R"sh({ cat "$(field model)"; echo raised; } > "$(field out)"; echo '{"ok": true}')sh";

}  // namespace

Backend shell_backend(const std::string& refuses, const std::string& message) {
  Backend backend;
  backend.name = "fake";
  backend.compile = BackendCommand{.argv = {"/bin/sh", "-c",
                                            "if " + refuses + "; then echo '" + message +
                                                "' >&2; exit 1; fi; echo made > {out}"}};
  backend.identity = {"/bin/echo", "1.0"};
  return backend;
}

std::string contains(const std::string& bytes) { return "grep -q " + bytes + " {model}"; }

Backend shell_reference(const std::string& convert) {
  std::string script = kReferenceScript;
  const std::string_view place = "$CONVERT";
  script.replace(script.find(place), place.size(), convert.empty() ? kConvert : convert);
  Backend reference;
  reference.name = "reference";
  reference.serve = BackendServe{.argv = {"/bin/sh", "-c", script}};
  reference.serve->ops = {"capture", "convert"};
  return reference;
}

LoadedModel onnx_model_in(const TestFolder& folder, const std::string& name,
                          const std::string& graph) {
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph;
  auto model = read_model(folder.with_file(name + ".onnx", onnx_bytes(text)), {});
  if (!model) FAIL("the model is refused");
  return std::move(*model);
}

}  // namespace cleave
