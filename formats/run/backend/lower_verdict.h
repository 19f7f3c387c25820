// LowerVerdict: what became of a piece that a compiler was asked about. verdict_of_answer.h says how an
// answer becomes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

enum class LowerVerdict : std::uint8_t {
  lowered,
  nothing,    // it has no work for the backend: it only renames or views values
  partly,     // it compiles, and the backend leaves some nodes to another: see Attempt::left
  refused,    // exit status or message: a compiler's "no"
  no_output,  // success, but an output file that it should write is missing
  crashed,    // by a signal
  timed_out,
  out_of_memory,
  too_large,  // the piece is beyond the backend's largest model
  wrong_values,
  lower_precision,  // wrong at float32's tolerance, right at bfloat16's
  tie_order,        // equal elements in another order than the reference's
  one_step,         // a few quantised values are one step off the reference's
  not_run,          // there are no inputs to run it on
  flaky,            // the piece got different verdicts
  lost,             // the machine that it ran on failed
  no_room,          // the disk is full
  driver,           // a fault on our side of the backend: no information about the piece
};

// "lowered", "refused", "no output", ...
std::string_view verdict_name(LowerVerdict verdict);
// The verdict with that name.
std::optional<LowerVerdict> verdict_named(std::string_view name);

// True for verdicts that mean that the backend cannot handle the piece.
bool is_refusal(LowerVerdict verdict);
// True for a verdict that may come by chance rather than from the piece: it takes more to believe it.
bool may_be_chance(LowerVerdict verdict);
// True for verdicts that count as lowered for the exit status.
bool is_success(LowerVerdict verdict);

}  // namespace cleave
