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
  std::string name;  // "root.onnx"; of a file in a folder within: "findings/1/model.onnx"
  std::uint64_t bytes = 0;

  friend bool operator==(const ListedFile&, const ListedFile&) = default;
};

// The JSON object, which must end in "\n}\n", with the field "files" added at the end.
std::string with_file_list(std::string_view json, const std::vector<ListedFile>& files);

// What the folder's manifest lists; nullopt where there is no manifest of this program's, one without
// a list, or with a name that leads out of the folder. Linear in the manifest, which is read but not
// kept.
std::optional<std::vector<ListedFile>> listed_files(const std::string& folder);

// Entries of the folder, sorted, that are not as its manifest lists them: other names, other sizes,
// links, folders of which no file is listed. Of folders that hold listed files, the entries that are
// not. All entries of the folder itself where there is no list; empty where there is no folder.
std::vector<std::string> unlisted_entries(const std::string& folder);

// The entries for a message: the first three, and the number of others.
std::string named_entries(const std::vector<std::string>& names);

}  // namespace cleave
