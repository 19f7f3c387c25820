// Commands of a shelf are in the program that is built with it: scripts/build/shelves.cmake.
#include "cli/commands/command.h"
#include "cli/commands/compiler_commands.h"

namespace cleave {
namespace {

constexpr const char* kLook = "Look at a model and its split";
constexpr const char* kSplit = "Split";
constexpr const char* kGate = "Gate and compare";
constexpr const char* kLists = "Support lists";
constexpr const char* kCompile = "Compile";

constexpr auto kCommands = std::to_array<CommandEntry>({
  {"inspect", "report what a model is made of, without a support list", kLook,
   make_inspect_command},
      {"preview", "report how a model would be split, and the rate that the link allows", kLook,
       make_preview_command},
      {"explain", "explain why nodes run where they do", kLook, make_explain_command},
      {"draw", "draw the model coloured by support, as Graphviz or SVG", kLook, make_draw_command},
      {"help", "print a chapter of the guide, or list them", kLook, make_help_command},
      {"split", "split a model and write the pieces, a report and drawings", kSplit,
       make_split_command},
#if CLEAVE_WITH_STAGES
      {"stage", "cut a model into the stages of a pipeline", kSplit, make_stage_command},
#endif
      {"convert", "write a model with sizes and known values filled in, or as native JSON", kSplit,
       make_convert_command},
#if CLEAVE_WITH_CI
      {"check", "check models against gates and a baseline, for CI", kGate, make_check_command},
      {"diff", "report what moved between two models, lists or settings, and why", kGate,
       make_diff_command},
#endif
#if CLEAVE_WITH_ADVICE
      {"advise", "rank what the lists do not support by the gain of supporting it", kGate,
       make_advise_command},
#endif
#if CLEAVE_WITH_LISTS
      {"lists", "show, begin or lint support lists", kLists, make_lists_command},
#endif
#if CLEAVE_WITH_COMPILERS
      {"probe", "measure which nodes a compiler takes, and write them as a support list", kLists,
       make_probe_command},
#endif
#if CLEAVE_WITH_ADVICE
      {"tune", "learn times: of partitions by a command, to place by them, or of ops from profiles",
       kCompile, make_tune_command},
#endif
#if CLEAVE_WITH_COMPILERS
      {"lower",
       "compile the accelerator partitions with real compilers, and learn what they refuse",
       kCompile, make_lower_command},
      {"reduce", "find the smallest piece of a model that a compiler still fails on", kCompile,
       make_reduce_command},
#endif
      {"cut", "write some nodes of a model as a model of their own", kCompile, make_cut_command},
#if CLEAVE_WITH_COMPILERS
      {"backend", "test the description of a compiler, or list the known ones", kCompile,
       make_backend_command},
#endif
});

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace cleave
