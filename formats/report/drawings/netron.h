// An attachment for Netron: open the model there, then this file. The side panel of a node then
// shows its partition and why it is on the CPU, that of a value the cost of crossing.
#pragma once

#include <string>

#include "formats/report/words/report.h"

namespace cleave {

// JSON with signature `netron:attachment`. Netron finds nodes and values by name: it does not find
// those without a name or with a repeated one. Linear.
std::string netron_attachment(const Report& report);

}  // namespace cleave
