// AnswerJudge: how a compiler's answer becomes a verdict.
//
//   exit status 0        is success only with every file of "produces" and no line of "failed_if";
//                        without "produces", a compile command that mentions {out} must write it
//   a signal, a status   a crash, out of memory, or a refusal in the compiler's words
//   a worker's line      what it says; what it leaves out makes "partly"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/run/backend/attempt.h"
#include "formats/run/backend/backend.h"
#include "formats/run/backend/line_pattern.h"
#include "formats/run/backend/piece_files.h"
#include "formats/run/backend/placeholders.h"
#include "formats/run/backend/worker.h"

namespace cleave {

class AnswerJudge {
 public:
  // `backend` must outlive this. `is_launched`: it runs on another machine, which may be lost.
  AnswerJudge(const Backend& backend, bool is_launched);

  Attempt of_program(const ChildResult& result, const BackendCommand& command,
                     const PlaceholderValues& values) const;
  Attempt of_worker(const WorkerAnswer& answer, const PieceFiles& piece) const;

  // True for a line of "failed_if".
  bool is_failure(std::string_view line) const;
  bool has_failures() const { return !failed_if_.empty(); }
  // True when the words are those of a launcher whose machine failed.
  bool is_lost(std::string_view text) const;

 private:
  bool has_failure(std::string_view output) const;
  std::string message_of(std::string_view err, std::string_view out) const;

  const Backend& backend_;
  bool is_launched_;
  std::vector<LinePattern> failed_if_;
  std::optional<LinePattern> begin_, drop_;
};

// The size of a regular file; nullopt when there is none.
std::optional<std::uint64_t> bytes_of_file(const std::string& path);

}  // namespace cleave
