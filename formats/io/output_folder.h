// Output that appears whole or not at all: files are written into a temporary sibling of the folder
// and renamed into place by commit(). Where files have to be beside others that are there already
// (weights that they refer to), they are made in a temporary folder within, and commit() moves them
// out one by one, under a journal: see move_journal.h. Temporaries go with a process that is stopped,
// too: see temporary.h.
//
// What commit() replaces or removes is what a manifest of this program lists, and no input. That is
// asked before the work and again of what was really replaced.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io/file_id.h"
#include "formats/io/manifest.h"
#include "formats/io/temporary.h"
#include "formats/text/diagnostic.h"

namespace cleave {

class OutputFolder {
 public:
  // Makes the temporary sibling of `path`. Refuses when `path` exists, unless `force`; when it
  // holds anything but what its manifest lists; when it is a file; when its parent is not there or
  // cannot be written. Nothing under `path` changes before commit().
  static Loaded<OutputFolder> create(const std::string& path, bool force);

  // Adds files to the folder at `path`, which must be there. First undoes what a run that was killed
  // left half-done there. commit() refuses to replace a file unless `force`, and then replaces those
  // that the folder's manifest lists, and removes the others on that list.
  static Loaded<OutputFolder> inside(const std::string& path, bool force);
  // Adds files to the folder that the file at `path` is to be in, which must be there. They are no
  // set: a manifest that is there stays. commit() refuses to replace a file unless `force`.
  static Loaded<OutputFolder> beside(const std::string& path, bool force);

  // Where a file of that name is to be written now. `name` is one path component.
  std::string path_of(std::string_view name) const;
  // The final path, as it was given.
  const std::string& final_path() const { return final_; }
  // True of a file in the folder that commit() replaces.
  bool would_remove(const std::string& path) const;
  Status<Diagnostics> write(std::string_view name, std::string_view bytes) const;
  // Writes manifest.json: the JSON object with a list of the files written before, by name and size.
  Status<Diagnostics> write_manifest(std::string_view json) const;
  // Renames into place. Refused when an input has changed since it was read. Without a commit
  // nothing is left.
  Status<Diagnostics> commit();

 private:
  enum class Place { folder, within, beside };

  OutputFolder() = default;
  static Loaded<OutputFolder> open_within(const std::string& path);
  Status<Diagnostics> commit_folder();
  Status<Diagnostics> put_back_unless_ours();
  Status<Diagnostics> commit_files();
  Status<Diagnostics> move_files(const std::vector<std::string>& names,
                                 const std::vector<std::string>& stale) const;
  Status<Diagnostics> check_listed(const std::vector<ListedFile>& listed) const;
  Status<Diagnostics> check_file(const std::string& name, const std::set<std::string>& ours) const;

  std::string final_;               // as given, without slashes at the end
  std::string real_;                // behind links
  std::optional<FileId> replaced_;  // the folder that was there when this was made
  Temporary temporary_;
  bool force_ = false;
  Place place_ = Place::folder;
};

}  // namespace cleave
