#include "cli/commands/command.h"
#include "cli/commands/compiler_commands.h"
#include "cli/commands/inspect.h"

namespace cleave {
namespace {

constexpr auto kCommands = std::to_array<CommandEntry>({
    {"inspect", "report what a model is made of, without a support list", make_inspect_command},
    {"split", "split a model and write the pieces, a report and drawings", make_split_command},
    {"preview", "report how a model would be split, and the rate that the link allows",
     make_preview_command},
    {"support", "list supported and unsupported op types and their dtypes", make_support_command},
    {"partition", "split a model by a given node -> partition map", make_partition_command},
    {"stage", "cut a model into the stages of a pipeline", make_stage_command},
    {"draw", "draw the model coloured by support, as Graphviz or SVG", make_draw_command},
    {"check", "check models against gates and a baseline, for CI", make_check_command},
    {"diff", "report what moved between two models, lists or settings, and why", make_diff_command},
    {"lint-support", "find faults in a support list", make_lint_support_command},
    {"advise", "rank what the lists do not support by the gain of supporting it",
     make_advise_command},
    {"explain", "explain why nodes run where they do", make_explain_command},
    {"print", "print the model, or its split, one line per node", make_print_command},
    {"convert", "write any readable model as native JSON", make_convert_command},
    {"cut", "write some nodes of a model as a model of their own", make_cut_command},
    {"calibrate", "learn from profiles what each op takes, for models without a profile",
     make_calibrate_command},
    {"tune", "time the accelerator partitions by a command, and place by these times",
     make_tune_command},
    {"lower", "compile the accelerator partitions with real compilers, and learn what they refuse",
     make_lower_command},
    {"reduce", "find the smallest piece of a model that a compiler still fails on",
     make_reduce_command},
    {"probe", "measure which nodes a compiler takes, and write them as a support list",
     make_probe_command},
    {"backend", "test the description of a compiler, or list the known ones", make_backend_command},
});

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace cleave
