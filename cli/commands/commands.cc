// Commands of a shelf are in the program that is built with it: scripts/build/shelves.cmake.
#include "cli/commands/command.h"
#include "cli/commands/compiler_commands.h"

namespace cleave {
namespace {

constexpr auto kCommands = std::to_array<CommandEntry>({
  {of::inspect, make_inspect_command}, {of::preview, make_preview_command},
      {of::explain, make_explain_command}, {of::draw, make_draw_command},
      {of::help, make_help_command}, {of::split, make_split_command},
      {of::convert, make_convert_command}, {of::cut, make_cut_command}, {of::run, make_run_command},
      {of::verify, make_run_command},
#if CLEAVE_WITH_STAGES
      {of::stage, make_stage_command},
#endif
#if CLEAVE_WITH_CI
      {of::check, make_check_command}, {of::diff, make_diff_command},
#endif
#if CLEAVE_WITH_ADVICE
      {of::advise, make_advise_command}, {of::tune, make_tune_command},
#endif
#if CLEAVE_WITH_LISTS
      {of::lists, make_lists_command},
#endif
#if CLEAVE_WITH_COMPILERS
      {of::probe, make_probe_command}, {of::lower, make_lower_command},
      {of::reduce, make_reduce_command}, {of::backend, make_backend_command},
#endif
});

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

Commands built_commands() {
  Commands built = 0;
  for (const CommandEntry& entry : kCommands) built |= entry.command;
  return built;
}

}  // namespace cleave
