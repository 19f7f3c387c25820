#include "formats/run/backend/backend_folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "formats/base/io/named_files.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& path) { return fs::path(path).stem().string(); }

Diagnostics unknown_backend(const std::string& text) {
  Diagnostic fault =
      diagnostic_of(text, "is not a backend file, and no backend of that name is known");
  std::string names;
  for (const std::string& path : backend_files()) {
    names += (names.empty() ? "" : ", ") + name_of(path);
  }
  fault.notes.push_back(names.empty()
                            ? "no folder of backend files is known: set CLEAVE_BACKENDS to "
                              "samples/backends of cleave's sources"
                            : "there are " + names);
  fault.notes.emplace_back("a command is given as NAME='program {model} -o {out}'");
  return {fault};
}

}  // namespace

std::vector<std::string> backend_folders() {
  auto folders = named_file_folders("CLEAVE_BACKENDS", "../share/cleave/samples/backends");
  std::error_code error;
  if (fs::is_directory("samples/backends", error)) folders.emplace_back("samples/backends");
  // The sources, where the program is in build/PRESET below them.
  for (std::string& folder : named_file_folders(nullptr, "../../samples/backends")) {
    const bool is_known = std::any_of(folders.begin(), folders.end(), [&](const std::string& one) {
      return fs::equivalent(one, folder, error);
    });
    if (!is_known) folders.push_back(std::move(folder));
  }
  return folders;
}

std::vector<std::string> backend_files() { return json_files_in(backend_folders()); }

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
  // The list shows the names within the files.
  for (const std::string& path : backend_files()) {
    auto loaded = read_backend_file(path);
    if (loaded && loaded->backend.name == text) return loaded;
  }
  return unknown_backend(text);
}

}  // namespace cleave
