// TuneJournal: the times that `cleave tune` measured, in a file of lines "key microseconds", so that
// a run that was stopped can continue. A key is the hash of the partition, a point, and the hash of
// the command: another command may run on another machine.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cleave {

class TuneJournal {
 public:
  // Reads the file if it is there; "": times are kept in memory only.
  TuneJournal(std::string path, const std::string& command);

  // Microseconds of the partition with that hash by the same command; nullopt if it was not timed.
  std::optional<double> find(const std::string& hash);
  // Appends to the file at once.
  void add(const std::string& hash, double us);
  // How many times of earlier runs find() returned, each counted once.
  std::size_t used_before() const { return used_before_; }

 private:
  std::string path_;
  std::string command_;  // the end of each key
  std::map<std::string, double> times_;
  std::set<std::string> known_before_;  // keys of earlier runs that were not found yet
  std::size_t used_before_ = 0;
};

}  // namespace cleave
