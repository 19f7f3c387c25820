// JournalFile: a file of lines to which a command appends while it runs, so that a run that was
// stopped can be continued. The file's name is made up by cleave, so a file of the user's may have
// it: only what a run of the same command wrote is continued, and all else is refused. The first line
// says whose it is, and the version of its lines: {"format":"cleave tune journal","version":2}.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/descriptor.h"

namespace cleave {

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

}  // namespace cleave
