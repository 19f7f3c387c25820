// Attempt: the outcome of passing one piece to one backend, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/run/backend/backend.h"
#include "formats/run/backend/lower_verdict.h"

namespace cleave {

// What a worker kept of a piece that it compiled, as it says: see PieceFiles::keeps.
struct KeptFiles {
  struct File {
    std::string name;  // beside PieceFiles::out
    std::string role;  // "main" for the one to load, "data" for what it refers to
  };
  std::vector<File> files = {};
  std::vector<std::string> inputs = {}, outputs = {};  // of the main file, in its order
  // What they were made for: "soc_model", "57".
  std::vector<std::pair<std::string, std::string>> target = {};
  std::string note = {};  // why there are no files
};

// A node that a backend compiles around, or names when it refuses the piece: it is none of what the backend
// runs.
struct LeftOut {
  std::string node;      // its name in the piece
  std::string op = {};   // as the backend calls it, or a part of it: "aten.native_layer_norm"
  std::string why = {};  // "" when the backend does not say
};

// An output of floats that was compared with the reference's. Of several samples: the one that is further
// apart for its size.
struct ComparedOutput {
  std::string name = {};
  double most_apart = 0;  // the largest difference
  double largest = 0;     // the largest number of the reference
  double rms = 0;         // of the difference, as a share of that of the reference
  // False: all that is wanted is within the tolerance of 0, so that this comparison says nothing.
  bool is_tested = true;
  bool is_finite = true;  // false: all that is wanted is NaN or infinite
};

struct Attempt {
  LowerVerdict verdict = LowerVerdict::driver;
  LowerStage stage = LowerStage::compile;
  std::string detail = {};   // "SIGSEGV", "exit 3", "2 s" of a timeout; may be empty
  std::string message = {};  // the backend's words; "" when it is lowered
  double seconds = 0;
  std::optional<std::uint64_t> artefact_bytes = {};
  bool is_cached = false;
  std::string before =
      {};  // how an earlier try failed, when this is the answer to a repeat; not stored
  // In the backend's order; of LowerVerdict::partly all, of a refusal those that it names.
  std::vector<LeftOut> left = {};
  std::vector<ComparedOutput> compared = {};  // of the stage run, in the piece's order
  KeptFiles kept = {};
};

// True when a backend's words say that it could not have the device for itself.
bool tells_of_busy(std::string_view message);

// The verdict with what is known of it: "crashed (SIGSEGV)", "timed out after 2 s".
std::string verdict_words(const Attempt& attempt);

// The line of the message that says what is wrong, for tables; cut to `columns`. See essential_lines();
// the place of a panic in Rust is left out, too.
std::string first_line(std::string_view message, std::size_t columns);
// The same for files that are the same after each run: names of temporary files are "{model}", and addresses
// "0x...".
std::string lasting_line(std::string_view message, std::size_t columns);

}  // namespace cleave
