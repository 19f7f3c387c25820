#include "formats/run/jobs/tune_journal.h"

#include <charconv>
#include <utility>

#include "core/base/decimal.h"
#include "formats/base/io/sha256.h"

namespace cleave {
namespace {

constexpr unsigned kVersion = 2;  // of the lines
constexpr std::size_t kHashDigits = 64;

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// A partition's hash, a point, and the command's hash.
bool is_key(std::string_view text) {
  return text.size() == 2 * kHashDigits + 1 && text[kHashDigits] == '.' &&
         is_hash(text.substr(0, kHashDigits)) && is_hash(text.substr(kHashDigits + 1));
}

struct TimeLine {
  std::string_view key;
  double us;
};

std::optional<TimeLine> time_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == line.npos || !is_key(line.substr(0, blank))) return std::nullopt;
  double us = 0;
  const char* const end = line.data() + line.size();
  const auto read = std::from_chars(line.data() + blank + 1, end, us);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (!(us >= 0 && us <= kMostMicroseconds)) return std::nullopt;
  return TimeLine{line.substr(0, blank), us};
}

}  // namespace

TuneJournal::TuneJournal(const std::string& command) : command_("." + sha256_hex(command)) {}

Result<TuneJournal, Error> TuneJournal::open(const std::string& path, const std::string& command) {
  TuneJournal journal(command);
  if (path.empty()) return journal;
  auto file = JournalFile::open(path, "cleave tune", kVersion);
  if (!file) return std::move(file).error();
  journal.file_.emplace(*std::move(file));
  for (const std::string_view line : lines_of(journal.file_->lines())) {
    const auto time = time_line(line);
    if (!time || !time->key.ends_with(journal.command_)) continue;
    journal.known_before_.emplace(time->key);
    journal.times_[std::string(time->key)] = time->us;
  }
  return journal;
}

std::optional<double> TuneJournal::find(const std::string& hash) {
  const auto found = times_.find(hash + command_);
  if (found == times_.end()) return std::nullopt;
  used_before_ += known_before_.erase(found->first);
  return found->second;
}

Status<Error> TuneJournal::add(const std::string& hash, double us) {
  const std::string key = hash + command_;
  times_[key] = us;
  if (!file_) return Done{};
  return file_->add(key + " " + shortest_text(us) + "\n");
}

}  // namespace cleave
