// Command-line completion for bash, zsh and fish: commands, options, the values of options that
// take one of a few words, and otherwise files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/option_table.h"

namespace cleave {

enum class Shell { bash, zsh, fish };

// "bash", "zsh", "fish".
std::optional<Shell> shell_named(std::string_view name);

// A script for the shell, made from the tables; the first one is the program's.
std::string completion_script(Shell shell, const std::vector<CommandTable>& tables);

}  // namespace cleave
