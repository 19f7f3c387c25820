// The list of files in a manifest.json: which files this program wrote into a folder, by name and
// size. --force may remove only those; everything else in the folder is the user's.
//
//   {"format": "cleave.report", ..., "files": [{"name": "root.onnx", "bytes": 5120}, ...]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"

namespace cleave {

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

}  // namespace cleave
