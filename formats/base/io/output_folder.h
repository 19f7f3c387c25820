// Output that appears completely or not at all: files are written into a temporary sibling of the
// folder, which commit() renames. If files must be next to existing ones (weights that they refer
// to), they are written into a temporary folder inside, and commit() moves them out one by one,
// under a journal: see move_journal.h. A process that is stopped removes its temporaries: see
// temporary.h.
//
// commit() only replaces or removes files that a manifest of this program lists and that are not
// inputs. This is checked before the work, and again for what was really replaced.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/file_id.h"
#include "formats/base/io/manifest.h"
#include "formats/base/io/temporary.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/take_text.h"

namespace cleave {

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

}  // namespace cleave
