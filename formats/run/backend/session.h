// BackendSession: one backend, for one thread. Runs its stages on pieces, with its worker or with
// programs of their own.
//
//   worker died          tries the same piece once more in a fresh worker before calling it a crash
//   worker is too slow   ends it, and starts a new one for the next piece
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/run/backend/attempt.h"
#include "formats/run/backend/backend.h"
#include "formats/run/backend/piece_files.h"
#include "formats/run/backend/placeholders.h"
#include "formats/run/backend/verdict_of_answer.h"
#include "formats/run/backend/worker.h"

namespace cleave {

struct SessionOptions {
  std::vector<std::string> launcher =
      {};                   // words before each command: for another machine or a container
  std::string folder = {};  // for files that backends write; absolute, must exist
};

class BackendSession {
 public:
  // `backend` must outlive this.
  BackendSession(const Backend& backend, SessionOptions options);

  const Backend& backend() const { return backend_; }
  // Runs one stage that the backend has.
  Attempt run(LowerStage stage, const PieceFiles& piece);
  // The number of calls of the backend so far.
  std::size_t calls() const { return calls_; }
  // Time spent waiting for the backend, its start included, so far.
  double seconds() const { return seconds_; }

  // The backend's version: the output of `identity`, else the worker's greeting. Error: why it does
  // not start.
  Result<std::string, Error> identity();

  // Sends another request to the worker, as JSON without "op": for the reference. The backend must
  // have a worker.
  WorkerAnswer request(std::string_view op, const std::string& fields);

 private:
  ChildCommand child(const std::vector<std::string>& words, PlaceholderValues values) const;
  PlaceholderValues values_of(const PieceFiles& piece) const;
  Attempt run_stage(LowerStage stage, const PieceFiles& piece);
  Result<std::string, Error> ask_identity();
  Attempt run_command(const BackendCommand& command, const PlaceholderValues& values);
  Attempt run_with_files(const PieceFiles& piece);
  Attempt run_worker(LowerStage stage, const PieceFiles& piece);
  Worker& worker();

  const Backend& backend_;
  SessionOptions options_;
  std::unique_ptr<Worker> worker_;
  AnswerJudge judge_;
  std::size_t calls_ = 0;
  double seconds_ = 0;
};

}  // namespace cleave
