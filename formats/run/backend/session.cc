// Runs compilers: workers, sessions, attempts, the self-test.

#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/lowering/lowering.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/onnx/index/index.h"
#include "formats/run/backend/backend.h"

namespace cleave {

// ---- worker ----

namespace {

constexpr std::size_t kMostLine = std::size_t{256} << 20U;  // of an answer

double left_of(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
}

std::chrono::steady_clock::time_point deadline_in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

int milliseconds(double seconds) {
  return seconds <= 0 ? 0 : static_cast<int>(std::min(seconds * 1000 + 1, 60000.0));
}

std::string version_of(const std::string& greeting) {
  const auto json = nlohmann::json::parse(greeting, nullptr, false);
  if (!json.is_object() || !json.contains("ready")) return {};
  const auto version = json.find("version");
  return version != json.end() && version->is_string() ? version->get<std::string>() : "unknown";
}

}  // namespace

Worker::~Worker() { stop(); }

void Worker::stop() {
  if (!child_) return;
  child_->in.close();  // a worker exits at the end of its input; we do not wait for that
  end_child(*child_);
  child_.reset();
  pending_.clear();
}

std::optional<WorkerAnswer> Worker::start() {
  if (child_) return std::nullopt;
  err_ = KeptOutput();
  pending_.clear();
  calls_ = 0;
  auto spawned = spawn_child(options_.command, ChildInput::pipe);
  if (!spawned) return WorkerAnswer{.text = system_words(spawned.error()), .code = spawned.error()};
  child_ = std::make_unique<SpawnedChild>(std::move(*spawned));
  std::string greeting;
  const Wait wait = wait_for_line(options_.start_timeout_seconds, greeting);
  if (wait == Wait::line) version_ = version_of(greeting);
  if (wait == Wait::line && !version_.empty()) return std::nullopt;
  WorkerAnswer answer = answer_of_end(WorkerAnswer::Kind::not_started);
  if (wait == Wait::line) answer.text = "its first line is not a greeting: " + greeting;
  if (wait == Wait::late) answer.text = "no greeting in time\n" + answer.text;
  answer.code = 0;
  return answer;
}

WorkerAnswer Worker::call(const std::string& request) {
  if (calls_ >= options_.restart_after) stop();
  if (auto failure = start()) return *std::move(failure);
  err_ = KeptOutput();
  const Clock::time_point begin = Clock::now();
  const double timeout = options_.command.timeout_seconds;
  std::string line;
  const Wait wait = send(request + "\n", timeout) ? wait_for_line(timeout, line) : Wait::end;
  ++calls_;
  WorkerAnswer answer;
  if (wait == Wait::line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    answer.kind = json.is_object() ? WorkerAnswer::Kind::line : WorkerAnswer::Kind::garbled;
    answer.text = std::move(line);
    if (answer.kind == WorkerAnswer::Kind::garbled) stop();
  } else {
    answer = answer_of_end(wait == Wait::late ? WorkerAnswer::Kind::timed_out
                                              : WorkerAnswer::Kind::died);
  }
  answer.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return answer;
}

// The end of standard output comes shortly before the process ends.
WorkerAnswer Worker::answer_of_end(WorkerAnswer::Kind kind) {
  if (kind == WorkerAnswer::Kind::timed_out) ::kill(-child_->pid, SIGTERM);
  const auto deadline = deadline_in(kind == WorkerAnswer::Kind::timed_out ? 5 : 1);
  siginfo_t info = {};
  while (left_of(deadline) > 0 && info.si_pid == 0) {
    take_error_output();
    ::waitid(P_PID, static_cast<id_t>(child_->pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == 0) ::usleep(5000);
  }
  take_error_output();
  const int status = end_child(*child_);
  child_.reset();
  WorkerAnswer answer{.kind = kind, .text = err_.text()};
  answer.is_signal = WIFSIGNALED(status);
  answer.code = answer.is_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return answer;
}

// A worker that waits for its standard error to be read reads no request.
bool Worker::send(std::string_view bytes, double seconds) {
  const auto deadline = deadline_in(seconds);
  bool is_err_open = true;
  while (!bytes.empty()) {
    const ssize_t written = ::write(child_->in.get(), bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || left_of(deadline) <= 0) return false;
    std::array<pollfd, 2> fds = {
        {{child_->in.get(), POLLOUT, 0}, {is_err_open ? child_->err.get() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds(left_of(deadline)));
    if ((fds[1].revents & POLLHUP) != 0) is_err_open = false;
    take_error_output();
  }
  return true;
}

void Worker::take_error_output() {
  std::array<char, 65536> buffer;
  // 4 MiB: a worker that never stops writing errors must not keep its answer from being read.
  constexpr int kMostReads = 64;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t got = ::read(child_->err.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    err_.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Worker::Wait Worker::wait_for_line(double seconds, std::string& line) {
  const auto deadline = deadline_in(seconds);
  bool is_err_open = true;
  std::array<char, 65536> buffer;
  for (std::size_t looked_at = 0;;) {
    const std::size_t end = pending_.find('\n', looked_at);
    if (end != pending_.npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Wait::line;
    }
    looked_at = pending_.size();
    if (left_of(deadline) <= 0) return Wait::late;
    if (pending_.size() > kMostLine) return Wait::end;
    std::array<pollfd, 2> fds = {
        {{child_->out.get(), POLLIN, 0}, {is_err_open ? child_->err.get() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds(left_of(deadline)));
    if ((fds[1].revents & POLLHUP) != 0) is_err_open = false;
    if (fds[1].revents != 0) take_error_output();
    if (fds[0].revents == 0) continue;
    const ssize_t got = ::read(child_->out.get(), buffer.data(), buffer.size());
    if (got > 0) pending_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return Wait::end;
  }
}

// ---- session ----

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
class Stopwatch : Pinned {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

bool is_disk_full(const std::string& folder) {
  // A disk is full long before its last byte: what a compiler writes next is larger than what is
  // left. Chosen, not measured.
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

// Programs, scripts with those beside them, which they may import, and settings; other files may be what it writes.
std::string BackendSession::made_with() const {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;
  constexpr auto kEndings =
      std::to_array<std::string_view>({".json", ".py", ".sh", ".so", ".toml", ".yaml"});
  const auto is_input = [&](const std::string& word) {
    return ::access(word.c_str(), X_OK) == 0 ||
           std::ranges::any_of(kEndings, [&](std::string_view end) { return word.ends_with(end); });
  };
  const auto is_script = [](const fs::path& path) { return path.extension() == ".py"; };
  std::set<std::string> files;
  std::error_code error;
  const PlaceholderValues values{.here = backend_.folder, .cleave = cleave_folder(backend_.folder)};
  const auto add = [&](const std::vector<std::string>& words) {
    for (const std::string& word : expand_words(words, values)) {
      if (!word.starts_with('/') || !fs::is_regular_file(word, error) || !is_input(word)) continue;
      files.insert(word);
      if (!is_script(word)) continue;
      for (const auto& beside : fs::directory_iterator(fs::path(word).parent_path(), error)) {
        if (is_script(beside.path())) files.insert(beside.path().string());
      }
    }
  };
  if (backend_.serve) add(backend_.serve->argv);
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    if (const BackendCommand* const command = backend_.command(stage)) add(command->argv);
  }
  Sha256 hash;
  for (const std::string& variable : environment_of(backend_.environment)) hash.add_text(variable);
  for (const std::string& file : files) {
    hash.add_text(sha256_hex(unrecorded_text(file, kMostBytes)));
  }
  return std::move(hash).hex();
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
    if (failure) return Error{std::string(trimmed(failure->text))};
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

Attempt BackendSession::compile(const PieceFiles& piece) {
  Attempt attempt{.verdict = LowerVerdict::lowered};
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile}) {
    if (attempt.verdict == LowerVerdict::lowered && backend_.has(stage))
      attempt = run(stage, piece);
  }
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

// ---- verdict of answer ----

namespace {

namespace fs = std::filesystem;

// The pattern of a backend that was read, which checked it; nullopt for "".
std::optional<LinePattern> pattern_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return LinePattern::parse(text).value();
}

std::string signal_text(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

bool tells_of_memory(std::string_view text) {
  for (const std::string_view sign : {"MemoryError", "std::bad_alloc", "out of memory",
                                      "Cannot allocate memory", "memory allocation of"}) {
    if (text.find(sign) != text.npos) return true;
  }
  return false;
}

bool is_made(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !fs::is_empty(path, error);
  return bytes_of_file(path.string()).value_or(0) > 0;
}

// False when the command mentions {out} and there is neither such a file nor one whose name begins
// so: "-o {out}" may make {out}.xml.
bool has_output(const BackendCommand& command, const PlaceholderValues& values) {
  const bool is_mentioned = std::ranges::any_of(
      command.argv, [](const std::string& word) { return word.find("{out}") != word.npos; });
  if (!is_mentioned || !command.produces.empty() || is_made(values.out)) return true;
  const fs::path out(values.out);
  const std::string stem = out.filename().string();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(out.parent_path(), error)) {
    if (entry.path().filename().string().rfind(stem, 0) == 0 && is_made(entry.path())) return true;
  }
  return false;
}

std::string text_field(const Json& json, const char* key) {
  const auto field = json.find(key);
  return field != json.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::vector<std::string> texts_field(const Json& json, const char* key) {
  std::vector<std::string> texts;
  const auto field = json.find(key);
  if (field == json.end() || !field->is_array()) return texts;
  for (const Json& one : *field) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

// The nodes that the worker says are left out, at most as many as a model may have.
std::vector<LeftOut> left_out(const Json& json) {
  constexpr std::size_t kMost = 100000;
  constexpr std::size_t kMostColumns = 300;
  std::vector<LeftOut> left;
  const auto list = json.find("left");
  if (list == json.end() || !list->is_array()) return left;
  for (const Json& one : *list) {
    if (!one.is_object() || left.size() == kMost) continue;
    left.push_back({text_field(one, "node"), fitted(text_field(one, "op"), kMostColumns),
                    fitted(text_field(one, "why"), kMostColumns)});
  }
  return left;
}

// What a worker says of a piece that compiles: see scripts/backends/worker.py.
void take_extent(const Json& json, Attempt& attempt) {
  attempt.left = left_out(json);
  const bool is_nothing = json.value("nothing", Json()) == true;
  if (!attempt.left.empty()) {
    attempt.verdict = LowerVerdict::partly;
    attempt.message =
        attempt.left.front().node + " (" + attempt.left.front().op + ") is left out: " +
        (attempt.left.front().why.empty() ? "no reason given" : attempt.left.front().why);
    CappedList others(0);
    others.leave_out(attempt.left.size() - 1);
    attempt.message += others.rest("; and # more");
  } else if (is_nothing) {
    attempt.verdict = LowerVerdict::nothing;
  }
}

// The fields of an answer to "keep".
KeptFiles kept_files(const Json& json) {
  KeptFiles kept{.inputs = texts_field(json, "inputs"), .outputs = texts_field(json, "outputs")};
  kept.note = text_field(json, "note");
  const auto files = json.find("artefacts");
  if (files != json.end() && files->is_array()) {
    for (const Json& one : *files) {
      if (one.is_object()) kept.files.push_back({text_field(one, "file"), text_field(one, "role")});
    }
  }
  const auto target = json.find("target");
  if (target != json.end() && target->is_object()) {
    for (const auto& [key, value] : target->items()) {
      kept.target.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return kept;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_file(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

AnswerJudge::AnswerJudge(const Backend& backend, bool is_launched)
    : backend_(backend),
      is_launched_(is_launched),
      begin_(pattern_of(backend.message_begin)),
      drop_(pattern_of(backend.message_drop)) {
  for (const std::string& text : backend.failed_if)
    failed_if_.push_back(LinePattern::parse(text).value());
}

Attempt AnswerJudge::of_program(const ChildResult& result, const BackendCommand& command,
                                const PlaceholderValues& values) const {
  Attempt attempt{.message = message_of(result.err, result.out), .seconds = result.seconds};
  const bool has_failed = has_failure(result.err) || has_failure(result.out);
  if (result.end == ChildEnd::not_started) {
    attempt.message = command.argv.front() + ": " + system_words(result.code);
    return attempt;
  }
  if (result.end == ChildEnd::timed_out) {
    attempt.verdict = LowerVerdict::timed_out;
    attempt.detail = duration_text(command.timeout_seconds * 1e6);
  } else if (is_lost(result.err)) {
    attempt.verdict = LowerVerdict::lost;
  } else if (result.end == ChildEnd::signalled || result.code != 0) {
    const bool is_signal = result.end == ChildEnd::signalled;
    attempt.detail = is_signal ? signal_text(result.code) : "exit " + std::to_string(result.code);
    attempt.verdict = is_signal ? LowerVerdict::crashed : LowerVerdict::refused;
    const bool is_killed = is_signal && result.code == SIGKILL;
    if (is_killed || (command.memory_bytes > 0 && tells_of_memory(result.err))) {
      attempt.verdict = LowerVerdict::out_of_memory;
    }
  } else {
    attempt.verdict = has_failed ? LowerVerdict::refused : LowerVerdict::lowered;
  }
  if (attempt.verdict != LowerVerdict::lowered) return attempt;
  std::uint64_t bytes = 0;
  for (const std::string& file : expand_words(command.produces, values)) {
    const auto size = bytes_of_file(file);
    if (!size || *size == 0) attempt.verdict = LowerVerdict::no_output;
    bytes += size.value_or(0);
  }
  if (&command == backend_.command(LowerStage::compile) && !has_output(command, values)) {
    attempt.verdict = LowerVerdict::no_output;
  }
  if (!command.produces.empty()) attempt.artefact_bytes = bytes;
  if (attempt.verdict == LowerVerdict::lowered) attempt.message.clear();
  if (attempt.verdict == LowerVerdict::no_output) {
    attempt.message = "exit status 0, but it did not write its output\n" + attempt.message;
  }
  return attempt;
}

Attempt AnswerJudge::of_worker(const WorkerAnswer& answer, const PieceFiles& piece) const {
  Attempt attempt{.message = message_of(answer.text, {}), .seconds = answer.seconds};
  switch (answer.kind) {
    case WorkerAnswer::Kind::not_started:
      if (is_lost(answer.text)) attempt.verdict = LowerVerdict::lost;
      return attempt;
    case WorkerAnswer::Kind::garbled:
      return attempt;
    case WorkerAnswer::Kind::timed_out:
      attempt.verdict = LowerVerdict::timed_out;
      attempt.detail = duration_text(backend_.serve->timeout_seconds * 1e6);
      return attempt;
    case WorkerAnswer::Kind::died:
      attempt.detail =
          answer.is_signal ? signal_text(answer.code) : "exit " + std::to_string(answer.code);
      attempt.verdict = is_lost(answer.text) ? LowerVerdict::lost : LowerVerdict::crashed;
      if ((answer.is_signal && answer.code == SIGKILL) || tells_of_memory(answer.text)) {
        attempt.verdict = LowerVerdict::out_of_memory;
      }
      return attempt;
    case WorkerAnswer::Kind::line:
      break;
  }
  const Json json = Json::parse(answer.text, nullptr, false);
  const auto ok = json.find("ok");
  attempt.message.clear();
  if (ok != json.end() && ok->is_boolean() && ok->get<bool>()) {
    attempt.verdict = LowerVerdict::lowered;
    if (piece.keeps) attempt.kept = kept_files(json);
    take_extent(json, attempt);
    if (attempt.verdict == LowerVerdict::partly) return attempt;  // a part of it makes no results
    for (const NamedFile& output : piece.outputs) {
      if (!bytes_of_file(output.file)) attempt.verdict = LowerVerdict::no_output;
    }
    return attempt;
  }
  attempt.message = message_of(text_field(json, "error"), {});
  attempt.left = left_out(json);
  const std::string stage = text_field(json, "stage");
  attempt.detail = stage;
  attempt.verdict =
      stage.empty() || stage == "driver" ? LowerVerdict::driver : LowerVerdict::refused;
  if (attempt.verdict == LowerVerdict::refused && backend_.serve->memory_bytes > 0 &&
      tells_of_memory(attempt.message)) {
    attempt.verdict = LowerVerdict::out_of_memory;
  }
  return attempt;
}

bool AnswerJudge::is_failure(std::string_view line) const {
  return std::ranges::any_of(failed_if_,
                             [&](const LinePattern& pattern) { return pattern.matches(line); });
}

bool AnswerJudge::has_failure(std::string_view output) const {
  const auto fails = [&](std::string_view line) { return is_failure(line); };
  return !failed_if_.empty() && std::ranges::any_of(split_at(output, '\n'), fails);
}

std::string AnswerJudge::message_of(std::string_view err, std::string_view out) const {
  const bool has_text = err.find_first_not_of(" \n\t\r") != err.npos;
  std::string message;
  bool has_begun = !begin_;
  for (const std::string_view line : split_at(has_text ? err : out, '\n')) {
    has_begun = has_begun || begin_->matches(line);
    if (has_begun && !(drop_ && drop_->matches(line))) message.append(line) += '\n';
  }
  if (message.empty()) message = has_text ? err : out;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

bool AnswerJudge::is_lost(std::string_view text) const {
  if (!is_launched_) return false;
  for (const std::string_view sign :
       {"Node failure", "NODE FAILURE", "Socket timed out", "Communication connection failure",
        "Connection reset by peer", "Connection closed by"}) {
    if (text.find(sign) != text.npos) return true;
  }
  return false;
}

// ---- attempt ----

bool tells_of_busy(std::string_view message) {
  constexpr std::array<std::string_view, 6> kSigns = {
      "is busy",       "device busy", "resource busy", "EBUSY", "in use by another process",
      "already in use"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return message.find(sign) != message.npos; });
}

std::string verdict_words(const Attempt& attempt) {
  std::string text(verdict_name(attempt.verdict));
  if (attempt.detail.empty()) return text;
  if (attempt.verdict == LowerVerdict::crashed) text += " (" + attempt.detail + ")";
  if (attempt.verdict == LowerVerdict::timed_out) text += " after " + attempt.detail;
  return text;
}

namespace {

// The message without the place of a panic in Rust, "thread 'main' panicked at src/lib.rs:1:2:".
std::string_view after_panic(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (message.rfind("thread '", 0) != 0 || end == message.npos || end + 1 == message.size()) {
    return message;
  }
  const bool is_panic = message.substr(0, end).find(" panicked at ") != message.npos;
  return is_panic ? message.substr(end + 1) : message;
}

// The line that says what is wrong.
std::string line_of(std::string_view message) {
  std::string line = essential_lines(after_panic(message));
  if (line.empty()) line = message.substr(0, message.find('\n'));  // a traceback that is cut off
  return line;
}

// The length of the path to a file in a temporary folder of cleave that the text begins with; 0 for none.
std::size_t temporary_path(std::string_view text) {
  if (!text.starts_with('/')) return 0;
  const std::size_t end = std::min(text.find_first_of(" \t'\"`:,;()<>[]"), text.size());
  return text.substr(0, end).find("/.cleave-") == text.npos ? 0 : end;
}

// The length of the address that the text begins with; 0 for none.
std::size_t address(std::string_view text) {
  // "0x10" is a number that the message is about. Addresses of programs have six digits or more.
  constexpr std::size_t kLeastDigits = 6;
  if (!text.starts_with("0x")) return 0;
  const std::size_t end =
      std::min(text.find_first_not_of("0123456789abcdefABCDEF", 2), text.size());
  return end < 2 + kLeastDigits ? 0 : end;
}

}  // namespace

std::string first_line(std::string_view message, std::size_t columns) {
  return fitted(escaped(line_of(message)), columns);
}

std::string lasting_line(std::string_view message, std::size_t columns) {
  const std::string line = line_of(message);
  std::string_view rest =
      std::string_view(line).substr(0, 8 * columns);  // before it is cut to columns
  std::string text;
  while (!rest.empty()) {
    if (const std::size_t path = temporary_path(rest); path > 0) {
      text += "{model}";
      rest.remove_prefix(path);
    } else if (const std::size_t digits = address(rest); digits > 0) {
      text += "0x...";
      rest.remove_prefix(digits);
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
  return fitted(escaped(text), columns);
}

// ---- self test ----

namespace {

// Those of ONNX 1.12 (2022): what takes ONNX at all takes them, and a test of the driver should not
// fail for the sake of a version.
constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOpset = 17;

Tensor floats(std::string name, std::vector<std::int64_t> dims, const std::vector<float>& numbers) {
  Tensor tensor{.name = std::move(name), .dtype = DType::float32, .dims = std::move(dims)};
  tensor.bytes.resize(numbers.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return tensor;
}

std::string type_of(const Tensor& tensor) {
  std::string shape, type, out;
  for (const std::int64_t dim : tensor.dims) {
    std::string one;
    put_number(one, 1, dim);
    put_bytes(shape, 1, one);
  }
  put_number(type, 1, static_cast<std::int64_t>(tensor.dtype));
  put_bytes(type, 2, shape);
  put_bytes(out, 1, type);
  return out;
}

// A model of the nodes, with the test's inputs and outputs.
std::string model_of(const TestModel& test, const std::vector<OnnxCall>& nodes,
                     const std::vector<Tensor>& weights, std::int64_t opset = kOpset) {
  std::string graph, model;
  for (const OnnxCall& node : nodes) put_bytes(graph, graph_field::kNode, encode_node(node));
  put_bytes(graph, graph_field::kName, test.name);
  for (const Tensor& weight : weights) {
    put_bytes(graph, graph_field::kInitializer, encode_tensor(weight));
  }
  for (const Tensor& input : test.inputs) {
    put_bytes(graph, graph_field::kInput, encode_value_info(input.name, type_of(input)));
  }
  for (const Tensor& output : test.outputs) {
    put_bytes(graph, graph_field::kOutput, encode_value_info(output.name, type_of(output)));
  }
  put_number(model, model_field::kIrVersion, kIrVersion);
  put_bytes(model, model_field::kGraph, graph);
  put_bytes(model, model_field::kOpsetImport, encode_opset("", opset));
  return model;
}

TestModel add_model(std::int64_t opset = kOpset) {
  TestModel test{.name = "Add", .bytes = {}};
  test.inputs = {floats("x", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("y", {2, 3}, {6, 5, 4, 3, 2, 1})};
  test.outputs = {floats("z", {2, 3}, {7, 7, 7, 7, 7, 7})};
  test.bytes = model_of(test, {{"add", "Add", "", {"x", "y"}, {"z"}}}, {}, opset);
  return test;
}

TestModel unary_model(std::string op, std::int64_t opset) {
  TestModel test{.name = op, .bytes = {}};
  test.inputs = {floats("x", {2}, {1, 2})};
  test.outputs = {floats("y", {2}, {1, 2})};
  test.bytes = model_of(test, {{"only", std::move(op), "", {"x"}, {"y"}}}, {}, opset);
  return test;
}

TestModel matmul_model() {
  TestModel test{.name = "MatMul with weights", .bytes = {}};
  test.inputs = {floats("x", {1, 2}, {1, 2})};
  test.outputs = {floats("y", {1, 3}, {9, 12, 15})};
  const Tensor weights = floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  test.bytes = model_of(test, {{"product", "MatMul", "", {"x", "w"}, {"y"}}}, {weights});
  return test;
}

TestModel scalar_model() {
  TestModel test{.name = "a scalar and two outputs", .bytes = {}};
  test.inputs = {floats("scale", {}, {3}), floats("a", {2}, {1, 2})};
  test.outputs = {floats("product", {2}, {3, 6}), floats("difference", {2}, {-2, -1})};
  const std::vector<OnnxCall> nodes = {{"mul", "Mul", "", {"a", "scale"}, {"product"}},
                                       {"sub", "Sub", "", {"a", "scale"}, {"difference"}}};
  test.bytes = model_of(test, nodes, {});
  return test;
}

TestModel unknown_op_model() {
  TestModel test{.name = "an unknown op", .bytes = {}};
  test.inputs = {floats("x", {2}, {1, 2})};
  test.outputs = {floats("y", {2}, {1, 2})};
  test.bytes = model_of(test, {{"odd", "NoSuchOpOfOnnx", "", {"x"}, {"y"}}}, {});
  return test;
}

// Add; MatMul with weights; and two inputs, one of them a scalar, with two outputs whose names are
// not in alphabetical order.
std::vector<TestModel> models_to_take() { return {add_model(), matmul_model(), scalar_model()}; }

}  // namespace

std::vector<TestModel> models_of_one_op(std::int64_t opset) {
  return {add_model(opset), unary_model("Relu", opset), unary_model("Identity", opset)};
}

namespace {

// Bytes that are not a model, and a node with an unknown op.
std::vector<TestModel> models_to_refuse() {
  return {{.name = "garbage", .bytes = "this is not a model\n"}, unknown_op_model()};
}

using StepOutcome = SelfTestStep::Outcome;
// A worker that keeps something of a call mostly shows it in the second; twenty are for what shows
// later. Chosen.
constexpr int kCalls = 20;

class BackendTest {
 public:
  BackendTest(const Backend& backend, const SessionOptions& options)
      : session_(backend, options),
        folder_(options.folder),
        is_tflite_(!backend.may_take("onnx") && backend.may_take("tflite")) {}

  SelfTest run() {
    const auto identity = session_.identity();
    if (!identity) {
      add({"starts", StepOutcome::failed, identity.error().message});
      return std::move(test_);
    }
    test_.identity = *identity;
    const auto good = is_tflite_ ? tflite_models_to_take() : models_to_take();
    for (const TestModel& model : good) take(model);
    for (const TestModel& model : is_tflite_ ? tflite_models_to_refuse() : models_to_refuse()) {
      refuse(model);
    }
    call_often(good.front());
    return std::move(test_);
  }

 private:
  void add(SelfTestStep step) { test_.steps.push_back(std::move(step)); }

  // Writes the model and its inputs.
  PieceFiles write(const TestModel& model) {
    const std::string stem = folder_ + "/" + std::to_string(written_++);
    PieceFiles piece{.model = stem + (is_tflite_ ? ".tflite" : ".onnx"), .out = stem + ".out"};
    static_cast<void>(write_file(piece.model, model.bytes, true));
    for (const Tensor& input : model.inputs) {
      const std::string file = stem + ".input_" + std::to_string(piece.inputs.size()) + ".pb";
      static_cast<void>(write_file(file, encode_tensor(input), true));
      piece.inputs.push_back({input.name, file});
    }
    for (const Tensor& output : model.outputs) {
      const std::string file = stem + ".output_" + std::to_string(piece.outputs.size()) + ".pb";
      piece.outputs.push_back({output.name, file});
    }
    return piece;
  }

  static std::string text_of(const Attempt& attempt) {
    std::string text(verdict_name(attempt.verdict));
    if (!attempt.detail.empty()) text += " (" + attempt.detail + ")";
    if (!attempt.message.empty()) text += ": " + first_line(attempt.message, 200);
    return text;
  }

  void take(const TestModel& model) {
    const PieceFiles piece = write(model);
    const Attempt attempt = session_.compile(piece);
    const bool is_good = attempt.verdict == LowerVerdict::lowered;
    add({"compiles " + model.name, is_good ? StepOutcome::passed : StepOutcome::failed,
         is_good ? "" : text_of(attempt), attempt.seconds});
    SelfTestStep step{.name = "runs " + model.name};
    if (!is_good || !session_.backend().has(LowerStage::run)) {
      step.outcome = StepOutcome::skipped;
      step.detail = is_good ? "the file has no \"run\"" : "it is not compiled";
    } else {
      const Attempt ran = session_.run(LowerStage::run, piece);
      step.seconds = ran.seconds;
      step.detail = ran.verdict == LowerVerdict::lowered ? compare(model, piece) : text_of(ran);
      if (!step.detail.empty()) step.outcome = StepOutcome::failed;
    }
    add(std::move(step));
  }

  std::string compare(const TestModel& model, const PieceFiles& piece) const {
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
      const auto made = read_tensor_file(piece.outputs[i].file);
      if (!made) return made.error().message;
      const auto difference =
          compare_tensors(model.outputs[i], *made, session_.backend().tolerance);
      if (!difference.is_same()) {
        return "output " + model.outputs[i].name + ": " +
               difference_text(difference, model.outputs[i], *made);
      }
    }
    return {};
  }

  void refuse(const TestModel& model) {
    const Attempt attempt = session_.compile(write(model));
    const bool is_good = attempt.verdict == LowerVerdict::refused ||
                         attempt.verdict == LowerVerdict::no_output ||
                         attempt.verdict == LowerVerdict::crashed;
    std::string detail;
    if (attempt.verdict == LowerVerdict::lowered) {
      detail = "it accepts that: give \"produces\" or \"failed_if\", by which success is judged";
    } else if (!is_good) {
      detail = text_of(attempt);
    }
    add({"refuses " + model.name, is_good ? StepOutcome::passed : StepOutcome::failed, detail,
         attempt.seconds});
  }

  void call_often(const TestModel& model) {
    SelfTestStep step{.name = "answers " + std::to_string(kCalls) + " calls alike"};
    if (!session_.backend().serve) {
      step.outcome = StepOutcome::skipped;
      step.detail = "the file has no \"serve\"";
      return add(std::move(step));
    }
    const PieceFiles piece = write(model);
    for (int i = 0; i < kCalls && step.outcome == StepOutcome::passed; ++i) {
      const Attempt attempt = session_.compile(piece);
      step.seconds += attempt.seconds;
      if (attempt.verdict == LowerVerdict::lowered) continue;
      step.outcome = StepOutcome::failed;
      step.detail = "call " + std::to_string(i + 1) + ": " + text_of(attempt);
    }
    add(std::move(step));
  }

  BackendSession session_;
  std::string folder_;
  bool is_tflite_;
  SelfTest test_;
  int written_ = 0;
};

}  // namespace

bool SelfTest::passed() const {
  return std::ranges::none_of(
      steps, [](const SelfTestStep& step) { return step.outcome == StepOutcome::failed; });
}

SelfTest test_backend(const Backend& backend, const SessionOptions& options) {
  return BackendTest(backend, options).run();
}

}  // namespace cleave
