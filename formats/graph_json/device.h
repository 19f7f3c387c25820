// Nodes that name the device on which they make their values, as traced code does (torch.zeros with
// device="cpu"), moved to another.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The node, its JSON on one line, with its attribute or keyword `device` naming this device; as it
// is when it has neither.
std::string with_device(std::string node, std::string_view device);

}  // namespace cleave
