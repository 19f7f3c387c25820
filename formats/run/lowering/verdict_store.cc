#include "formats/run/lowering/verdict_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/base/io/child.h"
#include "formats/base/io/kept_output.h"
#include "formats/base/io/work_folder.h"

namespace cleave {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

bool says_something(LowerVerdict verdict) {
  switch (verdict) {
    case LowerVerdict::lowered:
    case LowerVerdict::nothing:
    case LowerVerdict::partly:
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::wrong_values:
    case LowerVerdict::lower_precision:
    case LowerVerdict::tie_order:
    case LowerVerdict::one_step:
      return true;
    default:
      return false;
  }
}

// False for what is no answer of the compiler: a run that continues asks again.
bool is_answer(LowerVerdict verdict) {
  return verdict != LowerVerdict::driver && verdict != LowerVerdict::no_room &&
         verdict != LowerVerdict::lost;
}

constexpr unsigned kVersion = 6;  // of the lines below, and of what counts as right
constexpr std::size_t kMostKeyBytes = 200;
constexpr std::size_t kMostDetailBytes = 1000;
// A message is at most what is kept of an output, with a character for each byte that is none.
constexpr std::size_t kMostMessageBytes = 4 * 2 * (KeptOutput::kKept + KeptOutput::kLongestLine);
constexpr std::size_t kMostLineBytes = 6 * kMostMessageBytes;  // with escapes

std::string line_of(const std::string& key, const Attempt& attempt) {
  Json json = {{"version", kVersion},
               {"key", key},
               {"verdict", verdict_name(attempt.verdict)},
               {"stage", lower_stage_name(attempt.stage)},
               {"detail", attempt.detail},
               {"message", attempt.message},
               {"seconds", attempt.seconds},
               {"artefact_bytes", nullptr}};
  if (attempt.artefact_bytes) json["artefact_bytes"] = *attempt.artefact_bytes;
  Json& left = json["left"] = Json::array();
  for (const LeftOut& one : attempt.left) left.push_back({one.node, one.op, one.why});
  Json& compared = json["compared"] = Json::array();
  for (const ComparedOutput& one : attempt.compared) {
    compared.push_back(
        {one.name, one.most_apart, one.largest, one.rms, one.is_tested, one.is_finite});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A field of text of at most so many bytes.
std::optional<std::string> text_at(const Json& json, const char* key, std::size_t most_bytes) {
  const auto field = json.find(key);
  if (field == json.end() || !field->is_string()) return std::nullopt;
  auto text = field->get<std::string>();
  if (text.size() > most_bytes) return std::nullopt;
  return text;
}

// nullopt when it is not a list of three texts each.
std::optional<std::vector<LeftOut>> left_at(const Json& json) {
  const Json list = json.value("left", Json());
  if (!list.is_array()) return std::nullopt;
  std::vector<LeftOut> left;
  for (const Json& one : list) {
    const auto is_text = [](const Json& field) { return field.is_string(); };
    if (!one.is_array() || one.size() != 3 || !std::all_of(one.begin(), one.end(), is_text)) {
      return std::nullopt;
    }
    left.push_back(
        {one[0].get<std::string>(), one[1].get<std::string>(), one[2].get<std::string>()});
  }
  return left;
}

// nullopt when it is not a list of outputs as line_of() writes them.
std::optional<std::vector<ComparedOutput>> compared_at(const Json& json) {
  const Json list = json.value("compared", Json());
  if (!list.is_array()) return std::nullopt;
  std::vector<ComparedOutput> compared;
  for (const Json& one : list) {
    const bool is_good = one.is_array() && one.size() == 6 && one[0].is_string() &&
                         one[1].is_number() && one[2].is_number() && one[3].is_number() &&
                         one[4].is_boolean() && one[5].is_boolean();
    if (!is_good) return std::nullopt;
    compared.push_back({one[0].get<std::string>(), one[1].get<double>(), one[2].get<double>(),
                        one[3].get<double>(), one[4].get<bool>(), one[5].get<bool>()});
  }
  return compared;
}

struct KnownVerdict {
  std::string key;
  Attempt attempt;
};

// What the line says; nullopt when it is not, in all its fields, what line_of() could have written.
std::optional<KnownVerdict> verdict_of(std::string_view line) {
  if (line.size() > kMostLineBytes) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("version", Json()) != kVersion) return std::nullopt;
  auto key = text_at(json, "key", kMostKeyBytes);
  const auto verdict = verdict_named(text_at(json, "verdict", kMostDetailBytes).value_or(""));
  const auto stage = lower_stage_named(text_at(json, "stage", kMostDetailBytes).value_or(""));
  auto detail = text_at(json, "detail", kMostDetailBytes);
  auto message = text_at(json, "message", kMostMessageBytes);
  const Json seconds = json.value("seconds", Json()), bytes = json.value("artefact_bytes", Json());
  const bool has_times = seconds.is_number() && seconds.get<double>() >= 0 &&
                         (bytes.is_null() || bytes.is_number_unsigned());
  auto left = left_at(json);
  auto compared = compared_at(json);
  if (!key || !verdict || !stage || !detail || !message || !has_times || !left || !compared) {
    return std::nullopt;
  }
  Attempt attempt{.verdict = *verdict,
                  .stage = *stage,
                  .detail = *std::move(detail),
                  .message = *std::move(message),
                  .seconds = seconds.get<double>()};
  if (!bytes.is_null()) attempt.artefact_bytes = bytes.get<std::uint64_t>();
  attempt.left = *std::move(left);
  attempt.compared = *std::move(compared);
  return KnownVerdict{*std::move(key), std::move(attempt)};
}

// The line that names a temporary folder of this run; "" when it is not there.
std::string folder_line(const std::string& path) {
  const auto mark = mark_of_folder(path);
  if (!mark) return {};
  const Json json = {{"folder", mark->path}, {"device", mark->device}, {"inode", mark->inode}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The folder that a line names.
std::optional<FolderMark> mark_of_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const Json path = json.value("folder", Json()), device = json.value("device", Json()),
             inode = json.value("inode", Json());
  if (!path.is_string() || !device.is_number_unsigned() || !inode.is_number_unsigned()) {
    return std::nullopt;
  }
  return FolderMark{path.get<std::string>(), device.get<std::uint64_t>(),
                    inode.get<std::uint64_t>()};
}

// The whole of a file; "" when it is none, or has more bytes.
std::string text_of(const std::string& path, std::uint64_t most_bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > most_bytes) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string default_verdict_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/cleave/lower";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/cleave/lower" : "";
}

std::size_t count_journaled(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  const std::string text = text_of(path, UINT64_MAX);
  std::size_t count = 0;
  for (const std::string_view line : lines_of(text)) count += verdict_of(line) ? 1U : 0U;
  return count;
}

// The lock of a journal is released when the process ends, however it ends: so who gets it knows
// that the runs before are over.
Status<Error> VerdictStore::open_journal(const std::string& path,
                                         const std::vector<std::string>& folders) {
  auto journal = JournalFile::open(path, "cleave lower", kVersion);
  if (!journal) return std::move(journal).error();
  journal_.emplace(*std::move(journal));
  for (const std::string_view line : lines_of(journal_->lines())) {
    if (auto known = verdict_of(line)) {
      if (!is_answer(known->attempt.verdict)) continue;
      journaled_.emplace(std::move(known->key), std::move(known->attempt));
    } else if (const auto left = mark_of_line(line)) {
      remove_left_folder(*left);
    }
  }
  std::string lines;
  for (const std::string& folder : folders) lines += folder_line(folder);
  return journal_->add(lines);
}

std::string VerdictStore::cache_path(const std::string& key) const {
  return cache_ + "/" + key.substr(0, 2) + "/" + key + ".json";
}

std::optional<Attempt> VerdictStore::find_in_cache(const std::string& key) const {
  if (cache_.empty()) return std::nullopt;
  auto known = verdict_of(text_of(cache_path(key), kMostLineBytes));
  if (!known || known->key != key) return std::nullopt;
  if (!says_something(known->attempt.verdict) && !is_refusal(known->attempt.verdict)) {
    return std::nullopt;
  }
  return std::move(known->attempt);
}

std::optional<Attempt> VerdictStore::find(const std::string& key) {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [&] { return !asked_.contains(key); });
  if (const auto known = seen_.find(key); known != seen_.end()) {
    Attempt attempt = known->second;
    attempt.is_cached = true;
    return attempt;
  }
  if (const auto event = journaled_.find(key); event != journaled_.end()) {
    Attempt attempt = event->second;
    seen_.emplace(key, attempt);
    journaled_.erase(event);
    return attempt;
  }
  auto cached = find_in_cache(key);
  if (!cached) {
    asked_.insert(key);
    return std::nullopt;
  }
  cached->is_cached = true;
  seen_.emplace(key, *cached);
  return cached;
}

bool VerdictStore::is_worth_keeping(LowerVerdict verdict) const {
  return says_something(verdict) || (trusts_failures_ && is_refusal(verdict));
}

void VerdictStore::release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (asked_.erase(key) > 0) added_.notify_all();
}

Status<Error> VerdictStore::add(const std::string& key, const Attempt& attempt) {
  const std::lock_guard lock(mutex_);
  seen_.insert_or_assign(key, attempt);
  asked_.erase(key);
  added_.notify_all();
  // While the run is being stopped, compilers are killed and their files removed.
  if (!is_answer(attempt.verdict) || has_ended_children()) return Done{};
  const std::string line = line_of(key, attempt);
  if (journal_) {
    if (auto kept = journal_->add(line); !kept) return kept;
  }
  if (cache_.empty() || !is_worth_keeping(attempt.verdict)) return Done{};
  // The cache is a convenience: what cannot be kept is computed again.
  const std::string path = cache_path(key);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string hidden = path + "." + std::to_string(::getpid());
  std::ofstream(hidden, std::ios::binary) << line;
  fs::rename(hidden, path, error);
  return Done{};
}

}  // namespace cleave
