// Files and folders that are written: complete or not at all.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/base/text.h"

namespace cleave {

// ---- renaming ----

namespace {

// What the system can do at once; elsewhere ENOSYS, and callers do it step by step.
#ifdef RENAME_EXCHANGE
constexpr unsigned kOnlyNew = RENAME_NOREPLACE;
constexpr unsigned kExchange = RENAME_EXCHANGE;

bool rename_at_once(const std::string& from, const std::string& to, unsigned how) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0;
}
#else
constexpr unsigned kOnlyNew = 0;
constexpr unsigned kExchange = 1;

bool rename_at_once(const std::string&, const std::string&, unsigned) {
  errno = ENOSYS;
  return false;
}
#endif

// The mode (st_mode) at the path itself: a link is not followed. nullopt if the path does not
// exist.
std::optional<unsigned> mode_at(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

}  // namespace

// Checks first on a file system that cannot guarantee that the target does not exist.
bool rename_new(const std::string& from, const std::string& to) {
  if (rename_at_once(from, to, kOnlyNew)) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (mode_at(to)) {
    errno = EEXIST;
    return false;
  }
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool swap_places(const std::string& from, const std::string& to) {
  if (rename_at_once(from, to, kExchange)) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  const std::string aside = from + "-old";
  if (std::rename(to.c_str(), aside.c_str()) != 0) return false;
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    std::rename(aside.c_str(), to.c_str());
    errno = error;
    return false;
  }
  return std::rename(aside.c_str(), from.c_str()) == 0;
}

Moves::Moves(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

bool Moves::move(const std::string& name) {
  Move move{.from = from_ + "/" + name, .to = to_ + "/" + name, .is_exchange = false};
  move.is_exchange = mode_at(move.to).has_value();
  if (!(move.is_exchange ? swap_places(move.from, move.to) : rename_new(move.from, move.to))) {
    return false;
  }
  done_.push_back(std::move(move));
  return true;
}

bool Moves::set_aside(const std::string& name) {
  Move move{.from = to_ + "/" + name, .to = from_ + "/" + name + "-old", .is_exchange = false};
  if (!mode_at(move.from)) return true;
  if (!rename_new(move.from, move.to)) return false;
  done_.push_back(std::move(move));
  return true;
}

void Moves::undo() {
  for (; !done_.empty(); done_.pop_back()) {
    const Move& move = done_.back();
    if (move.is_exchange) {
      swap_places(move.from, move.to);
    } else {
      std::rename(move.to.c_str(), move.from.c_str());
    }
  }
}

// ---- move journal ----
//
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
  const bool leads_out = std::ranges::any_of(path, [](const fs::path& step) {
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

// Where a move leaves the old file: see formats/base/files.h, "renaming".
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
    if (!std::ranges::all_of(
            places, [&](const std::string& place) { return is_of_move(mark_at(place), move); })) {
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
    Diagnostic fault =
        diagnostic_of(folder,
                      "a run that was killed left it half-written, and it was copied since: "
                      "nothing is changed, since it is unknown which files belong together");
    fault.notes.push_back(escaped_in_quotes(temporary) +
                          " has what that run had set aside: " + named_entries(strangers));
    fault.notes.emplace_back(
        "move those files back where they belong or remove that folder, then run this again");
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
  return std::ranges::all_of(moves_, [&](const Move& move) {
    if (is_none(move.old_file)) return true;
    const std::vector<std::string> places = places_of_old(from_, move.name);
    return std::ranges::any_of(
        places, [&](const std::string& place) { return mark_at(place) == move.old_file; });
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
  std::ranges::sort(temporaries);
  for (const std::string& temporary : temporaries) {
    if (auto done = undo_journal(temporary, folder); !done) return done;
  }
  return Done{};
}

// ---- output file ----

namespace {

Diagnostics fault(const std::string& path, std::string message) {
  return {diagnostic_of(path, std::move(message))};
}

// Devices and pipes cannot be replaced: writes to them directly.
Status<Diagnostics> write_through(const std::string& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.is_open() || !write_all(fd.get(), bytes) || !fd.close()) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  return Done{};
}

// The folder that the path's last part is in: "." for a bare name.
std::string parent_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string plain_path(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

namespace {

// Follows links to the file or folder, so that a link remains a link; a path that does not exist is
// returned as it is.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// Refuses when an input has changed: a result made from it would describe a file that no longer
// exists.
Status<Diagnostics> check_inputs_unchanged() {
  const char* const changed = changed_input();
  if (changed == nullptr) return Done{};
  return fault(changed, std::string(kInputChanged));
}

// Refuses when the path leads to an input.
Status<Diagnostics> check_is_no_input(const std::string& path) {
  const std::string input = input_at_path(path);
  if (input.empty()) return Done{};
  return fault(path, "would overwrite an input" +
                         (input == path ? std::string() : " (" + escaped_in_quotes(input) + ")") +
                         ": give the output another name");
}

// Whether a file may be put in the place of what is at the path: the one policy of all that writes.
// Nothing replaces an input ("input record" above) or a folder. A file that has content is replaced only
// where `force` says so: nothing tells what was made by hand from what cleave wrote and somebody changed.
Status<Diagnostics> check_may_replace(const std::string& path, bool force) {
  if (auto other = check_is_no_input(path); !other) return other;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return Done{};
  if (S_ISDIR(status.st_mode)) return fault(path, "cannot be written: is a folder");
  if (force || !S_ISREG(status.st_mode) || status.st_size == 0) return Done{};
  return fault(path, std::string(kExists));
}

}  // namespace

Status<Diagnostics> check_may_write(const std::string& path, bool force) {
  if (auto free = check_may_replace(path, force); !free) return free;
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && !S_ISREG(*mode)) return Done{};
  if (!is_folder(parent_folder(target))) {
    return fault(
        path, "cannot be written: there is no folder " + escaped_in_quotes(parent_folder(target)));
  }
  const TemporaryFile begun = Temporary::file_in(parent_folder(target));  // removed again at once
  if (!begun.file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  return Done{};
}

Status<Diagnostics> write_file(const std::string& path, std::string_view bytes, bool force) {
  if (auto same = check_inputs_unchanged(); !same) return same;
  if (auto free = check_may_replace(path, force); !free) return free;
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && !S_ISREG(*mode)) return write_through(path, bytes);
  auto [file, fd] = Temporary::file_in(parent_folder(target));
  if (!file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  if (mode) ::fchmod(fd.get(), *mode & 07777U);
  if (!write_all(fd.get(), bytes) || !fd.close()) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  const Uninterrupted whole;
  if (auto free = check_may_replace(path, force); !free) return free;
  // What appears now, after the check, is not replaced without `force`.
  const bool is_new = !mode && !force;
  const bool is_done = is_new ? rename_new(file.path(), target)
                              : std::rename(file.path().c_str(), target.c_str()) == 0;
  if (!is_done && is_new && errno == EEXIST) return fault(path, std::string(kExists));
  if (!is_done) return fault(path, "cannot be written: " + system_words(errno));
  file.keep();
  return Done{};
}

// ---- output folder ----
//
// Steps:
// 1. create a temporary folder next to the final one, or inside it;
// 2. write files there;
// 3. commit(): check that inputs are unchanged, then put the whole folder in place, or move its
//    files one by one with a journal, the manifest last.

namespace {

constexpr int kNewFile = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The files of the folder and of folders within by name and size, sorted.
Loaded<std::vector<ListedFile>> list_of(const std::string& folder) {
  const auto paths = paths_below(folder);
  if (!paths) return paths.error();
  std::vector<ListedFile> files;
  for (const std::string& path : *paths) {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    files.push_back({std::filesystem::path(path).lexically_relative(folder).string(),
                     static_cast<std::uint64_t>(status.st_size)});
  }
  std::ranges::sort(files,
                    [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
  return files;
}

// The names of these files, with the manifest last. The manifest is put in place last and the old one
// removed first: if it exists, its files are complete.
Loaded<std::vector<std::string>> files_in(const std::string& folder) {
  auto files = list_of(folder);
  if (!files) return files.error();
  std::vector<std::string> names;
  for (ListedFile& file : *files) names.push_back(std::move(file.name));
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name != kManifestName; });
  return names;
}

// The folders within that these files are in, the deepest first.
std::set<std::string, std::greater<>> folders_of(const std::vector<std::string>& names) {
  std::set<std::string, std::greater<>> folders;
  for (const std::string& name : names) {
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      folders.insert(name.substr(0, at));
    }
  }
  return folders;
}

// A lock on a folder that other runs of cleave see: two that put files into one folder take turns.
// It ends with the descriptor. Where a file system has no locks, there is none.
Descriptor locked_folder(const std::string& folder) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (fd.is_open() && ::flock(fd.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return fd;
}

// Removes a folder and the files that its manifest lists; false when it contains anything else.
bool remove_listed_folder(const std::string& folder) {
  std::vector<std::string> names;
  for (const ListedFile& file : listed_files(folder).value_or(std::vector<ListedFile>{})) {
    ::unlink((folder + "/" + file.name).c_str());
    names.push_back(file.name);
  }
  for (const std::string& within : folders_of(names)) ::rmdir((folder + "/" + within).c_str());
  ::unlink((folder + "/" + std::string(kManifestName)).c_str());
  return ::rmdir(folder.c_str()) == 0;
}

// Why the folder at `path`, called `shown` in messages, may not be replaced.
Status<Diagnostics> check_is_ours(const std::string& path, const std::string& shown) {
  const auto input = input_in_folder(path);
  if (!input) return input.error();
  if (!input->empty()) {
    return fault(shown, "holds an input (" + escaped_in_quotes(*input) +
                            "), and would be replaced: give another folder");
  }
  const bool has_list = listed_files(path).has_value();
  const auto unlisted = unlisted_entries(path);
  if (!unlisted) return unlisted.error();
  const std::vector<std::string>& others = *unlisted;
  if (others.empty()) return Done{};
  Diagnostics faults =
      has_list
          ? fault(shown, "holds what its manifest.json does not list: " + named_entries(others))
          : fault(shown, "exists already, and has no manifest.json of cleave's: it has " +
                             named_entries(others));
  faults.front().notes.emplace_back(
      "--force removes what cleave wrote, as its manifest lists it by name and size, and nothing "
      "else: move the rest, or give another folder");
  return faults;
}

}  // namespace

Loaded<OutputFolder> OutputFolder::create(const std::string& path, bool force) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.force_ = force;
  const std::string last = folder.final_.substr(folder.final_.rfind('/') + 1);
  if (last.empty() || last == "." || last == "..") {
    return fault(path, "names no folder that could be made; give the folder a name of its own");
  }
  folder.real_ = behind_links(folder.final_);
  if (mode_at(folder.real_)) {
    if (!is_folder(folder.real_)) return fault(path, "exists already and is not a folder");
    std::error_code error;
    if (!force && !std::filesystem::is_empty(folder.real_, error)) {
      return fault(path, std::string(kExists));
    }
    if (auto ours = check_is_ours(folder.real_, folder.final_); !ours) return ours.error();
    folder.replaced_ = file_id(folder.real_);
  }
  const std::string parent = parent_folder(folder.real_);
  folder.temporary_ = Temporary::folder_in(parent);
  if (folder.temporary_.is_there()) return folder;
  const std::string words = system_words(errno);
  return fault(path, "cannot be made in folder " + escaped_in_quotes(parent) + ": " + words);
}

Loaded<OutputFolder> OutputFolder::open_within(const std::string& path) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.real_ = behind_links(folder.final_);
  if (!is_folder(folder.real_)) return fault(path, "is not an existing folder");
  const Descriptor lock = locked_folder(folder.real_);
  if (auto done = undo_unfinished_moves(folder.real_); !done) return std::move(done).error();
  folder.temporary_ = Temporary::folder_in(folder.real_);
  if (folder.temporary_.is_there()) return folder;
  return fault(path, "cannot be written in: " + system_words(errno));
}

Loaded<OutputFolder> OutputFolder::inside(const std::string& path, bool force) {
  auto folder = open_within(path);
  if (!folder) return folder;
  folder->force_ = force;
  folder->place_ = Place::within;
  return folder;
}

Loaded<OutputFolder> OutputFolder::beside(const std::string& path, bool force) {
  if (is_folder(path)) return fault(path, "is a folder; name a file");
  if (auto free = check_may_replace(path, force); !free) return std::move(free).error();
  auto folder = open_within(parent_folder(path));
  if (!folder) return folder;
  folder->force_ = force;
  folder->place_ = Place::beside;
  return folder;
}

std::string OutputFolder::path_of(std::string_view name) const {
  assert(!name.empty() && name.find('/') == name.npos && "a file's name is one path component");
  return temporary_.path() + "/" + std::string(name);
}

bool OutputFolder::would_remove(const std::string& path) const {
  if (place_ != Place::folder || !mode_at(real_)) return false;
  const std::filesystem::path folder = real_, file = behind_links(path);
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

Status<Diagnostics> OutputFolder::write_text(std::string_view name, const MakeText& make) const {
  Descriptor fd(::open(path_of(name).c_str(), kNewFile, 0666));
  int failed = fd.is_open() ? 0 : errno;
  if (failed == 0) {
    make([&](std::string_view piece) {
      if (failed == 0 && !write_all(fd.get(), piece)) failed = errno;
    });
  }
  if (failed == 0 && !fd.close()) failed = errno;
  if (failed == 0) return Done{};
  return fault(final_ + "/" + std::string(name), "cannot be written: " + system_words(failed));
}

Status<Diagnostics> OutputFolder::write(std::string_view name, std::string_view bytes) const {
  return write_text(name, [&](const TakeText& take) { take(bytes); });
}

Status<Diagnostics> OutputFolder::write_manifest(const MakeText& make) const {
  const auto files = list_of(temporary_.path());
  if (!files) return files.error();
  const std::string end = file_list_end(*files);
  return write_text(kManifestName, [&](const TakeText& take) {
    std::string held;  // what may be kReportEnd: the last bytes so far
    make([&](std::string_view piece) {
      const std::size_t kept = std::min(piece.size(), kReportEnd.size());
      held += piece.substr(piece.size() - kept);
      const std::size_t over = held.size() - std::min(held.size(), kReportEnd.size());
      take(held.substr(0, over));
      take(piece.substr(0, piece.size() - kept));
      held.erase(0, over);
    });
    assert(held == kReportEnd);
    take(end);
  });
}

Status<Diagnostics> OutputFolder::write_manifest(std::string_view json) const {
  return write_manifest([&](const TakeText& take) { take(json); });
}

Status<Diagnostics> OutputFolder::commit() {
  if (auto same = check_inputs_unchanged(); !same) return same;
  const Uninterrupted whole;
  if (place_ == Place::folder) return commit_folder();
  auto done = commit_files();
  if (done) temporary_.remove();
  return done;
}

Status<Diagnostics> OutputFolder::commit_folder() {
  if (!mode_at(real_)) {
    if (!rename_new(temporary_.path(), real_)) {
      return fault(final_, "cannot be put in place: " + system_words(errno));
    }
    temporary_.keep();
    return Done{};
  }
  if (!force_) return fault(final_, std::string(kExists));
  if (!replaced_ || file_id(real_) != replaced_) {
    return fault(final_, "appeared while cleave ran: it is left as it is");
  }
  if (auto ours = check_is_ours(real_, final_); !ours) return ours;
  if (!swap_places(temporary_.path(), real_)) {
    return fault(final_, "cannot be put in place: " + system_words(errno));
  }
  if (auto ours = put_back_unless_ours(); !ours) return ours;
  const std::string old = temporary_.path();
  temporary_.keep();
  if (remove_listed_folder(old)) return Done{};
  return fault(final_, "is complete, but what it replaced could not be removed: see " +
                           escaped_in_quotes(old));
}

// Another folder may have been swapped out than the one checked before. If it is not ours, swaps it
// back.
Status<Diagnostics> OutputFolder::put_back_unless_ours() {
  auto ours = check_is_ours(temporary_.path(), final_);
  if (ours && file_id(temporary_.path()) == replaced_) return ours;
  const std::string old = temporary_.path();
  if (!swap_places(old, real_)) {
    temporary_.keep();
    return fault(final_, "is complete; what it replaced is not cleave's and is now in " +
                             escaped_in_quotes(old));
  }
  if (!ours) return ours;
  return fault(final_, "appeared while cleave ran: it is left as it is");
}

// `ours` are the names of files that may be replaced.
Status<Diagnostics> OutputFolder::check_file(const std::string& name,
                                             const std::set<std::string>& ours) const {
  const std::string path = real_ + "/" + name, shown = final_ + "/" + name;
  const auto mode = mode_at(path);
  if (!mode) return Done{};
  if (S_ISDIR(*mode)) return fault(shown, "exists already and is a folder");
  if (auto free = check_may_replace(path, force_); !free) {
    return fault(shown, free.error().front().message);
  }
  if (!force_ && !S_ISREG(*mode)) return fault(shown, std::string(kExists));
  if (place_ == Place::beside) return Done{};  // the user named it
  if (ours.contains(name)) return Done{};
  return fault(shown,
               "exists already, and no manifest.json of cleave's lists it: --force only replaces "
               "what cleave wrote");
}

// Refuses when a file that the manifest lists has changed since: it would be lost.
Status<Diagnostics> OutputFolder::check_listed(const std::vector<ListedFile>& listed) const {
  std::vector<std::string> others;
  for (const ListedFile& file : listed) {
    const bool is_same =
        is_as_listed(real_, file) && input_at_path(real_ + "/" + file.name).empty();
    if (!is_same) others.push_back(file.name);
  }
  if (others.empty()) return Done{};
  return fault(final_, "holds files that are not as cleave wrote them: " + named_entries(others) +
                           "; move them, or write elsewhere");
}

// Files of an earlier set that this one does not have are removed with the earlier set's manifest.
Status<Diagnostics> OutputFolder::commit_files() {
  const Descriptor lock = locked_folder(real_);  // from the checks to the last move
  const auto names = files_in(temporary_.path());
  if (!names) return names.error();
  const bool may_replace = force_ && place_ == Place::within;
  const auto listed = may_replace ? listed_files(real_) : std::nullopt;
  std::set<std::string> ours;
  if (listed) {
    if (auto same = check_listed(*listed); !same) return same;
    for (const ListedFile& file : *listed) ours.insert(file.name);
    ours.emplace(kManifestName);
  }
  for (const std::string& name : *names) {
    if (auto free = check_file(name, ours); !free) return free;
    ours.erase(name);
  }
  ours.erase(std::string(kManifestName));
  return move_files(*names, {ours.begin(), ours.end()});
}

// `stale` are files of the earlier set that this one does not have.
Status<Diagnostics> OutputFolder::move_files(const std::vector<std::string>& names,
                                             const std::vector<std::string>& stale) const {
  auto journal = MoveJournal::begin(temporary_.path(), real_, names, stale);
  if (!journal) return std::move(journal).error();
  Moves moves(temporary_.path(), real_);
  const auto give_up = [&](const std::string& name) {
    const std::string words = system_words(errno);
    moves.undo();
    journal->end();
    return fault(final_ + "/" + name, "cannot be put in place: " + words);
  };
  std::error_code ignored;  // a folder that is missing is told by the move into it
  for (const std::string& within : folders_of(names)) {
    std::filesystem::create_directories(real_ + "/" + within, ignored);
  }
  for (const std::string& within : folders_of(stale)) {
    std::filesystem::create_directories(temporary_.path() + "/" + within, ignored);
  }
  const bool has_manifest = !names.empty() && names.back() == kManifestName;
  if (has_manifest && !moves.set_aside(std::string(kManifestName))) {
    return give_up(std::string(kManifestName));
  }
  for (const std::string& name : stale) {
    if (!moves.set_aside(name)) return give_up(name);
  }
  for (const std::string& name : names) {
    if (!moves.move(name)) return give_up(name);
  }
  if (!journal->replaced_what_it_says()) {
    errno = EBUSY;
    return give_up(std::string(kManifestName));
  }
  journal->end();
  return Done{};
}

// ---- kept output ----

namespace {

bool has_fault_word(std::string_view line) {
  const auto is_same = [](char a, char b) { return (a | 0x20) == b; };  // of letters in any case
  for (const std::string_view word : {"error", "fatal"}) {
    const auto found = std::search(line.begin(), line.end(), word.begin(), word.end(), is_same);
    if (found != line.end()) return true;
  }
  return false;
}

}  // namespace

KeptOutput::KeptOutput(std::function<bool(std::string_view)> keeps_line)
    : lines_{{{.is_wanted = has_fault_word}, {.is_wanted = std::move(keeps_line)}}} {
  lines_[1].is_found = !lines_[1].is_wanted;
}

void KeptOutput::add(std::string_view bytes) {
  look_for_lines(bytes);
  total_ += bytes.size();
  const std::size_t room = std::min(kKept - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
}

void KeptOutput::look_for_lines(std::string_view bytes) {
  std::uint64_t begin = total_;  // of the bytes
  while (!bytes.empty() && !(lines_[0].is_found && lines_[1].is_found)) {
    const std::size_t end = bytes.find('\n');
    if (line_.empty()) line_begin_ = begin;
    line_ += bytes.substr(0, std::min(end, kLongestLine - line_.size()));
    if (end == bytes.npos) return;
    begin += end + 1;
    bytes.remove_prefix(end + 1);
    if (begin > kKept) keep_line();
    line_.clear();
  }
}

void KeptOutput::keep_line() {
  for (KeptLine& line : lines_) {
    if (line.is_found || !line.is_wanted(line_)) continue;
    line.text = line_ + "\n";
    line.begin = line_begin_;
    line.is_found = true;
  }
}

std::string KeptOutput::text() const {
  const std::size_t tail_size = std::min(tail_.size(), kKept);
  const std::uint64_t tail_begin = total_ - tail_size;
  std::array<const KeptLine*, 2> lines = {&lines_[0], &lines_[1]};
  if (lines[1]->begin < lines[0]->begin) std::swap(lines[0], lines[1]);
  std::string text = head_;
  std::uint64_t at = head_.size();  // in the output
  const auto leave_out_until = [&](std::uint64_t begin) {
    if (begin > at) text += "\n[" + std::to_string(begin - at) + " bytes left out]\n";
  };
  for (const KeptLine* const line : lines) {
    const bool is_repeated = line == lines[1] && line->begin == lines[0]->begin;
    if (line->text.empty() || line->begin >= tail_begin || is_repeated) continue;
    leave_out_until(line->begin);
    if (text.back() != '\n') text += '\n';  // it began in the head
    text += line->text;
    at = std::max(at, line->begin + line->text.size());
  }
  leave_out_until(tail_begin);
  return text.append(tail_, tail_.size() - tail_size);
}

// ---- part files ----

namespace {

// The files that a split writes besides its partitions.
constexpr std::array<std::string_view, 7> kOwnFiles = {
    "root", "annotated", "manifest", "report", "node_support", "preview", "stages"};

std::string cut_at_character(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text.substr(at)), 1);
    if (at + length > most) break;
    at += length;
  }
  return std::string(text.substr(0, at));
}

// Unchanged if it is one harmless path component of at most 200 bytes; otherwise with separators
// and control characters replaced by '_'.
std::string harmless(std::string_view part_name) {
  // File systems take 255. The rest is for what is added: a number where two names are equal, the
  // ending, "-old" of a move.
  constexpr std::size_t kMostBytes = 200;
  std::string name = cut_at_character(part_name, kMostBytes);
  const auto is_harmful = [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  };
  std::replace_if(name.begin(), name.end(), is_harmful, '_');
  if (name.empty()) return "_";
  if (name == "." || name == "..") std::ranges::fill(name, '_');
  return name;
}

class StemGiver {
 public:
  StemGiver() {
    for (const std::string_view own : kOwnFiles) taken_.emplace(own);
  }

  bool take(std::string_view stem) { return taken_.insert(lower_case(stem)).second; }

  // The stem, else the stem with the first free number appended.
  std::string take_next(const std::string& stem) {
    if (take(stem)) return stem;
    std::size_t& number = last_number_.try_emplace(lower_case(stem), 1).first->second;
    std::string numbered;
    do {
      numbered = stem + "_" + std::to_string(++number);
    } while (!take(numbered));
    return numbered;
  }

 private:
  std::unordered_set<std::string> taken_;                     // lower case
  std::unordered_map<std::string, std::size_t> last_number_;  // by stem in lower case
};

}  // namespace

std::vector<std::string> file_stems(std::span<const std::string> part_names) {
  StemGiver giver;
  std::vector<std::string> stems(part_names.size());
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (harmless(part_names[i]) == part_names[i] && giver.take(part_names[i])) {
      stems[i] = part_names[i];
    }
  }
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (stems[i].empty()) stems[i] = giver.take_next(harmless(part_names[i]));
  }
  return stems;
}

// ---- weight files ----

namespace {

namespace fs = std::filesystem;

// Why a location is refused without a lookup; empty when it is acceptable.
std::string_view fault_of_location(std::string_view location) {
  if (location.empty()) return "names no file";
  if (location.find('\0') != location.npos) return "holds a zero byte";
  const fs::path path(location);
  if (path.is_absolute()) return "is absolute: it must be relative to the model's folder";
  const auto up = [](const fs::path& step) { return step == ".."; };
  if (std::ranges::any_of(path, up)) return "holds \"..\": it must stay in the model's folder";
  return {};
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return at == folder.end() && rest != file.end();
}

}  // namespace

WeightFiles::WeightFiles(std::string folder, std::vector<ByteSource>& sources)
    : folder_(std::move(folder)), sources_(sources) {}

Result<WeightFiles::File, std::string> WeightFiles::add(std::string_view location) {
  if (const std::string_view fault = fault_of_location(location); !fault.empty()) {
    return std::string(fault);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (error) return "cannot be looked up: " + error.message();
  const fs::path file = fs::canonical(folder / fs::path(location), error);
  if (error) return "cannot be opened: " + error.message();
  if (!is_inside(file, folder)) {
    return std::string("leads out of the model's folder through a link");
  }
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return "cannot be opened: " + system_words(errno);
  if (!S_ISREG(status.st_mode)) return std::string("is not a regular file");
  sources_.push_back({.fd = -1, .path = file.string(), .stamp = file_stamp(status)});
  return File{.source = static_cast<std::uint32_t>(sources_.size() - 1),
              .size = static_cast<std::uint64_t>(status.st_size)};
}

Result<WeightFiles::File, std::string> WeightFiles::find(std::string_view location) {
  if (const auto known = files_.find(std::string(location)); known != files_.end()) {
    return known->second;
  }
  Result<File, std::string> file = add(location);
  if (file) files_.emplace(location, *file);
  return file;
}

std::string fault_of_range(const WeightFiles::File& file, std::uint64_t offset,
                           std::uint64_t length) {
  if (offset > file.size) {
    return "begins at byte " + std::to_string(offset) + ", after the file's end at " +
           std::to_string(file.size);
  }
  if (length > file.size - offset) {
    return "is " + std::to_string(length) + " bytes long, but the file ends after " +
           std::to_string(file.size - offset);
  }
  return {};
}

// ---- manifest ----

namespace {

using nlohmann::json;

constexpr std::string_view kOurFormats = "cleave.";
constexpr int kTopLevel = 1;  // the depth of the outermost object's keys, as nlohmann counts

// The manifest's format and file list without its other fields; discarded if it is not JSON.
json read_list(const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifestName);
  if (!S_ISREG(mode_at(path).value_or(0))) return json(json::value_t::discarded);
  std::ifstream file(path, std::ios::binary);
  if (!file) return json(json::value_t::discarded);
  const auto is_wanted = [](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key || depth != kTopLevel) return true;
    return parsed == "format" || parsed == "files";
  };
  try {
    return json::parse(file, is_wanted, false);
  } catch (const std::ios_base::failure&) {  // it cannot be read
    return json(json::value_t::discarded);
  }
}

std::optional<ListedFile> listed_file(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto name = entry.find("name"), bytes = entry.find("bytes");
  if (name == entry.end() || !name->is_string()) return std::nullopt;
  if (bytes == entry.end() || !bytes->is_number_unsigned()) return std::nullopt;
  if (!is_name_within(name->get_ref<const std::string&>())) return std::nullopt;
  return ListedFile{name->get<std::string>(), bytes->get<std::uint64_t>()};
}

// The folders that a path in a folder leads through: "a" and "a/b" of "a/b/c".
std::vector<std::string> folders_of(const std::string& name) {
  std::vector<std::string> folders;
  for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
    folders.push_back(name.substr(0, at));
  }
  return folders;
}

}  // namespace

bool is_name_within(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view step = name.substr(begin, end - begin);
    if (step.empty() || step == "." || step == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string file_list_end(const std::vector<ListedFile>& files) {
  std::string text = ",\n \"files\": [";
  for (const ListedFile& file : files) {
    const json name = file.name;
    text += (&file == &files.front() ? "\n  {\"name\": " : ",\n  {\"name\": ") +
            name.dump(-1, ' ', false, json::error_handler_t::replace) +
            ", \"bytes\": " + std::to_string(file.bytes) + "}";
  }
  text += files.empty() ? "]" : "\n ]";
  return text.append(kReportEnd);
}

std::optional<std::vector<ListedFile>> listed_files(const std::string& folder) {
  const json manifest = read_list(folder);
  if (!manifest.is_object()) return std::nullopt;
  const auto format = manifest.find("format"), files = manifest.find("files");
  if (format == manifest.end() || !format->is_string()) return std::nullopt;
  if (!format->get_ref<const std::string&>().starts_with(kOurFormats)) return std::nullopt;
  if (files == manifest.end() || !files->is_array()) return std::nullopt;
  std::vector<ListedFile> listed;
  for (const json& entry : *files) {
    auto file = listed_file(entry);
    if (!file) return std::nullopt;
    listed.push_back(*std::move(file));
  }
  return listed;
}

bool is_as_listed(const std::string& folder, const ListedFile& file) {
  for (const std::string& within : folders_of(file.name)) {
    const auto mode = mode_at(folder + "/" + within);
    if (!mode) return true;
    if (!S_ISDIR(*mode)) return false;
  }
  struct stat status = {};
  if (::lstat((folder + "/" + file.name).c_str(), &status) != 0) return errno == ENOENT;
  return S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) == file.bytes;
}

Loaded<std::vector<std::string>> unlisted_entries(const std::string& folder) {
  const auto listed = listed_files(folder);
  if (!listed) return names_in(folder);
  std::map<std::string, std::uint64_t> bytes_of;
  std::set<std::string> folders;  // that hold listed files
  for (const ListedFile& file : *listed) {
    bytes_of.emplace(file.name, file.bytes);
    for (std::string& within : folders_of(file.name)) folders.insert(std::move(within));
  }
  const auto is_ours = [&](const std::string& name) {
    const auto mode = mode_at(folder + "/" + name);
    if (!mode) return errno == ENOENT;  // gone meanwhile
    if (S_ISDIR(*mode)) return folders.contains(name);
    if (name == kManifestName) return S_ISREG(*mode);
    const auto known = bytes_of.find(name);
    return known != bytes_of.end() && is_as_listed(folder, {name, known->second});
  };
  std::vector<std::string> others;
  folders.insert("");  // the folder itself
  for (const std::string& within : folders) {
    const std::string prefix = within.empty() ? "" : within + "/";
    if (!within.empty() && !is_ours(within)) continue;
    const auto names = names_in(folder + "/" + within);
    if (!names) return names.error();
    for (const std::string& entry : *names) {
      if (!is_ours(prefix + entry)) others.push_back(prefix + entry);
    }
  }
  std::ranges::sort(others);
  return others;
}

std::string named_entries(const std::vector<std::string>& names) {
  return capped_list(names, 3, escaped_in_quotes);
}

}  // namespace cleave
