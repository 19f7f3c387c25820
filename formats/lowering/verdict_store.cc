#include "formats/lowering/verdict_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/io/descriptor.h"

namespace cleave {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

bool says_something(LowerVerdict verdict) {
  switch (verdict) {
    case LowerVerdict::lowered:
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::wrong_values:
    case LowerVerdict::lower_precision:
    case LowerVerdict::tie_order:
      return true;
    default:
      return false;
  }
}

std::string line_of(const std::string& key, const Attempt& attempt) {
  Json json = {{"key", key},
               {"verdict", static_cast<int>(attempt.verdict)},
               {"stage", static_cast<int>(attempt.stage)},
               {"detail", attempt.detail},
               {"message", attempt.message},
               {"seconds", attempt.seconds},
               {"artefact_bytes", nullptr}};
  if (attempt.artefact_bytes) json["artefact_bytes"] = *attempt.artefact_bytes;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<std::pair<std::string, Attempt>> attempt_of(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    Attempt attempt{.verdict = static_cast<LowerVerdict>(json.at("verdict").get<int>()),
                    .stage = static_cast<LowerStage>(json.at("stage").get<int>()),
                    .detail = json.at("detail").get<std::string>(),
                    .message = json.at("message").get<std::string>(),
                    .seconds = json.at("seconds").get<double>()};
    if (const Json& bytes = json.at("artefact_bytes"); bytes.is_number()) {
      attempt.artefact_bytes = bytes.get<std::uint64_t>();
    }
    return std::pair(json.at("key").get<std::string>(), std::move(attempt));
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error cannot_write(const std::string& path) {
  return {path + ": cannot be written: " + system_words(errno)};
}

}  // namespace

std::string default_verdict_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/cleave/lower";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/cleave/lower" : "";
}

VerdictStore::~VerdictStore() {
  if (journal_ >= 0) ::close(journal_);
}

Status<Error> VerdictStore::open_journal(const std::string& path) {
  const std::string text = text_of(path);
  std::size_t whole = 0;  // bytes of complete lines
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', whole)) {
    auto event = attempt_of(std::string_view(text).substr(whole, end - whole));
    if (event) journaled_.insert(*std::move(event));
    whole = end + 1;
  }
  journal_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (journal_ < 0 || ::ftruncate(journal_, static_cast<off_t>(whole)) != 0) {
    return cannot_write(path);
  }
  return Done{};
}

std::string VerdictStore::cache_path(const std::string& key) const {
  return cache_ + "/" + key.substr(0, 2) + "/" + key + ".json";
}

std::optional<Attempt> VerdictStore::find_in_cache(const std::string& key) const {
  if (cache_.empty()) return std::nullopt;
  auto event = attempt_of(text_of(cache_path(key)));
  if (!event || event->first != key) return std::nullopt;
  return std::move(event->second);
}

std::optional<Attempt> VerdictStore::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
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
  if (!cached) return std::nullopt;
  cached->is_cached = true;
  seen_.emplace(key, *cached);
  return cached;
}

bool VerdictStore::is_worth_keeping(LowerVerdict verdict) const {
  return says_something(verdict) || (trusts_failures_ && is_refusal(verdict));
}

Status<Error> VerdictStore::add(const std::string& key, const Attempt& attempt) {
  const std::lock_guard lock(mutex_);
  seen_.insert_or_assign(key, attempt);
  const std::string line = line_of(key, attempt);
  if (journal_ >= 0 && !write_all(journal_, line)) return cannot_write("the journal");
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
