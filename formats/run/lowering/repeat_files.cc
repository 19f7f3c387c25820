// Steps:
// 1. copy the scripts that the backend file names below {here}, so that the folder can be moved;
// 2. write backend.json with their new places; other files of the backend get absolute paths;
// 3. write repeat.py and command.sh, which lists these other files.
#include "formats/run/lowering/repeat_files.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "formats/run/lowering/repeat_script.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kHere = "{here}";
// A module that the workers in scripts/backends import.
constexpr std::string_view kWorkerModule = "worker.py";

Status<Error> write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{path.string() + ": cannot be written"};
}

bool is_script(const fs::path& path) {
  return path.extension() == ".py" || path.extension() == ".sh";
}

std::string number_text(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", number);
  return buffer;
}

class RepeatWriter {
 public:
  explicit RepeatWriter(const RepeatFiles& files)
      : files_(files), folder_(files.folder), scripts_(folder_ / "backend") {}

  Status<Error> write() {
    Json json = backend_json();
    for (const char* const part : {"identity", "check", "compile", "run", "serve"}) {
      const auto found = json.find(part);
      if (found == json.end()) continue;
      Json& words = found->is_object() ? (*found)["argv"] : *found;
      for (Json& word : words) {
        if (word.is_string()) word = moved(word.get<std::string>());
      }
    }
    if (error_) return Error{scripts_.string() + ": cannot be written: " + error_.message()};
    auto done = write_text(folder_ / "backend.json",
                           json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (done) done = write_text(folder_ / "repeat.py", kRepeatScript);
    if (done) done = write_text(folder_ / "command.sh", command_text());
    return done;
  }

 private:
  Json backend_json() const {
    const Backend& backend = files_.backend;
    if (!backend.path.empty()) return Json::parse(backend.text);
    Json argv = Json::array();
    for (const std::string& word : backend.compile->argv) argv.push_back(word);
    Json json = {{"format", "cleave.backend"}, {"version", 1}, {"name", backend.name}};
    json["compile"]["argv"] = std::move(argv);
    return json;
  }

  // The word of a command, for this folder.
  std::string moved(std::string word) {
    const bool is_below = word.rfind(kHere, 0) == 0;
    for (std::size_t at = word.find(kHere); at != word.npos; at = word.find(kHere, at)) {
      word.replace(at, kHere.size(), files_.backend.folder);
      at += files_.backend.folder.size();
    }
    const fs::path path(word);
    std::error_code ignored;
    if (!path.is_absolute() || !fs::is_regular_file(path, ignored)) return word;
    if (!is_below || !is_script(path)) {
      needed_.insert(word);
      return word;
    }
    copy(path);
    const fs::path module = path.parent_path() / kWorkerModule;
    if (path.extension() == ".py" && fs::is_regular_file(module, ignored)) copy(module);
    return std::string(kHere) + "/backend/" + path.filename().string();
  }

  void copy(const fs::path& path) {
    std::error_code error;
    fs::create_directories(scripts_, error);
    if (!error) {
      fs::copy_file(path, scripts_ / path.filename(), fs::copy_options::overwrite_existing, error);
    }
    if (error && !error_) error_ = error;
  }

  std::string command_text() const {
    std::string text =
        "#!/bin/sh\n# Passes model.onnx to " + escaped(files_.title) +
        " again, and says what comes of it.\n"
        "# Exit status: 0 it passes, 1 it fails, 2 it cannot be tried here.\n"
        "# Needs: Python 3 with the compiler's package (PYTHON=... names another than "
        "python3)";
    if (files_.has_data) text += ", onnx and numpy";
    text += ".\n";
    for (const std::string& path : needed_) {
      text +=
          "# Needs, and it is not in this folder: " + escaped(path) + " (named in backend.json)\n";
    }
    text += "cd \"$(dirname \"$0\")\" || exit 2\nexec \"${PYTHON:-python3}\" repeat.py";
    if (files_.has_data && !files_.compares_values) text += " --run";
    if (files_.compares_values) {
      const CompareTolerance& tolerance = files_.backend.tolerance;
      text += " --compare --rtol " + number_text(tolerance.rtol) + " --atol " +
              number_text(tolerance.atol) + " --integers " + std::to_string(tolerance.integers);
    }
    return text + "\n";
  }

  const RepeatFiles& files_;
  fs::path folder_, scripts_;
  std::set<std::string> needed_;  // files outside of the folder
  std::error_code error_;
};

}  // namespace

Status<Error> write_repeat_files(const RepeatFiles& files) { return RepeatWriter(files).write(); }

}  // namespace cleave
