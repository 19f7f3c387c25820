// The man page, made from the same tables as the parser.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/option_table.h"

namespace cleave {

// cleave(1) in roff's man macros; the first table is the program's.
std::string man_page(const std::vector<CommandTable>& tables, const std::string& version);

}  // namespace cleave
