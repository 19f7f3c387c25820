// Renames files and folders to their final names at once, and back again on failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// The mode (st_mode) at the path itself: a link is not followed. nullopt if the path does not
// exist.
std::optional<unsigned> mode_at(const std::string& path);

// Renames to a path that must not exist; false, with errno, on failure.
bool rename_new(const std::string& from, const std::string& to);

// Exchanges `from` and `to`: atomically if the system can; otherwise the old one moves aside first,
// and back if the second step fails. False, with errno, on failure.
bool swap_places(const std::string& from, const std::string& to);

// Moves files from one folder to another; files that they replace go to the first folder, in
// exchange.
class Moves {
 public:
  Moves(std::string from, std::string to);

  // False, with errno, when the file could not be moved.
  bool move(const std::string& name);
  // Moves the file of that name out of the second folder, if there is one. False, with errno, when
  // it could not be moved.
  bool set_aside(const std::string& name);
  // Undoes all moves.
  void undo();

 private:
  struct Move {
    std::string from, to;
    bool is_exchange;
  };
  std::string from_, to_;
  std::vector<Move> done_;
};

}  // namespace cleave
