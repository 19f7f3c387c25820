// Reads a program's signature: what each input and output of the graph is to the caller.
//
//   {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}, ...],
//    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}, ...]}
#pragma once

#include "formats/models/pt2/arguments.h"

namespace cleave {

// Adds the signature at the cursor to the program's inputs and outputs.
void read_pt2_signature(const Pt2Reading& reading);

}  // namespace cleave
