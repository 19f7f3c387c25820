// Worker: a backend's permanent process that answers requests, JSON objects one per line, so that
// the compiler is loaded once. scripts/backends/worker.py is the other side.
//
//   -> {"op": "compile", "model": "piece.onnx"}
//   <- {"ok": false, "stage": "convert", "error": "unsupported op Loop"}
//
// It is started at the first call, and again after it died, hung, or has served its number of
// calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/base/io/child.h"
#include "formats/base/io/kept_output.h"

namespace cleave {

struct WorkerOptions {
  ChildCommand command;  // its timeout applies to each call
  double start_timeout_seconds = 60;
  std::uint32_t restart_after = 2000;
};

struct WorkerAnswer {
  enum class Kind : std::uint8_t {
    line,         // an answer
    died,         // the worker ended during the call
    timed_out,    // and was killed
    not_started,  // no program, or no greeting
    garbled,      // a line that is not a JSON object
  };
  Kind kind = Kind::not_started;
  std::string text = {};   // the line; otherwise the worker's standard error
  bool is_signal = false;  // died: by a signal
  int code = 0;            // the signal or exit status; not_started: errno, 0 for no greeting
  double seconds = 0;
};

class Worker {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sends a request, a JSON object on one line, and waits for the answer.
  WorkerAnswer call(const std::string& request);
  // Starts the worker when it is not running. nullopt when it runs, else why it does not.
  std::optional<WorkerAnswer> start();
  // The version in its greeting; "" before it has started.
  const std::string& version() const { return version_; }
  // True when the worker has answered no call since it was started.
  bool is_fresh() const { return calls_ == 0; }
  // Ends the process, if there is one.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Wait : std::uint8_t { line, end, late };

  Wait wait_for_line(double seconds, std::string& line);
  bool send(std::string_view bytes, double seconds);
  void take_error_output();
  WorkerAnswer answer_of_end(WorkerAnswer::Kind kind);

  WorkerOptions options_;
  std::unique_ptr<SpawnedChild> child_;
  std::string version_;
  std::string pending_;  // read but not yet returned
  KeptOutput err_;       // of the current call
  std::uint32_t calls_ = 0;
};

}  // namespace cleave
