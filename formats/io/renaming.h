// Files and folders that get their final names: at once, and back again when it goes wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// The mode (st_mode) of what stands at the path itself: a link counts as what it is, not as what it
// points to.
std::optional<unsigned> mode_at(const std::string& path);

// Renames where nothing may stand yet; false, with errno, when that cannot be.
bool rename_new(const std::string& from, const std::string& to);

// Puts `from` where `to` is, and `to` where `from` was: at once where the system can, else the old
// one moves aside first and back again when the second step fails. False, with errno.
bool swap_places(const std::string& from, const std::string& to);

// Files on their way from one folder to another; what they replace takes their place until the
// first folder goes.
class Moves {
 public:
  Moves(std::string from, std::string to);

  // False, with errno, when the file stays where it is.
  bool move(const std::string& name);
  // Takes what stands under that name in the second folder away, nothing where there is nothing.
  // False, with errno, when it stays.
  bool set_aside(const std::string& name);
  // Puts everything back where it was.
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
