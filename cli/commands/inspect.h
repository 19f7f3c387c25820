// cleave inspect: what a model is made of, without a support list.
#pragma once

#include <memory>

#include "cli/commands/command.h"

namespace cleave {

std::unique_ptr<Command> make_inspect_command();

}  // namespace cleave
