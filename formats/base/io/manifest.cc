#include "formats/base/io/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/base/capped_list.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

using nlohmann::json;

constexpr std::string_view kOurFormats = "cleave.";
constexpr int kTopLevel = 1;  // the depth of the outermost object's keys, as nlohmann counts

// The manifest's format and file list without its other fields; discarded if it is not JSON.
json read_list(const std::string& folder) {
  std::ifstream file(folder + "/" + std::string(kManifestName), std::ios::binary);
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

// False for a name that leads out of the folder. Manifests may be forged, so names are not trusted.
bool is_within(std::string_view name) {
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view step = name.substr(0, end);
    if (step.empty() || step == "." || step == "..") return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

std::optional<ListedFile> listed_file(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto name = entry.find("name"), bytes = entry.find("bytes");
  if (name == entry.end() || !name->is_string()) return std::nullopt;
  if (bytes == entry.end() || !bytes->is_number_unsigned()) return std::nullopt;
  if (!is_within(name->get_ref<const std::string&>())) return std::nullopt;
  return ListedFile{name->get<std::string>(), bytes->get<std::uint64_t>()};
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

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

std::vector<std::string> unlisted_entries(const std::string& folder) {
  const auto listed = listed_files(folder);
  if (!listed) return entries_of(folder);
  std::map<std::string, std::uint64_t> bytes_of;
  std::set<std::string> folders;  // that hold listed files
  for (const ListedFile& file : *listed) {
    bytes_of.emplace(file.name, file.bytes);
    for (std::size_t at = file.name.find('/'); at != std::string::npos;
         at = file.name.find('/', at + 1)) {
      folders.insert(file.name.substr(0, at));
    }
  }
  const auto is_ours = [&](const std::string& name) {
    struct stat status = {};
    if (::lstat((folder + "/" + name).c_str(), &status) != 0) return true;  // gone meanwhile
    if (S_ISDIR(status.st_mode)) return folders.contains(name);
    if (!S_ISREG(status.st_mode)) return false;
    if (name == kManifestName) return true;
    const auto known = bytes_of.find(name);
    return known != bytes_of.end() && known->second == static_cast<std::uint64_t>(status.st_size);
  };
  std::vector<std::string> others;
  folders.insert("");  // the folder itself
  for (const std::string& within : folders) {
    const std::string prefix = within.empty() ? "" : within + "/";
    if (!within.empty() && !is_ours(within)) continue;
    for (const std::string& entry : entries_of(folder + "/" + within)) {
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
