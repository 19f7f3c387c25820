// TuneJournal: the times that `cleave tune` measured, in a file of lines "key microseconds", so that
// a run that was stopped can continue with the same results: times are written with all their digits. A
// key is the hash of the partition, a point, and the hash of the command: another command may run on
// another machine. A line that is none of these is passed over.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/result.h"
#include "formats/base/io/journal_file.h"

namespace cleave {

// Longer times are taken for faults; so are times below 0.
constexpr double kMostMicroseconds = 1e15;

class TuneJournal {
 public:
  // Reads the file if it is there; "": times are kept in memory only. Error: the file is not such a
  // journal, another run uses it, or it cannot be written.
  static Result<TuneJournal, Error> open(const std::string& path, const std::string& command);

  // Microseconds of the partition with that hash by the same command; nullopt if it was not timed.
  std::optional<double> find(const std::string& hash);
  // Appends to the file at once. Error: it cannot be written.
  Status<Error> add(const std::string& hash, double us);
  // How many times of earlier runs find() returned, each counted once.
  std::size_t used_before() const { return used_before_; }

 private:
  explicit TuneJournal(const std::string& command);

  std::optional<JournalFile> file_;
  std::string command_;  // the end of each key
  std::map<std::string, double> times_;
  std::set<std::string> known_before_;  // keys of earlier runs that were not found yet
  std::size_t used_before_ = 0;
};

}  // namespace cleave
