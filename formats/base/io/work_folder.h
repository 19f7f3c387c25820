// WorkFolder: a temporary folder for what compilers read and write, removed at the end. A killed process
// leaves its own: it holds a file that is locked as long as the process lives, so that a later one knows
// it and removes it. Temporary folders without such a file are known by a mark that was kept elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/base/io/descriptor.h"
#include "formats/base/io/temporary.h"

namespace cleave {

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

}  // namespace cleave
