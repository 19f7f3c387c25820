// Temporary: a file or folder on its way to its final name. It stands hidden beside that name and
// is removed when it is not kept. Signal handlers remove those that are there, too: a process that
// is stopped leaves nothing, and one that is killed nothing but a hidden name.
//
//   out/                  what is made                .cleave-4711-0/     where it is made
//
// The paths are a table of the whole process, since a signal handler can be given nothing.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "formats/io/descriptor.h"

namespace cleave {

struct TemporaryFile;

class Temporary {
 public:
  Temporary() = default;
  // A new folder in the folder `parent`; with errno, none when there can be none.
  static Temporary folder_in(const std::string& parent);
  // A new file in the folder `parent`, open for writing; with errno, none when there can be none.
  static TemporaryFile file_in(const std::string& parent);

  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;
  ~Temporary() { remove(); }

  bool is_there() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // Removes it, and all that is in it.
  void remove();
  // It has got another name: what may stand here is no temporary any more.
  void keep();

 private:
  explicit Temporary(std::string path);
  std::string path_;  // empty: none
};

struct TemporaryFile {
  Temporary file;
  Descriptor fd;
};

// Removes all temporaries that are there now: files, and folders of files. It allocates nothing and
// may be called in a signal handler; the process has to end behind it.
void remove_temporaries() noexcept;

// The signals that end a process unless it says otherwise, and that others send: not those of its own
// faults (SIGSEGV, SIGABRT, ...), nor those that this program takes as errors of write() (SIGPIPE,
// SIGXFSZ), nor SIGKILL. In the order of their numbers.
std::vector<int> stopping_signals();

// While it lives, stopping_signals() wait: what is done meanwhile is done
// whole.
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
