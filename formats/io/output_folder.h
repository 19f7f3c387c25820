// Output that appears whole or not at all: files are written into a temporary sibling of the folder
// (or of the file) and renamed into place by commit(). Where files have to stand beside others that
// are there already (weights that they refer to), they are made in a temporary folder within, and
// commit() moves them out one by one, back again when one of them cannot be moved; manifest.json
// goes first and comes last, so that a process that is killed in between leaves no set that looks
// whole. Temporaries go with a process that is stopped, too: see temporary.h.
#pragma once

#include <string>
#include <string_view>

#include "formats/io/temporary.h"
#include "formats/text/diagnostic.h"

namespace cleave {

class OutputFolder {
 public:
  // Makes the temporary sibling of `path`. Refuses when `path` exists, unless `force`; when it is a
  // file; when its parent is not there or cannot be written. Nothing under `path` changes before
  // commit().
  static Loaded<OutputFolder> create(const std::string& path, bool force);

  // Adds files to the folder at `path`, which must be there. commit() refuses to replace a file
  // unless `force`.
  static Loaded<OutputFolder> inside(const std::string& path, bool force);
  // Adds files to the folder that the file at `path` is to be in, which must be there. They are no
  // set: a manifest that is there stays. commit() refuses to replace a file unless `force`.
  static Loaded<OutputFolder> beside(const std::string& path, bool force);

  // Where a file of that name is to be written now. `name` is one path component.
  std::string path_of(std::string_view name) const;
  // The final path.
  const std::string& final_path() const { return final_; }
  // True of a file that stands where commit() removes it, together with the folder it replaces.
  bool would_remove(const std::string& path) const;
  Status<Diagnostics> write(std::string_view name, std::string_view bytes) const;
  // Renames into place; with `force` the old folder is swapped out first and removed last. Refused
  // when an input has changed since it was read. Without a commit nothing is left.
  Status<Diagnostics> commit();

 private:
  OutputFolder() = default;
  Status<Diagnostics> commit_folder();
  Status<Diagnostics> commit_files();
  Status<Diagnostics> check_file(const std::string& name) const;
  std::string final_;
  Temporary temporary_;
  bool force_ = false;
  bool is_inside_ = false;
  bool is_set_ = true;  // the files come with a manifest
};

// Whether write_file() could write the file now: for refusing before the work is done. Leaves
// nothing behind.
Status<Diagnostics> check_may_write(const std::string& path);

// Writes one file whole or not at all. Refused when an input has changed since it was read.
Status<Diagnostics> write_file(const std::string& path, std::string_view bytes);

// True of a folder that may be replaced without loss: nothing is there, or nothing is in it, or a
// manifest of ours tells that it was written by this program.
bool may_be_replaced(const std::string& path);

}  // namespace cleave
