// Backends for tests of lowering: small shell scripts as the compiler and as the reference.
#pragma once

#include <string>

#include "formats/base/model.h"
#include "formats/run/backend/backend.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// A compiler that writes its output unless `refuses`, a condition of the shell, holds; then it ends
// with status 1 and this message. `{model}` is the path of the piece.
Backend shell_backend(const std::string& refuses, const std::string& message);

// A condition of shell_backend(): the piece contains these bytes, such as the name of an op.
std::string contains(const std::string& bytes);

// A reference that has a value of no tensor, and that "converts" a model by adding the word
// "raised" to its file. The command of the shell answers the request instead when it is given.
Backend shell_reference(const std::string& convert = {});

// Reads the graph, in the text form of ONNX, from a file NAME.onnx that it writes into the folder.
LoadedModel onnx_model_in(const TestFolder& folder, const std::string& name,
                          const std::string& graph);

}  // namespace cleave
