#include "formats/run/backend/verdict_of_answer.h"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// The pattern of a backend that was read, which checked it; nullopt for "".
std::optional<LinePattern> pattern_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return LinePattern::parse(text).value();
}

// Calls visit(line) for each line until it returns false.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!visit(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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
  const bool is_mentioned =
      std::any_of(command.argv.begin(), command.argv.end(),
                  [](const std::string& word) { return word.find("{out}") != word.npos; });
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
  return std::any_of(failed_if_.begin(), failed_if_.end(),
                     [&](const LinePattern& pattern) { return pattern.matches(line); });
}

bool AnswerJudge::has_failure(std::string_view output) const {
  bool found = false;
  if (failed_if_.empty()) return false;
  each_line(output, [&](std::string_view line) { return !(found = is_failure(line)); });
  return found;
}

std::string AnswerJudge::message_of(std::string_view err, std::string_view out) const {
  const bool has_text = err.find_first_not_of(" \n\t\r") != err.npos;
  std::string message;
  bool has_begun = !begin_;
  each_line(has_text ? err : out, [&](std::string_view line) {
    has_begun = has_begun || begin_->matches(line);
    if (has_begun && !(drop_ && drop_->matches(line))) message.append(line) += '\n';
    return true;
  });
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

}  // namespace cleave
