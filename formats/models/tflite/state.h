// What a TensorFlow Lite model keeps from call to call, and which of its operators compute on
// constants only.
#pragma once

#include "formats/models/tflite/model.h"

namespace cleave {

// Finds resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE become values
// that the model takes and gives, so that no handle has to cross from partition to partition.
// Linear.
void find_tflite_state(TfliteModel& model);

// By operator of a subgraph: whether all its inputs are constant. Needs the state. Custom operators,
// those with bodies, with state or chance, and those without inputs or outputs are not. Linear.
std::vector<std::uint8_t> tflite_constants(const TfliteModel& model, std::uint32_t subgraph);

// Whether a subgraph has operators that are neither constant nor reads and writes of variables. Needs no
// state. Linear.
bool computes_anything(const TfliteModel& model, std::uint32_t subgraph);

// Whether a tensor is data of the file: nothing makes it, and it is no input and no variable.
bool is_stored(const TfliteTensor& tensor);

}  // namespace cleave
