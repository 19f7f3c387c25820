// Backend: a compiler, as a backend file describes it. A backend has up to three *stages*: check is
// a cheap refusal, compile makes an artefact, run computes outputs from inputs. Each stage is a
// program of its own, or a request to a *worker*, a permanent process that serves many requests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

enum class LowerStage : std::uint8_t { check, compile, run };

// "check", "compile", "run"
std::string_view lower_stage_name(LowerStage stage);
// The stage with that name.
std::optional<LowerStage> lower_stage_named(std::string_view name);

// A program for one stage. Its words may contain placeholders: see placeholders.h.
struct BackendCommand {
  std::vector<std::string> argv = {};
  std::vector<std::string> produces = {};  // files that must exist after success
  double timeout_seconds = 600;
  std::uint64_t memory_bytes = 0;  // RLIMIT_AS; 0: no limit
};

enum class TensorFormat : std::uint8_t { pb, npy, raw };

// A worker, and the stages that it serves.
struct BackendServe {
  std::vector<std::string> argv;
  std::vector<std::string> ops = {"compile", "run"};
  double start_timeout_seconds = 60;
  double timeout_seconds = 600;        // of one call
  std::uint64_t memory_bytes = 0;      // RLIMIT_AS; 0: no limit
  std::uint32_t restart_after = 2000;  // calls

  bool does(std::string_view op) const;
};

struct BackendEnvironment {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> pass = {"PATH", "HOME"};  // copied from cleave's own environment
};

// What a backend file calls the formats of models: as their files end.
inline constexpr std::array<std::string_view, 3> kTakenFormats = {"onnx", "pt2", "tflite"};

// How outputs are compared with the reference's.
struct CompareTolerance {
  double rtol = 1e-3;
  double atol = 1e-4;  // for outputs whose largest number is 1 or more; of smaller ones its share
  std::int64_t integers = 0;  // for quantised outputs
  // The rounding of numbers near 1: `atol` shrinks no further, as what is added up on the way to a small
  // number may be near 1.
  double rounding = 0x1p-23;

  // `atol` for an output whose largest number is this.
  double atol_of(double largest) const;
};

// The rounding of numbers near 1 in this precision: "float16"; that of float32 for others.
double rounding_of(std::string_view compute);

struct Backend {
  std::string name;
  std::string path;    // of the backend file; "" for the short form
  std::string folder;  // the value of {here}, absolute
  std::string text;    // the file's bytes, which are part of cache keys
  std::vector<std::string> identity;
  std::optional<BackendCommand> check, compile, run;
  std::optional<BackendServe> serve;
  TensorFormat tensors = TensorFormat::pb;
  BackendEnvironment environment;
  std::vector<std::string> failed_if;  // regular expressions (line_pattern.h) on lines of output
  std::string message_begin;           // regular expression for the first line of the message
  std::string message_drop;            // regular expression for lines left out of the message
  CompareTolerance tolerance;
  std::string compute = "float32";
  std::string float32_backend;     // the same compiler in float32; "": none known
  unsigned jobs = 0;               // at once; 0: no own limit
  std::uint64_t model_bytes = 0;   // the largest model it accepts; 0: any
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE; 0: no limit
  std::vector<std::string> takes;  // formats of models, of kTakenFormats; empty: not stated
  std::int64_t lowest_opset = 0, highest_opset = 0;  // of the default domain; 0: not stated
  std::string target = {};  // of several, the one whose partitions it compiles; set by the caller

  const BackendCommand* command(LowerStage stage) const;
  // True when a program or the worker does the stage.
  bool has(LowerStage stage) const;
  // False when the file states formats, and not this one.
  bool may_take(std::string_view format) const;
  // "tract 0.21": the name and what the backend calls itself, which may be "".
  std::string title(std::string_view identity_text) const;
};

}  // namespace cleave
