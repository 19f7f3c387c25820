#include "formats/base/io/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <ios>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/capped_list.h"
#include "formats/base/io/folder_walk.h"
#include "formats/base/io/renaming.h"

namespace cleave {
namespace {

using nlohmann::json;

constexpr std::string_view kOurFormats = "cleave.";
constexpr int kTopLevel = 1;  // the depth of the outermost object's keys, as nlohmann counts

// The manifest's format and file list without its other fields; discarded if it is not JSON.
json read_list(const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifestName);
  if (!S_ISREG(mode_at(path).value_or(0))) return json(json::value_t::discarded);
  std::ifstream file(path, std::ios::binary);
  if (!file) return json(json::value_t::discarded);
  const auto is_wanted = [](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key || depth != kTopLevel) return true;
    return parsed == "format" || parsed == "files";
  };
  try {
    return json::parse(file, is_wanted, false);
  } catch (const std::ios_base::failure&) {  // it cannot be read
    return json(json::value_t::discarded);
  }
}

std::optional<ListedFile> listed_file(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto name = entry.find("name"), bytes = entry.find("bytes");
  if (name == entry.end() || !name->is_string()) return std::nullopt;
  if (bytes == entry.end() || !bytes->is_number_unsigned()) return std::nullopt;
  if (!is_name_within(name->get_ref<const std::string&>())) return std::nullopt;
  return ListedFile{name->get<std::string>(), bytes->get<std::uint64_t>()};
}

// The folders that a path in a folder leads through: "a" and "a/b" of "a/b/c".
std::vector<std::string> folders_of(const std::string& name) {
  std::vector<std::string> folders;
  for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
    folders.push_back(name.substr(0, at));
  }
  return folders;
}

}  // namespace

bool is_name_within(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view step = name.substr(begin, end - begin);
    if (step.empty() || step == "." || step == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string file_list_end(const std::vector<ListedFile>& files) {
  std::string text = ",\n \"files\": [";
  for (const ListedFile& file : files) {
    const json name = file.name;
    text += (&file == &files.front() ? "\n  {\"name\": " : ",\n  {\"name\": ") +
            name.dump(-1, ' ', false, json::error_handler_t::replace) +
            ", \"bytes\": " + std::to_string(file.bytes) + "}";
  }
  text += files.empty() ? "]" : "\n ]";
  return text.append(kReportEnd);
}

std::optional<std::vector<ListedFile>> listed_files(const std::string& folder) {
  const json manifest = read_list(folder);
  if (!manifest.is_object()) return std::nullopt;
  const auto format = manifest.find("format"), files = manifest.find("files");
  if (format == manifest.end() || !format->is_string()) return std::nullopt;
  if (!format->get_ref<const std::string&>().starts_with(kOurFormats)) return std::nullopt;
  if (files == manifest.end() || !files->is_array()) return std::nullopt;
  std::vector<ListedFile> listed;
  for (const json& entry : *files) {
    auto file = listed_file(entry);
    if (!file) return std::nullopt;
    listed.push_back(*std::move(file));
  }
  return listed;
}

bool is_as_listed(const std::string& folder, const ListedFile& file) {
  for (const std::string& within : folders_of(file.name)) {
    const auto mode = mode_at(folder + "/" + within);
    if (!mode) return true;
    if (!S_ISDIR(*mode)) return false;
  }
  struct stat status = {};
  if (::lstat((folder + "/" + file.name).c_str(), &status) != 0) return errno == ENOENT;
  return S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) == file.bytes;
}

Loaded<std::vector<std::string>> unlisted_entries(const std::string& folder) {
  const auto listed = listed_files(folder);
  if (!listed) return names_in(folder);
  std::map<std::string, std::uint64_t> bytes_of;
  std::set<std::string> folders;  // that hold listed files
  for (const ListedFile& file : *listed) {
    bytes_of.emplace(file.name, file.bytes);
    for (std::string& within : folders_of(file.name)) folders.insert(std::move(within));
  }
  const auto is_ours = [&](const std::string& name) {
    const auto mode = mode_at(folder + "/" + name);
    if (!mode) return errno == ENOENT;  // gone meanwhile
    if (S_ISDIR(*mode)) return folders.contains(name);
    if (name == kManifestName) return S_ISREG(*mode);
    const auto known = bytes_of.find(name);
    return known != bytes_of.end() && is_as_listed(folder, {name, known->second});
  };
  std::vector<std::string> others;
  folders.insert("");  // the folder itself
  for (const std::string& within : folders) {
    const std::string prefix = within.empty() ? "" : within + "/";
    if (!within.empty() && !is_ours(within)) continue;
    const auto names = names_in(folder + "/" + within);
    if (!names) return names.error();
    for (const std::string& entry : *names) {
      if (!is_ours(prefix + entry)) others.push_back(prefix + entry);
    }
  }
  std::sort(others.begin(), others.end());
  return others;
}

std::string named_entries(const std::vector<std::string>& names) {
  return capped_list(names, 3, escaped_in_quotes);
}

}  // namespace cleave
