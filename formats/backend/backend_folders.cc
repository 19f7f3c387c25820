#include "formats/backend/backend_folders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace cleave {
namespace {

namespace fs = std::filesystem;

void add_folder(std::vector<std::string>& folders, const fs::path& path) {
  std::error_code error;
  if (!path.empty() && fs::is_directory(path, error)) folders.push_back(path.lexically_normal());
}

std::string name_of(const std::string& path) { return fs::path(path).stem().string(); }

Diagnostics unknown_backend(const std::string& text) {
  Diagnostic fault =
      diagnostic_of(text, "is not a backend file, and no backend of that name is known");
  std::string names;
  for (const std::string& path : backend_files()) {
    names += (names.empty() ? "" : ", ") + name_of(path);
  }
  fault.notes.push_back(names.empty() ? "no folder of backend files is known: set CLEAVE_BACKENDS"
                                      : "there are " + names);
  fault.notes.emplace_back("a command is given as NAME='program {model} -o {out}'");
  return {fault};
}

}  // namespace

std::vector<std::string> backend_folders() {
  std::vector<std::string> folders;
  if (const char* const given = std::getenv("CLEAVE_BACKENDS")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      add_folder(folders, rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    add_folder(folders, program.parent_path() / "../share/cleave/samples/backends");
  }
  add_folder(folders, "samples/backends");
  return folders;
}

std::vector<std::string> backend_files() {
  std::vector<std::string> files;
  for (const std::string& folder : backend_folders()) {
    std::vector<std::string> here;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") here.push_back(entry.path().string());
    }
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

Loaded<LoadedBackend> find_backend(const std::string& text) {
  if (is_short_backend(text)) {
    auto backend = parse_short_backend(text);
    if (!backend) return Diagnostics{diagnostic_of(text, backend.error())};
    return LoadedBackend{*std::move(backend), {}};
  }
  std::error_code error;
  if (fs::exists(text, error) || text.find('/') != text.npos) return read_backend_file(text);
  for (const std::string& path : backend_files()) {
    if (name_of(path) == text) return read_backend_file(path);
  }
  return unknown_backend(text);
}

}  // namespace cleave
