// Moves nodes to another device that name the device of their output, as traced code does
// (torch.zeros with device="cpu").
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The node, as JSON on one line, with its attribute or keyword `device` set to this device;
// unchanged when it has neither.
std::string with_device(std::string node, std::string_view device);

}  // namespace cleave
