// Moves nodes to another device. Nodes of traced code may name the device of their output
// (torch.zeros with device="cpu").
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The node, as JSON on one line, with its attribute or keyword `device` set to this device;
// unchanged when it has neither.
std::string with_device(std::string node, std::string_view device);

}  // namespace cleave
