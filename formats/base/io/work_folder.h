// WorkFolder: a temporary folder for what compilers read and write, removed at the end. A killed process
// leaves its own: it holds a file that is locked as long as the process lives, so that a later one knows
// it and removes it.
#pragma once

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

}  // namespace cleave
