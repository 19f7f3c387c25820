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

namespace cleave {

inline constexpr std::string_view kManifestName = "manifest.json";

struct ListedFile {
  std::string name;
  std::uint64_t bytes = 0;

  friend bool operator==(const ListedFile&, const ListedFile&) = default;
};

// The JSON object, which must end in "\n}\n", with the field "files" added at the end.
std::string with_file_list(std::string_view json, const std::vector<ListedFile>& files);

// The files in the folder's manifest; nullopt if there is no manifest of this program, or it has no
// list. Linear in the manifest, which is read but not kept.
std::optional<std::vector<ListedFile>> listed_files(const std::string& folder);

// The folder's entries, sorted, that differ from its manifest: other names, other sizes, folders,
// links. All entries if there is no list; empty if there is no folder.
std::vector<std::string> unlisted_entries(const std::string& folder);

// The entries for a message: the first three, and the number of others.
std::string named_entries(const std::vector<std::string>& names);

}  // namespace cleave
