// Files: reading by place, watching inputs, writing outputs whole or not at all.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"

namespace cleave {

// ---- sha256 blocks ----
//
// The compression of SHA-256: what each block of 64 bytes does to the state.

constexpr std::size_t kSha256Block = 64;  // bytes
using Sha256State = std::array<std::uint32_t, 8>;

// Hashes `count` consecutive blocks, by the processor's SHA instructions if it has them.
// Method: FIPS 180-4, 6.2.2.
void add_sha256_blocks(Sha256State& state, const unsigned char* blocks, std::size_t count);

// The same on any processor.
void add_sha256_blocks_portably(Sha256State& state, const unsigned char* blocks, std::size_t count);

// ---- descriptor ----
//
// File descriptors: closed when they go out of scope, written to the last byte.

// Owns a descriptor; -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();
  // Closes now; false, with errno, when the system reports a problem with earlier writes.
  bool close();

 private:
  int fd_;
};

// Writes all bytes, in as many calls as needed; false, with errno, on an error.
bool write_all(int fd, std::string_view bytes);

// "No such file or directory": the system's words for this errno.
std::string system_words(int error);

}  // namespace cleave

// ---- file id ----
//
// FileId: identifies the file that a path leads to, by whatever name.

struct stat;  // the system's

namespace cleave {

// A file on this machine: two paths with the same id are hard links, or links lead them to the same
// file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileId&, const FileId&) = default;
};

FileId file_id(const struct stat& status) noexcept;

// The id of an open file; all zero when the system does not give one.
FileId file_id(int fd) noexcept;

// The id of the file that the path leads to, following links; nullopt if there is none. This
// function and those above may be called in a signal handler.
std::optional<FileId> file_id(const char* path) noexcept;
inline std::optional<FileId> file_id(const std::string& path) noexcept {
  return file_id(path.c_str());
}

}  // namespace cleave

// ---- file stamp ----
//
// FileStamp: tells whether a file has changed, without reading it.

struct stat;  // the system's

namespace cleave {

// The file's size, and when its content last changed.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The stamp of an open file; all zero when the system does not give one. May be called in a signal
// handler.
FileStamp file_stamp(int fd) noexcept;
FileStamp file_stamp(const struct stat& status) noexcept;

// ---- input watch ----
//
// InputWatch: notices when another process changes an input while it is mapped. Its bytes then
// differ from those that were checked: a number may lead out of bounds, and a page may be gone (the
// system sends SIGBUS). So an input is watched while it is mapped, and code that delivers a result
// or reports a crash checks here first.
//
// The watched inputs form one list per process, since a signal handler has no arguments to pass it
// in.

class InputWatch : Pinned {
 public:
  // `bytes` are the mapped bytes of the open file; `path` is its name in messages.
  InputWatch(std::string path, int fd, std::string_view bytes);
  ~InputWatch();

  const FileStamp& stamp() const { return stamp_; }
  bool has_changed() const noexcept { return !(file_stamp(fd_) == stamp_); }

 private:
  friend const char* changed_input() noexcept;
  friend const char* input_at(const void* address) noexcept;

  std::string path_;
  int fd_;
  std::string_view bytes_;
  FileStamp stamp_;
  InputWatch* next_ = nullptr;
};

// The path of an input that changed while it was watched, up to now; nullptr when none did. One
// fstat per watched input. This and the next function may be called in a signal handler.
const char* changed_input() noexcept;

// The message about such an input.
inline constexpr std::string_view kInputChanged =
    "was changed while it was read; run again when it is complete";

// The path of the watched input mapped at the address; nullptr if there is none.
const char* input_at(const void* address) noexcept;

// ---- source file ----
//
// SourceFile: the bytes of an input, mapped into memory and never copied.

class SourceFile {
 public:
  // Readable zero bytes after the end, which the JSON parser needs.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::uint64_t kAnySize = UINT64_MAX;

  // Maps the file read-only. "-" is standard input: unless it is a regular file, it is first copied
  // to an unnamed temporary file, so that fd() works for writers in any case. Errors, with the
  // system's words: cannot be opened, is a folder. Throws std::bad_alloc when there is no address
  // space left. While this object lives, the file is watched for changes: InputWatch, above.
  static Loaded<SourceFile> open(const std::string& path) { return open(path, kAnySize); }
  // Refuses a file with more bytes; reads little more than that from a pipe.
  static Loaded<SourceFile> open(const std::string& path, std::uint64_t most_bytes);
  // For tests: the text as if read from a file called `name`.
  static SourceFile from_text(std::string name, std::string_view text);

  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&& other) noexcept;
  ~SourceFile();

  std::string_view bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  // A descriptor to copy bytes from; stays open while this object lives.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }  // as given; "<stdin>" for "-"
  // The file's stamp when it was opened.
  const FileStamp& stamp() const { return watch_->stamp(); }
  // A path that opens the same bytes again while this object lives, also those of a pipe.
  std::string path_again() const;
  // The folder that relative paths in the file refer to; "." for standard input.
  std::string folder() const;

 private:
  SourceFile() = default;
  // False, with errno, when the system cannot map it.
  bool map();
  std::string path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  int fd_ = -1;
  bool is_spooled_ = false;
  std::unique_ptr<InputWatch> watch_;
};

// ---- byte pieces ----
//
// BytePieces: the contents of a file to be written, laid out before any byte is written. A piece is
// either bytes made here or a range of a source file. So weights are copied from file to file
// without passing through memory, and sizes are known before the lengths that precede them are
// written.
//
//   made "\x3a\x95\x10" | model.onnx [77, 52011) | made "..." | weights.bin [4096, 1052672)

// A file that ranges are copied from. The descriptor must allow pread; its position is not used.
// With fd -1 the file is opened by its path while it is copied: there may be more files than a
// process may have open.
struct ByteSource {
  int fd = -1;
  std::string path;
  FileStamp stamp = {};  // the file's stamp when the ranges were found
};

class BytePieces {
 public:
  static constexpr std::uint32_t kMade = 0xffffffff;
  // Bytes [offset, offset + length) of `source`, which is an index into the list of sources, or
  // kMade for made().
  struct Piece {
    std::uint32_t source;
    std::uint64_t offset;
    std::uint64_t length;

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  void add(std::string_view bytes);  // copied
  void add_range(std::uint32_t source, std::uint64_t offset, std::uint64_t length);
  void append(const BytePieces& tail);
  // For a length that is known only once what it counts is laid out. Copies no bytes but `head`.
  void put_before(std::string_view head);

  // Adjacent ranges are merged; no piece is empty.
  std::span<const Piece> pieces() const { return pieces_; }
  std::string_view made() const { return made_; }
  // Bytes of all pieces; the largest number when that overflows.
  std::uint64_t size() const { return size_; }

  friend bool operator==(const BytePieces&, const BytePieces&) = default;

 private:
  void add_piece(const Piece& piece);
  std::vector<Piece> pieces_;
  std::string made_;
  std::uint64_t size_ = 0;
};

// Where a file is written, and its name in messages.
struct OutputPath {
  std::string path;
  std::string shown;
};

// Called with the number of bytes written since the last call.
using BytesWritten = std::function<void(std::uint64_t bytes)>;

// Creates or truncates the file and writes the pieces in order, through a buffer of 256 KiB; calls
// `written`, unless it is empty, after each buffer. Errors, with the system's words: the output
// cannot be written, a source cannot be read or has changed since its stamp.
Status<Fault> write_pieces(const BytePieces& pieces, std::span<const ByteSource> sources,
                           const OutputPath& output, const BytesWritten& written = {});

// ---- input record ----
//
// The record of files that this process reads: its inputs, and the files that those refer to. Code
// that writes a file checks the record first, so that no output replaces or removes an input under
// any name.
//
// A file is identified by device and inode: a hard link or a symbolic link to an input is that
// input. Where the file system tells when a file was made, that counts, too: the inode of a removed
// file is soon another file's. There is one record per process, as in InputWatch. A program that
// writes files it read earlier calls forget_inputs() in between.

// Adds the file that the path leads to, if it is a regular file and no temporary of this process.
// `shown` is its name in messages.
void record_input(const std::string& path, const std::string& shown);
inline void record_input(const std::string& path) { record_input(path, path); }
// Adds every file in the folder and in folders within, apart from temporaries. Error: what cannot be
// looked at.
Status<Diagnostics> record_inputs_below(const std::string& folder);

// The shown name of the input at the path, following links; "" when it is not an input.
std::string input_at_path(const std::string& path);

// The same for any entry of the folder, at any depth. Links to folders are not entered. Error: what
// cannot be looked at, so that an input may be there.
Loaded<std::string> input_in_folder(const std::string& folder);

void forget_inputs();

// ---- folder walk ----
//
// What a folder holds. Looking may fail, as where a folder within may not be read: then what it hides is
// unknown, and that is an error, never an empty answer.

// The whole of a file that this run may replace; "" when it is none, cannot be read, or has more bytes. Unlike one that
// SourceFile opens, the file is no input of the run, which nothing may replace.
std::string unrecorded_text(const std::string& path, std::uint64_t most_bytes);

// The names in the folder, sorted; none without a folder.
Loaded<std::vector<std::string>> names_in(const std::string& folder);

// The paths of all that is in the folder and in the folders within, beginning with its own. Links to folders
// are not entered. Temporaries are left out, with all in them: what a run is making belongs to nobody else.
Loaded<std::vector<std::string>> paths_below(const std::string& folder);

// ---- side file ----
//
// Files beside the model: lists, maps, tables, baselines. They are small. A limit on their size
// makes reading end even when the path is a device without an end.

inline constexpr std::uint64_t kMostSideBytes = std::uint64_t{256} << 20U;

// Opens the file as SourceFile::open() does; refuses one of more than kMostSideBytes.
inline Loaded<SourceFile> open_side_file(const std::string& path) {
  return SourceFile::open(path, kMostSideBytes);
}

// ---- named files ----
//
// Files that are known by name, such as backends and support lists: JSON files in folders that a
// variable of the environment names, or that were installed beside the program.

// The folders in order of search: those of the variable, divided by colons, then `installed`, a path
// from the program's own folder. Only folders that exist. `variable` may be null.
std::vector<std::string> named_file_folders(const char* variable, std::string_view installed);

// Paths of the *.json files of each folder, sorted by name within it. A folder that cannot be read
// has none.
std::vector<std::string> json_files_in(const std::vector<std::string>& folders);

// ---- temporary ----
//
// Temporary: a file or folder before it gets its final name. It is next to its final place under a
// hidden name and is removed unless it is kept. Signal handlers remove existing temporaries, too: a
// process that is stopped leaves none, and a killed one only a hidden name.
//
//   out/                  the result                 .cleave-4711-0/     where it is made
//
// The paths are one table per process, since a signal handler has no arguments to pass them in.

struct TemporaryFile;

class Temporary {
 public:
  Temporary() = default;
  // Makes a new folder in the folder `parent`; on failure returns none, with errno.
  static Temporary folder_in(const std::string& parent);
  // Makes a new file in the folder `parent`, open for writing; on failure returns none, with errno.
  static TemporaryFile file_in(const std::string& parent);

  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;
  ~Temporary() { remove(); }

  bool is_there() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Removes it with all its contents.
  void remove();
  // It was renamed: this object no longer owns the path.
  void keep();

 private:
  explicit Temporary(std::string path);
  std::string path_;  // empty: none
};

struct TemporaryFile {
  Temporary file;
  Descriptor fd;
};

// True for the name of a temporary file or folder, of any process.
bool is_temporary_name(std::string_view name) noexcept;

// True for a path in a temporary of this process: what it reads there, it has made itself.
bool is_in_own_temporary(const std::string& path);

// Removes all temporaries that exist now: files, and folders up to 8 deep. It allocates nothing, so
// that a signal handler may call it. The process must end after it.
void remove_temporaries() noexcept;

// The signals that end a process by default and that other processes send. Not included: those of
// its own faults (SIGSEGV, SIGABRT, ...), those that this program handles as errors of write()
// (SIGPIPE, SIGXFSZ), and SIGKILL. Ascending.
std::vector<int> stopping_signals();

// Delays stopping_signals() while it lives, so that a sequence of steps is not interrupted.
class Uninterrupted : Pinned {
 public:
  Uninterrupted();
  ~Uninterrupted();

 private:
  ::sigset_t before_ = {};
};

// ---- work folder ----
//
// WorkFolder: a temporary folder for what compilers read and write, removed at the end. A killed process
// leaves its own: it holds a file that is locked as long as the process lives, so that a later one knows
// it and removes it. Temporary folders without such a file are known by a mark that was kept elsewhere.

class WorkFolder {
 public:
  // Makes one in the folder `parent`, and removes those that ended processes of this user left there;
  // nullopt, with errno, when it cannot be made.
  static std::optional<WorkFolder> make_in(const std::string& parent);

  const std::string& path() const { return folder_.path(); }

 private:
  WorkFolder(Temporary folder, Descriptor lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  Temporary folder_;
  Descriptor lock_;  // of kLockName in it
};

// What a temporary folder is known by, so that no other can be taken for it.
struct FolderMark {
  std::string path;
  std::uint64_t device = 0, inode = 0;
};

// nullopt when the folder is not there.
std::optional<FolderMark> mark_of_folder(const std::string& path);
// Removes the folder if it is still the one that was marked, and the process that its name tells has ended.
void remove_left_folder(const FolderMark& mark);

// ---- renaming ----
//
// Renames files and folders to their final names at once, and back again on failure.

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

// ---- move journal ----
//
// MoveJournal: makes a set of files that is moved into a folder appear completely or not at all,
// even when the process is killed between two moves. Before the first move it records which files
// are to be moved and which they replace; it is removed with the temporary folder when all are in
// place. The next run that writes there undoes a journal whose process is gone.
//
//   models/.cleave-4711-0/moves.journal      the journal, in the temporary folder
//   models/.cleave-4711-0/root.onnx          a new file before its move, an old one after it
//   models/root.onnx
//
// Files are identified by device, inode, size and time of change, so that undoing moves no file
// that is not part of the set: the system may reuse the inode of a removed file. The journal
// survives a kill, but not a crash of the system (no file is synced to disk).

class MoveJournal {
 public:
  // Begins a journal for moving `names` from the folder `from`, which is inside `to`, to `to`, and
  // for removing `removed` from `to`. The journal is open and locked while this object lives.
  static Loaded<MoveJournal> begin(const std::string& from, const std::string& to,
                                   std::span<const std::string> names,
                                   std::span<const std::string> removed);

  // False when a file to be replaced or removed was a different file by then; that file is now in
  // `from` under its name, possibly with "-old" appended.
  bool replaced_what_it_says() const;
  // Removes the journal, after the moves are done or undone.
  void end();

  // Identifies a file wherever it is moved.
  struct FileMark {
    FileId id;  // zero: there is no file
    FileStamp stamp;

    friend bool operator==(const FileMark&, const FileMark&) = default;
  };
  // A file of the set.
  struct Move {
    std::string name;
    FileMark old_file, new_file;
  };

 private:
  MoveJournal(Descriptor fd, std::string from, std::vector<Move> moves);
  Descriptor fd_;
  std::string from_;
  std::vector<Move> moves_;
};

// Restores what killed runs left half-done in the folder, and removes their temporary folders.
// Refuses while another run writes there, and when a file cannot be restored.
Status<Diagnostics> undo_unfinished_moves(const std::string& folder);

// ---- output file ----
//
// One file of output, written completely or not at all: through a temporary sibling that is
// renamed.

// Whether write_file() could write the file now, so that a command can refuse before it does the
// work. Leaves no file behind.
Status<Diagnostics> check_may_write(const std::string& path, bool force);

// Writes one file completely or not at all. Refuses when an input has changed since it was read,
// and what check_may_replace() refuses. Devices and pipes are written to.
Status<Diagnostics> write_file(const std::string& path, std::string_view bytes, bool force);

// What is said of an output that is there already.
inline constexpr std::string_view kExists = "exists already; --force replaces it";

// Follows links; false when there is nothing at the path.
bool is_folder(const std::string& path);

// "./m/x.onnx" and "m/x.onnx" are the same.
std::string plain_path(const std::string& path);

// ---- manifest ----
//
// The list of files in a manifest.json: which files this program wrote into a folder, by name and
// size. --force may remove only those; everything else in the folder is the user's.
//
//   {"format": "cleave.report", ..., "files": [{"name": "root.onnx", "bytes": 5120}, ...]}

inline constexpr std::string_view kManifestName = "manifest.json";

struct ListedFile {
  std::string name;  // "root.onnx"; the path for a file in an inner folder: "findings/1/model.onnx"
  std::uint64_t bytes = 0;

  friend bool operator==(const ListedFile&, const ListedFile&) = default;
};

// How the text of a report ends, before its list of files is added.
inline constexpr std::string_view kReportEnd = "\n}\n";

// What a manifest has in place of kReportEnd: the field "files", and the end. A text of its own, so
// that a report of hundreds of megabytes is not copied for it.
std::string file_list_end(const std::vector<ListedFile>& files);

// Whether a name of a manifest is that of something in its folder. Manifests may be forged: each name
// that is read from one is asked about here.
bool is_name_within(std::string_view name);

// The files that the folder's manifest lists. nullopt when the folder has no manifest of this
// program that is a regular file, or one without a list, or one with a name that leads out of the
// folder. Linear in the manifest, which is not kept in memory.
std::optional<std::vector<ListedFile>> listed_files(const std::string& folder);

// The entries of the folder that its manifest does not list as they are, sorted: other names, other
// sizes, links, folders without a listed file. Folders with a listed file are searched too. Without
// a list: all entries of the folder itself; without a folder: none. Error: what cannot be looked at.
Loaded<std::vector<std::string>> unlisted_entries(const std::string& folder);

// False when the name of the file is another one's: one of another size, no regular file, or one
// that a link in place of a folder leads to. True when there is none.
bool is_as_listed(const std::string& folder, const ListedFile& file);

// The entries for a message: the first three, and the number of others.
std::string named_entries(const std::vector<std::string>& names);

// ---- output folder ----
//
// Output that appears completely or not at all: files are written into a temporary sibling of the
// folder, which commit() renames. If files must be next to existing ones (weights that they refer
// to), they are written into a temporary folder inside, and commit() moves them out one by one,
// under a journal ("move journal" above). A process that is stopped removes its temporaries
// ("temporary" above).
//
// commit() only replaces or removes files that a manifest of this program lists and that are not
// inputs. This is checked before the work, and again for what was really replaced.

class OutputFolder {
 public:
  // Makes the temporary sibling of `path`. Refuses when `path` exists, unless `force`; when it
  // contains anything that its manifest does not list; when it is a file; when its parent does not
  // exist or cannot be written. Nothing under `path` changes before commit().
  static Loaded<OutputFolder> create(const std::string& path, bool force);

  // Adds files to the existing folder at `path`. First undoes what a killed run left half-done
  // there. commit() refuses to replace a file unless `force`; it then replaces the files that the
  // folder's manifest lists, and removes the others on that list.
  static Loaded<OutputFolder> inside(const std::string& path, bool force);
  // Adds files to the existing folder of the file at `path`. They are not a set: an existing
  // manifest stays. commit() refuses to replace a file unless `force`.
  static Loaded<OutputFolder> beside(const std::string& path, bool force);

  // The path at which to write a file of that name now. `name` is one path component.
  std::string path_of(std::string_view name) const;
  // The final path as given.
  const std::string& final_path() const { return final_; }
  // True for a file in the folder that commit() replaces.
  bool would_remove(const std::string& path) const;
  Status<Diagnostics> write(std::string_view name, std::string_view bytes) const;
  // Writes manifest.json: the JSON object that `make` makes, which must end in kReportEnd, with a list
  // of the files written before, by name and size.
  Status<Diagnostics> write_manifest(const MakeText& make) const;
  Status<Diagnostics> write_manifest(std::string_view json) const;
  // Renames into place. Refuses when an input has changed since it was read. Without a commit no
  // file remains.
  Status<Diagnostics> commit();

 private:
  enum class Place { folder, within, beside };

  OutputFolder() = default;
  Status<Diagnostics> write_text(std::string_view name, const MakeText& make) const;
  static Loaded<OutputFolder> open_within(const std::string& path);
  Status<Diagnostics> commit_folder();
  Status<Diagnostics> put_back_unless_ours();
  Status<Diagnostics> commit_files();
  Status<Diagnostics> move_files(const std::vector<std::string>& names,
                                 const std::vector<std::string>& stale) const;
  Status<Diagnostics> check_listed(const std::vector<ListedFile>& listed) const;
  Status<Diagnostics> check_file(const std::string& name, const std::set<std::string>& ours) const;

  std::string final_;               // as given, without slashes at the end
  std::string real_;                // with links followed
  std::optional<FileId> replaced_;  // the folder that existed when this was made
  Temporary temporary_;
  bool force_ = false;
  Place place_ = Place::folder;
};

// ---- kept output ----
//
// KeptOutput: the output of a child, of which the first and the last 256 KiB are kept, and between them
// the lines that say what is wrong. A compiler may print gigabytes.

class KeptOutput {
 public:
  static constexpr std::size_t kKept = std::size_t{256} << 10U;  // bytes of each end
  static constexpr std::size_t kLongestLine = 4096;  // bytes of a line that are looked at

  // The first line with "error" or "fatal" is kept, and the first for which `keeps_line` is true.
  explicit KeptOutput(std::function<bool(std::string_view)> keeps_line = {});

  void add(std::string_view bytes);
  // The output, with "[N bytes left out]" where there was more.
  std::string text() const;
  std::uint64_t total() const { return total_; }

 private:
  // The first line of a kind that does not end within the head.
  struct KeptLine {
    std::function<bool(std::string_view)> is_wanted;
    std::string text = {};
    std::uint64_t begin = 0;  // its place in the output
    bool is_found = false;
  };

  void look_for_lines(std::string_view bytes);
  void keep_line();

  std::string head_;
  std::string tail_;  // the last bytes after the head, up to twice kKept
  std::uint64_t total_ = 0;
  std::array<KeptLine, 2> lines_;
  std::string line_;  // the start of the line that is read
  std::uint64_t line_begin_ = 0;
};

// ---- part files ----
//
// The names of the files that partitions are written to: P.onnx or P.json, and P.dot, for a
// partition P.
//
//   name     file
//   a_b      a_b        kept when possible
//   a/b      a_b_2      a file name has no '/', and a_b is taken
//   A_B      A_B_3      on a file system that ignores case it is the same file as a_b
//   root     root_2     root.onnx and root.json are the split's own files

// How the partitions of formats that can share weights in one file are written.
enum class PartFiles : std::uint8_t {
  one_a_part,  // a file for each partition, and one for the root
  bundle       // one file for all, which has their weights once
};

// By partition: its file names without extension. Each is one harmless path component of at most
// 220 bytes, and no two are equal when the case of ASCII letters is ignored. A partition keeps its
// own name when possible, whatever the names before it; the same names give the same stems. Linear.
std::vector<std::string> file_stems(std::span<const std::string> part_names);

// ---- weight files ----
//
// Files beside a model that hold its weights: found by the names that the model has for them, and
// checked before bytes of them are copied.

class WeightFiles {
 public:
  struct File {
    std::uint32_t source;  // in the list of sources
    std::uint64_t size;
  };
  // `folder` is the folder that locations are relative to. New files are appended to `sources`.
  WeightFiles(std::string folder, std::vector<ByteSource>& sources);

  // Refuses a location that is absolute, contains "..", or leads out of the folder through a link;
  // and a file that is not regular.
  Result<File, std::string> find(std::string_view location);

 private:
  Result<File, std::string> add(std::string_view location);

  std::string folder_;
  std::vector<ByteSource>& sources_;
  std::unordered_map<std::string, File> files_;
};

// What is wrong with bytes [offset, offset + length) of the file; empty: they are there.
std::string fault_of_range(const WeightFiles::File& file, std::uint64_t offset,
                           std::uint64_t length);

// ---- journal file ----
//
// JournalFile: a file of lines to which a command appends while it runs, so that a run that was
// stopped can be continued. The file's name is made up by cleave, so a file of the user's may have
// it: only what a run of the same command wrote is continued, and all else is refused. The first line
// says whose it is, and the version of its lines: {"format":"cleave tune journal","version":2}.

class JournalFile {
 public:
  // Opens the file at `path`, or makes it, and locks it until this object goes. `owner` is the command:
  // "cleave tune". Error: it is no regular file, or a link, or also has another name, or is not a
  // journal of this owner and version; another run uses it; or it cannot be written. The file is
  // unchanged then.
  static Result<JournalFile, Error> open(const std::string& path, const std::string& owner,
                                         unsigned version);
  // Removes the file if nothing was written to it.
  ~JournalFile();
  JournalFile(JournalFile&&) = default;
  JournalFile& operator=(JournalFile&&) = delete;

  // The whole lines that earlier runs wrote, after the first. What was cut off after them is gone from
  // the file.
  std::string_view lines() const { return lines_; }
  // Appends whole lines at once. Error: they cannot be written.
  Status<Error> add(std::string_view lines);

 private:
  JournalFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;
  bool is_locked_ = false;  // by this object
  std::string head_;        // the first line, until it is written
  std::string lines_;
};

// Views of the lines, which end with a line break each. `text` must outlive them.
std::vector<std::string_view> lines_of(std::string_view text);

// ---- sha256 ----
//
// SHA-256 (FIPS 180-4), the key of pieces in the cache of verdicts.

class Sha256 {
 public:
  void add(std::string_view bytes);
  // Adds a text and its length, so that sequences of texts are distinguished.
  void add_text(std::string_view text);
  void add_number(std::uint64_t number);
  // 64 hexadecimal digits. Do not add anything afterwards.
  std::string hex() &&;

 private:
  Sha256State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kSha256Block> pending_ = {};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;  // bytes
};

// The hash of one text.
std::string sha256_hex(std::string_view bytes);

}  // namespace cleave
