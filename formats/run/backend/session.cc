#include "formats/run/backend/session.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/number_text.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/run/backend/backend_file.h"
#include "formats/run/backend/tensor_files.h"

namespace cleave {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::vector<std::string> environment_of(const BackendEnvironment& environment) {
  std::vector<std::string> variables;
  for (const std::string& name : environment.pass) {
    if (const char* const value = std::getenv(name.c_str()))
      variables.push_back(name + "=" + value);
  }
  for (const auto& [name, value] : environment.set) variables.push_back(name + "=" + value);
  return variables;
}

// Adds the time from its construction to its destruction to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

bool is_disk_full(const std::string& folder) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20U;
  struct statvfs room = {};
  if (::statvfs(folder.c_str(), &room) != 0) return false;
  return std::uint64_t{room.f_bavail} * room.f_frsize < kLeast;
}

Json files_json(const std::vector<NamedFile>& files) {
  Json list = Json::array();
  for (const NamedFile& one : files) list.push_back({{"name", one.name}, {"file", one.file}});
  return list;
}

}  // namespace

BackendSession::BackendSession(const Backend& backend, SessionOptions options)
    : backend_(backend),
      options_(std::move(options)),
      judge_(backend, !options_.launcher.empty()) {}

ChildCommand BackendSession::child(const std::vector<std::string>& words,
                                   PlaceholderValues values) const {
  values.cleave = cleave_folder(backend_.folder);
  ChildCommand command{.argv = options_.launcher,
                       .environment = environment_of(backend_.environment),
                       .folder = options_.folder};
  for (std::string& word : expand_words(words, values)) command.argv.push_back(std::move(word));
  command.file_bytes = backend_.file_bytes;
  if (!options_.launcher.empty()) command.kind = ChildKind::launcher;
  return command;
}

PlaceholderValues BackendSession::values_of(const PieceFiles& piece) const {
  PlaceholderValues values{
      .model = piece.model, .out = piece.out, .workdir = options_.folder, .here = backend_.folder};
  values.seed = piece.seed;
  return values;
}

Worker& BackendSession::worker() {
  if (!worker_) {
    const BackendServe& serve = *backend_.serve;
    ChildCommand command = child(serve.argv, {.workdir = options_.folder, .here = backend_.folder});
    command.timeout_seconds = serve.timeout_seconds;
    command.memory_bytes = serve.memory_bytes;
    worker_ = std::make_unique<Worker>(
        WorkerOptions{std::move(command), serve.start_timeout_seconds, serve.restart_after});
  }
  return *worker_;
}

Result<std::string, Error> BackendSession::identity() {
  const Stopwatch watch(seconds_);
  return ask_identity();
}

Result<std::string, Error> BackendSession::ask_identity() {
  if (backend_.identity.empty()) {
    if (!backend_.serve) return std::string();
    auto failure = worker().start();
    if (failure && judge_.is_lost(failure->text)) failure = worker().start();
    if (failure) return Error{failure->text};
    return worker().version();
  }
  ChildCommand command = child(backend_.identity, {.here = backend_.folder});
  command.timeout_seconds = 60;
  ChildResult result = run_child(command);
  if (judge_.is_lost(result.err)) result = run_child(command);
  if (result.end == ChildEnd::not_started) {
    return Error{command.argv.front() + ": " + system_words(result.code)};
  }
  if (result.end != ChildEnd::exited || result.code != 0) {
    return Error{"\"identity\" fails: " + first_line(result.err, 200)};
  }
  return fitted(escaped(result.out.substr(0, result.out.find('\n'))), 200);
}

WorkerAnswer BackendSession::request(std::string_view op, const std::string& fields) {
  Json request = Json::parse(fields, nullptr, false);
  request["op"] = op;
  const Stopwatch watch(seconds_);
  return worker().call(request.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Attempt BackendSession::run(LowerStage stage, const PieceFiles& piece) {
  Attempt attempt{.stage = stage};
  const auto bytes = bytes_of_file(piece.model);
  if (backend_.model_bytes > 0 && bytes && *bytes > backend_.model_bytes) {
    attempt.verdict = LowerVerdict::too_large;
    return attempt;
  }
  const Stopwatch watch(seconds_);
  attempt = run_stage(stage, piece);
  if (attempt.verdict == LowerVerdict::lost) attempt = run_stage(stage, piece);
  attempt.stage = stage;
  const bool may_be_room = is_refusal(attempt.verdict) || attempt.verdict == LowerVerdict::driver;
  if (may_be_room && is_disk_full(options_.folder)) attempt.verdict = LowerVerdict::no_room;
  return attempt;
}

Attempt BackendSession::run_stage(LowerStage stage, const PieceFiles& piece) {
  const BackendCommand* const command = backend_.command(stage);
  if (command == nullptr) return run_worker(stage, piece);
  if (stage == LowerStage::run) return run_with_files(piece);
  return run_command(*command, values_of(piece));
}

Attempt BackendSession::run_command(const BackendCommand& command,
                                    const PlaceholderValues& values) {
  ChildCommand process = child(command.argv, values);
  process.timeout_seconds = command.timeout_seconds;
  process.memory_bytes = command.memory_bytes;
  if (judge_.has_failures())
    process.keeps_line = [&](std::string_view line) { return judge_.is_failure(line); };
  ++calls_;
  return judge_.of_program(run_child(process), command, values);
}

Attempt BackendSession::run_with_files(const PieceFiles& piece) {
  PlaceholderValues values = values_of(piece);
  const TensorFiles files(backend_.tensors, piece.out);
  for (const NamedFile& input : piece.inputs) {
    auto file = files.give(input.file, values.inputs.size());
    if (!file) return {.verdict = LowerVerdict::driver, .message = file.error().message};
    values.inputs.push_back(file->path);
    values.shapes.push_back(file->shape);
    values.input_names.push_back(input.name);
  }
  for (const NamedFile& output : piece.outputs) {
    values.outputs.push_back(files.output_path(values.outputs.size()));
    values.output_names.push_back(output.name);
  }
  Attempt attempt = run_command(*backend_.run, values);
  for (std::size_t i = 0; attempt.verdict == LowerVerdict::lowered && i < piece.outputs.size();
       ++i) {
    const auto taken = files.take(values.outputs[i], piece.outputs[i]);
    if (!taken) attempt = {.verdict = LowerVerdict::driver, .message = taken.error().message};
  }
  return attempt;
}

Attempt BackendSession::run_worker(LowerStage stage, const PieceFiles& given) {
  PieceFiles piece = given;
  if (stage != LowerStage::run) piece.outputs = {};
  if (stage != LowerStage::run && !piece.pins) piece.inputs = {};
  Json request = {{"op", lower_stage_name(stage)},
                  {"model", piece.model},
                  {"out", piece.out},
                  {"seed", piece.seed},
                  {"inputs", files_json(piece.inputs)},
                  {"outputs", files_json(piece.outputs)}};
  if (piece.pins) request["pin"] = true;
  if (piece.keeps) request["keep"] = true;
  const std::string line = request.dump(-1, ' ', false, Json::error_handler_t::replace);
  ++calls_;
  WorkerAnswer answer = worker().call(line);
  if (answer.kind == WorkerAnswer::Kind::died || answer.kind == WorkerAnswer::Kind::garbled) {
    ++calls_;
    answer = worker().call(line);
  }
  return judge_.of_worker(answer, piece);
}

}  // namespace cleave
