// Weights that stay where they are (--weights reference): written files refer to the bytes in the
// model's own file, or in its files of external data, so that a split does not copy them.
//
// A runtime reads external data only from the folder of the file that refers to it, or below: not
// through "..", an absolute path or a link. So the output folder must contain the files of the
// weights: it is the model's own folder, or one above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/write/source.h"

namespace cleave {

// Weights of up to this many bytes are copied in any case, so that a tool that reads one file finds
// shapes and scales in it.
inline constexpr std::uint64_t kSmallReference = 1024;

// By file of `source`: its path relative to `folder`. Empty for a file without weights above
// kSmallReference bytes. Error: names the file outside `folder`, and the folder to give instead.
Result<std::vector<std::string>, std::string> onnx_references(const LoadedModel& model,
                                                              const OnnxSource& source,
                                                              const std::string& folder);

}  // namespace cleave
