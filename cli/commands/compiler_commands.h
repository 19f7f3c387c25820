// Commands that run compilers.
#pragma once

#include <memory>

#include "cli/commands/command.h"

namespace cleave {

std::unique_ptr<Command> make_lower_command(const Given& given);
std::unique_ptr<Command> make_reduce_command(const Given& given);
std::unique_ptr<Command> make_probe_command(const Given& given);
std::unique_ptr<Command> make_backend_command(const Given& given);

}  // namespace cleave
