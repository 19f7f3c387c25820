// An attachment for Netron: open the model there, then this file, and the side panel of a node
// shows its partition and why it is on the CPU, that of a value what it costs to cross.
#pragma once

#include <string>

#include "formats/report/words/report.h"

namespace cleave {

// JSON of signature `netron:attachment`. Netron finds nodes and values by name: what has none in
// the model, or shares it, is not found there. Linear.
std::string netron_attachment(const Report& report);

}  // namespace cleave
