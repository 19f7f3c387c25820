// From the bytes of a TensorFlow Lite file to its tables, checked.
#pragma once

#include <memory>

#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/tflite/model.h"

namespace cleave {

// True for bytes that have the identifier of TensorFlow Lite, "TFL3".
bool looks_like_tflite(std::string_view bytes);

// Reads everything except the state and the graph. Faults, at most 20: offsets that lead beyond the
// file; numbers of tensors, buffers, codes and subgraphs that do not exist; tensors that two
// operators make, or that are read before they are made; data that is shorter than its tensor;
// subgraphs that call themselves. `source` must outlive the result. Linear.
Loaded<TfliteModel> read_tflite_model(const SourceFile& source, const ModelLimits& limits);

}  // namespace cleave
