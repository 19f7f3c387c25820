// Temporary: a file or folder before it gets its final name. It is next to its final place under a
// hidden name and is removed unless it is kept. Signal handlers remove existing temporaries, too: a
// process that is stopped leaves none, and a killed one only a hidden name.
//
//   out/                  the result                 .cleave-4711-0/     where it is made
//
// The paths are one table per process, since a signal handler has no arguments to pass them in.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/descriptor.h"

namespace cleave {

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
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted();

 private:
  ::sigset_t before_ = {};
};

}  // namespace cleave
