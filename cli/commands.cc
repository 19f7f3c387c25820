#include <array>

#include "cli/command.h"

namespace cleave {
namespace {

constexpr std::array<CommandEntry, 7> kCommands = {{
    {"split", "split a model and write the pieces, a report and drawings", make_split_command},
    {"preview", "report how a model would be split, and what the link bounds",
     make_preview_command},
    {"support", "list supported and unsupported op types with the dtypes met",
     make_support_command},
    {"draw", "draw the model coloured by support, as Graphviz or SVG", make_draw_command},
    {"explain", "say why nodes are where they are", make_explain_command},
    {"print", "print the model, or its split, one line a node", make_print_command},
    {"convert", "write any readable model as native JSON", make_convert_command},
}};

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace cleave
