#include "formats/jobs/tune_journal.h"

#include <fstream>
#include <utility>

#include "formats/lowering/sha256.h"

namespace cleave {

TuneJournal::TuneJournal(std::string path, const std::string& command)
    : path_(std::move(path)), command_("." + sha256_hex(command)) {
  std::ifstream file(path_);
  std::string key;
  double us = 0;
  while (file >> key >> us) {
    if (!key.ends_with(command_)) continue;
    known_before_.insert(key);
    times_[key] = us;
  }
}

std::optional<double> TuneJournal::find(const std::string& hash) {
  const auto found = times_.find(hash + command_);
  if (found == times_.end()) return std::nullopt;
  used_before_ += known_before_.erase(found->first);
  return found->second;
}

void TuneJournal::add(const std::string& hash, double us) {
  const std::string key = hash + command_;
  times_[key] = us;
  if (path_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  file << key << ' ' << us << '\n' << std::flush;
}

}  // namespace cleave
