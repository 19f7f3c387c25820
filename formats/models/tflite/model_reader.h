// From the bytes of a TensorFlow Lite file to its tables, checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/tflite/model.h"

namespace cleave {

// True for bytes that have the identifier of TensorFlow Lite, "TFL3".
bool looks_like_tflite(std::string_view bytes);

// The keys of the model's signatures, in the order of the file; and their first few as text.
std::vector<std::string_view> signature_keys(const TfliteModel& model);
std::string key_list(const std::vector<std::string_view>& keys);

// How many scales a tensor has along an axis that it does not have; 0: the axis is one of its own.
// Converters of old wrote such an axis for a single scale, where it means nothing.
std::uint32_t scales_of_no_axis(const TfliteTensor& tensor);

// Reads everything except the state and the graph. Faults, at most 20: offsets that lead beyond the
// file; numbers of tensors, buffers, codes and subgraphs that do not exist; tensors that two
// operators make, or that are read before they are made; data that is shorter than its tensor;
// subgraphs that call themselves. `source` must outlive the result. Linear.
// The model is the subgraph of `signature`; by default of the first one that computes anything from its
// inputs, else of the first one, or else the first subgraph.
Loaded<TfliteModel> read_tflite_model(const SourceFile& source, const ModelLimits& limits,
                                      std::string_view signature = {});

}  // namespace cleave
