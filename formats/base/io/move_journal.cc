// A journal consists of lines that end in a zero byte, since names may contain any other byte:
//
//   cleave journal 1
//   <mark of the old file> <mark of the new file> <name>       a mark is five numbers, 0 if there
//                                                              is no file
//
// Undoing a journal, file by file:
//   1. if the new file has its final name, it goes back into the temporary folder;
//   2. the old file, which is then in the temporary folder, gets its name back.
// Each step checks where the file is now, so that undoing may itself be killed and repeated.
#include "formats/base/io/move_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/base/io/manifest.h"
#include "formats/base/io/renaming.h"
#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileName = "moves.journal";
constexpr std::string_view kHeader = "cleave journal 1";

std::string journal_in(const std::string& folder) { return folder + "/" + std::string(kFileName); }

using FileMark = MoveJournal::FileMark;

FileMark mark_at(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {file_id(status), file_stamp(status)};
}

bool is_none(const FileMark& file) { return file == FileMark{}; }

std::string mark_text(const FileMark& mark) {
  return std::to_string(mark.id.device) + " " + std::to_string(mark.id.inode) + " " +
         std::to_string(mark.stamp.size) + " " + std::to_string(mark.stamp.seconds) + " " +
         std::to_string(mark.stamp.nanoseconds) + " ";
}

bool read_mark(std::istream& text, FileMark& mark) {
  return static_cast<bool>(text >> mark.id.device >> mark.id.inode >> mark.stamp.size >>
                           mark.stamp.seconds >> mark.stamp.nanoseconds);
}

std::string journal_text(const std::vector<MoveJournal::Move>& moves) {
  std::string text = std::string(kHeader) + '\0';
  for (const MoveJournal::Move& move : moves) {
    text += mark_text(move.old_file) + mark_text(move.new_file) + move.name + '\0';
  }
  return text;
}

std::optional<MoveJournal::Move> parse_move(const std::string& line) {
  std::istringstream text(line);
  MoveJournal::Move move;
  if (!read_mark(text, move.old_file) || !read_mark(text, move.new_file)) return std::nullopt;
  if (text.get() != ' ') return std::nullopt;
  std::getline(text, move.name, '\0');
  const fs::path path(move.name);  // of a file in the folder, or in a folder within
  const bool leads_out = std::any_of(path.begin(), path.end(), [](const fs::path& step) {
    return step.empty() || step == "/" || step == "." || step == "..";
  });
  if (move.name.empty() || leads_out) return std::nullopt;
  return move;
}

// nullopt: not a journal.
std::optional<std::vector<MoveJournal::Move>> read_journal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line, '\0') || line != kHeader) return std::nullopt;
  std::vector<MoveJournal::Move> moves;
  while (std::getline(file, line, '\0')) {
    auto move = parse_move(line);
    if (!move) return std::nullopt;
    moves.push_back(*std::move(move));
  }
  return moves;
}

// Where a move leaves the old file: see renaming.h.
std::vector<std::string> places_of_old(const std::string& from, const std::string& name) {
  return {from + "/" + name, from + "/" + name + "-old"};
}

// False, with errno, when the file cannot be restored.
bool undo(const MoveJournal::Move& move, const std::string& from, const std::string& to) {
  const std::string final_path = to + "/" + move.name;
  const std::vector<std::string> places = places_of_old(from, move.name);
  if (!is_none(move.new_file) && mark_at(final_path) == move.new_file) {
    const bool is_exchanged = mode_at(places.front()).has_value();
    const bool done = is_exchanged ? swap_places(places.front(), final_path)
                                   : rename_new(final_path, places.front());
    if (!done) return false;
  }
  if (is_none(move.old_file) || mark_at(final_path) == move.old_file) return true;
  for (const std::string& place : places) {
    if (mark_at(place) == move.old_file) return rename_new(place, final_path);
  }
  return true;  // another process has removed it
}

bool is_of_move(const FileMark& file, const MoveJournal::Move& move) {
  return is_none(file) || file == move.old_file || file == move.new_file;
}

// Names of the set under which the temporary folder holds a file that the journal does not mean: its
// mark is another one. This is so once the folder was copied.
std::vector<std::string> strangers_in(const std::string& temporary,
                                      const std::vector<MoveJournal::Move>& moves) {
  std::vector<std::string> names;
  for (const MoveJournal::Move& move : moves) {
    const auto places = places_of_old(temporary, move.name);
    if (!std::all_of(places.begin(), places.end(),
                     [&](const std::string& place) { return is_of_move(mark_at(place), move); })) {
      names.push_back(move.name);
    }
  }
  return names;
}

// Removes only files with a mark of the set; others stay, and then the folder stays, too.
void remove_temporary(const std::string& folder, const std::vector<MoveJournal::Move>& moves) {
  for (const MoveJournal::Move& move : moves) {
    for (const std::string& place : places_of_old(folder, move.name)) {
      if (is_of_move(mark_at(place), move)) ::unlink(place.c_str());
    }
    for (std::size_t at = move.name.rfind('/'); at != move.name.npos && at > 0;
         at = move.name.rfind('/', at - 1)) {
      ::rmdir((folder + "/" + move.name.substr(0, at)).c_str());
    }
  }
  ::unlink(journal_in(folder).c_str());
  ::rmdir(folder.c_str());
}

// True for a folder that this user's run of cleave made: the journal of any other gives no orders. A
// link is none, wherever it leads.
bool is_own_temporary(const std::string& path, std::string_view name) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  return status.st_uid == ::geteuid() && is_temporary_name(name);
}

Status<Diagnostics> undo_journal(const std::string& temporary, const std::string& folder) {
  const Descriptor fd(::open(journal_in(temporary).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_open()) return Done{};
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Diagnostics{diagnostic_of(folder, "another run of cleave is writing there")};
  }
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Done{};
  const auto moves = read_journal(journal_in(temporary));
  if (!moves) return Done{};
  if (const auto strangers = strangers_in(temporary, *moves); !strangers.empty()) {
    Diagnostic fault = diagnostic_of(
        folder,
        "a run that was killed left it half-written, and it was copied since: nothing is "
        "changed, since it is unknown which files belong together");
    fault.notes.push_back(escaped_in_quotes(temporary) +
                          " has what that run had set aside: " + named_entries(strangers));
    fault.notes.emplace_back(
        "move those files back where they belong or remove that folder, then "
        "run this again");
    return Diagnostics{fault};
  }
  for (auto move = moves->rbegin(); move != moves->rend(); ++move) {
    if (undo(*move, temporary, folder)) continue;
    Diagnostic fault = diagnostic_of(
        folder + "/" + move->name,
        "cannot be put back as it was before a run that was killed: " + system_words(errno));
    fault.notes.push_back("the file is in " + escaped_in_quotes(temporary));
    return Diagnostics{fault};
  }
  remove_temporary(temporary, *moves);
  return Done{};
}

}  // namespace

MoveJournal::MoveJournal(Descriptor fd, std::string from, std::vector<Move> moves)
    : fd_(std::move(fd)), from_(std::move(from)), moves_(std::move(moves)) {}

// The journal is locked and written under another name first: one with its final name is complete.
Loaded<MoveJournal> MoveJournal::begin(const std::string& from, const std::string& to,
                                       std::span<const std::string> names,
                                       std::span<const std::string> removed) {
  std::vector<Move> moves;
  for (const std::string& name : removed) {
    moves.push_back({.name = name, .old_file = mark_at(to + "/" + name), .new_file = {}});
  }
  for (const std::string& name : names) {
    moves.push_back({name, mark_at(to + "/" + name), mark_at(from + "/" + name)});
  }
  const std::string path = journal_in(from), begun = path + "-new";
  Descriptor fd(::open(begun.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  // The lock shows the next run that this one is alive. Some file systems have no locks.
  [[maybe_unused]] const int locked = fd.is_open() ? ::flock(fd.get(), LOCK_EX | LOCK_NB) : -1;
  if (!fd.is_open() || !write_all(fd.get(), journal_text(moves)) ||
      std::rename(begun.c_str(), path.c_str()) != 0) {
    const std::string words = system_words(errno);
    return Diagnostics{diagnostic_of(to, "cannot be written in: " + words)};
  }
  return MoveJournal(std::move(fd), from, std::move(moves));
}

bool MoveJournal::replaced_what_it_says() const {
  return std::all_of(moves_.begin(), moves_.end(), [&](const Move& move) {
    if (is_none(move.old_file)) return true;
    const std::vector<std::string> places = places_of_old(from_, move.name);
    return std::any_of(places.begin(), places.end(),
                       [&](const std::string& place) { return mark_at(place) == move.old_file; });
  });
}

void MoveJournal::end() { ::unlink(journal_in(from_).c_str()); }

Status<Diagnostics> undo_unfinished_moves(const std::string& folder) {
  std::vector<std::string> temporaries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_own_temporary(entry->path().string(), name)) {
      temporaries.push_back(entry->path().string());
    }
  }
  std::sort(temporaries.begin(), temporaries.end());
  for (const std::string& temporary : temporaries) {
    if (auto done = undo_journal(temporary, folder); !done) return done;
  }
  return Done{};
}

}  // namespace cleave
