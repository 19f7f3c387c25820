#include "cli/commands/command.h"
#include "cli/commands/compiler_commands.h"

namespace cleave {
namespace {

constexpr auto kCommands = std::to_array<CommandEntry>({
    {"split", "split a model and write the pieces, a report and drawings", make_split_command},
    {"preview", "report how a model would be split, and what the link bounds",
     make_preview_command},
    {"support", "list supported and unsupported op types with the dtypes met",
     make_support_command},
    {"partition", "split a model by a given node -> partition map", make_partition_command},
    {"stage", "cut a model into the stages of a pipeline", make_stage_command},
    {"draw", "draw the model coloured by support, as Graphviz or SVG", make_draw_command},
    {"check", "hold models against gates and a baseline: the gate of a CI", make_check_command},
    {"diff", "say what moved between two models, lists or settings, and why", make_diff_command},
    {"lint-support", "find faults of a support list", make_lint_support_command},
    {"advise", "rank what the lists do not support by what supporting it would gain",
     make_advise_command},
    {"explain", "say why nodes are where they are", make_explain_command},
    {"print", "print the model, or its split, one line a node", make_print_command},
    {"convert", "write any readable model as native JSON", make_convert_command},
    {"cut", "write some nodes of a model as a model of their own", make_cut_command},
    {"lower", "compile the accelerator partitions by real compilers, and learn what they refuse",
     make_lower_command},
    {"backend", "test the description of a compiler, or list those that are known",
     make_backend_command},
});

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace cleave
