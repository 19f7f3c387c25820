// Words for element types, as vendors' tables and ONNX's schemas write them: FP16, half, float16.
#pragma once

#include <optional>
#include <string_view>

#include "core/condition/type_set.h"
#include "formats/models/onnx/infer/names.h"

namespace cleave {

// The dtype that the word names, in capital or small letters; nullopt for any other word.
std::optional<DType> dtype_of_word(std::string_view word);

// The element types of tensors that ONNX allows for this input or output.
TypeSet allowed_types(const OnnxFormal& formal);

}  // namespace cleave
