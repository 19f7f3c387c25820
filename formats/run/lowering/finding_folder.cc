#include "formats/run/lowering/finding_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "core/base/capped_list.h"
#include "core/graph/op_name.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/run/backend/backend_file.h"
#include "formats/run/backend/tensor_files.h"

namespace cleave {

// Steps of writing what repeats a failure:
// 1. copy the scripts that the backend file names below {here} or {cleave}, so that the folder can be moved;
// 2. write backend.json with their new places; other files of the backend get absolute paths;
// 3. write repeat.py and command.sh, which lists these other files.

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kHere = "{here}", kCleave = "{cleave}";
// Modules that the workers in scripts/backends import.
constexpr std::array<std::string_view, 2> kWorkerModules = {"worker.py", "torch_programs.py"};

Status<Error> write_script(const fs::path& path, std::string_view text) {
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
    auto done = write_script(folder_ / "backend.json",
                             json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (done) done = write_script(folder_ / "repeat.py", kRepeatScript);
    if (done) done = write_script(folder_ / "command.sh", command_text());
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

  static void fill(std::string& word, std::string_view placeholder, const std::string& folder) {
    for (std::size_t at = word.find(placeholder); at != word.npos;
         at = word.find(placeholder, at)) {
      word.replace(at, placeholder.size(), folder);
      at += folder.size();
    }
  }

  // The word of a command, for this folder.
  std::string moved(std::string word) {
    const bool is_below = word.rfind(kHere, 0) == 0 || word.rfind(kCleave, 0) == 0;
    fill(word, kHere, files_.backend.folder);
    if (const std::string own = cleave_folder(files_.backend.folder); !own.empty())
      fill(word, kCleave, own);
    const fs::path path(word);
    std::error_code ignored;
    if (!path.is_absolute() || !fs::is_regular_file(path, ignored)) return word;
    if (!is_below || !is_script(path)) {
      needed_.insert(word);
      return word;
    }
    copy(path);
    for (const std::string_view name : kWorkerModules) {
      const fs::path module = path.parent_path() / name;
      if (path.extension() == ".py" && fs::is_regular_file(module, ignored)) copy(module);
    }
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
        "#!/bin/sh\n# Passes the model to " + escaped(files_.title) +
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
    if (files_.pins) text += " --pin";
    if (files_.compares_values) {
      const CompareTolerance& tolerance = files_.backend.tolerance;
      text += " --compare --rtol " + number_text(tolerance.rtol) + " --atol " +
              number_text(tolerance.atol) + " --rounding " + number_text(tolerance.rounding) +
              " --integers " + std::to_string(tolerance.integers);
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

namespace {

constexpr std::size_t kMostNames = 20;

Status<Error> write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{path + ": cannot be written"};
}

std::string op_of(const Graph& graph, NodeId node) {
  return markdown_text(op_text(graph.domain(node), graph.op(node)));
}

std::string node_lines(const Graph& graph, const std::vector<NodeId>& nodes) {
  const auto line = [&](NodeId node) {
    return "- " + markdown_code(graph.node(node).name) + " (" + op_of(graph, node) + ")\n";
  };
  return capped_list(nodes, kMostNames, line, "- and # more\n", "");
}

bool is_of_values(const LowerFinding& finding) { return finding.values.has_value(); }

std::string_view values_text(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::culprit:
      return "This node computes wrong values on right inputs:";
    case ValueVerdict::lower_precision:
      return "These nodes are computed in lower precision than the reference's:";
    case ValueVerdict::tie_order:
      return "Equal values come in another order here:";
    case ValueVerdict::one_step:
      return "A few values are one quantisation step off here, which is rounding:";
    case ValueVerdict::rounding_decides:
      return "Rounding decides an order in these nodes:";
    case ValueVerdict::errors_add_up:
      return "Errors add up in these nodes; none of them is wrong by itself:";
    case ValueVerdict::together:
      return "These nodes compute wrong values together, and not without the first or the last of "
             "them:";
    case ValueVerdict::not_finite:
      return "The reference has NaN or infinity at these nodes, where right computations differ:";
    case ValueVerdict::unresolved:
      return "These nodes compute wrong values; smaller pieces could not be run:";
  }
  return {};
}

std::string_view kind_text(FindingKind kind) {
  switch (kind) {
    case FindingKind::culprit:
      return "This node fails alone:";
    case FindingKind::together:
      return "These nodes fail only together with others of the model:";
    case FindingKind::remedy:
      return "These nodes fail as they are, and pass when cleave changes what is around them:";
    case FindingKind::flaky:
      return "The model failed, and did not fail when it was tried again.";
    case FindingKind::unexplained:
      return "The model fails as a whole; no part of it was found to blame.";
    case FindingKind::left_out:
      return "The compiler leaves each of these nodes out:";
    case FindingKind::size:
      return "The model has too many nodes; other pieces of as many fail, and smaller ones pass.";
  }
  return {};
}

// True when the reference has all that the piece reads and gives: then it can be run.
bool has_data(const FindingFolder& folder, const CutPiece& piece) {
  if (folder.samples.empty()) return false;
  const auto is_known = [&](ValueId value) {
    return folder.samples.front().find(folder.model.graph.value(value).name) != nullptr;
  };
  return std::all_of(piece.inputs.begin(), piece.inputs.end(), is_known) &&
         std::all_of(piece.outputs.begin(), piece.outputs.end(), is_known);
}

std::string readme_text(const FindingFolder& folder, bool has_data) {
  const Finding& finding = folder.finding.finding;
  const Graph& graph = folder.model.graph;
  std::string text = "# " + markdown_text(folder.backend.title(folder.identity)) + ": ";
  const std::string message = first_line(finding.message, 200);
  text += markdown_text(finding.how) + (finding.how.empty() || message.empty() ? "" : ": ") +
          markdown_text(message);
  text += "\n\n";
  const std::string model = fs::path(folder.model.source.path()).filename().string();
  text += "Found by `cleave " + std::string(folder.command) + "` in " + markdown_code(model) +
          ", partition " + markdown_code(folder.finding.part) + ". `model" +
          std::string(piece_ending(folder.model)) + "` is ";
  text +=
      finding.kind == FindingKind::left_out
          ? "the first of the nodes alone"
          : "the smallest piece that was seen to fail: " + std::to_string(finding.within.size()) +
                (finding.within.size() == 1 ? " node" : " nodes");
  text += ".\n\n";
  const bool speaks_of_values = is_of_values(folder.finding) && finding.kind != FindingKind::size;
  text +=
      std::string(speaks_of_values ? values_text(*folder.finding.values) : kind_text(finding.kind));
  text += "\n\n" + node_lines(graph, finding.nodes) + "\n";
  text +=
      "`sh command.sh` repeats it with the backend that `backend.json` describes: exit status 1, ";
  text += is_of_values(folder.finding) ? "and which outputs differ, as long as they do. "
                                       : "and the compiler's words, as long as it fails. ";
  text += "cleave is not needed for that. `stderr.txt` is all that was said.\n";
  if (has_data) {
    text +=
        "`test_data_set_0` holds inputs of the piece, and its outputs as the reference computes "
        "them.\n";
  }
  return text;
}

// Writes the values of the first sample as ONNX's test data.
Status<Error> write_data(const FindingFolder& folder, const CutPiece& piece) {
  const fs::path data = fs::path(folder.path) / "test_data_set_0";
  std::error_code error;
  fs::create_directories(data, error);
  const auto copy = [&](const std::vector<ValueId>& values, const std::string& prefix) {
    for (std::size_t i = 0; i < values.size() && !error; ++i) {
      const std::string_view name = folder.model.graph.value(values[i]).name;
      fs::copy_file(folder.samples.front().find(name)->file,
                    data / (prefix + std::to_string(i) + ".pb"), error);
    }
  };
  copy(piece.inputs, "input_");
  copy(piece.outputs, "output_");
  if (error) return Error{data.string() + ": cannot be written: " + error.message()};
  return Done{};
}

}  // namespace

Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer) {
  std::error_code error;
  fs::create_directories(folder.path, error);
  if (error) return Error{folder.path + ": cannot be made: " + error.message()};
  const Finding& finding = folder.finding.finding;
  const auto& nodes = finding.within.empty() ? finding.nodes : finding.within;
  const bool is_remedy = finding.kind == FindingKind::remedy;
  auto written =
      lowerer.write({.nodes = nodes, .remedies = is_remedy ? Remedies{} : finding.remedies},
                    folder.path + "/model" + std::string(piece_ending(folder.model)));
  if (!written) return written.error();
  const bool can_run = has_data(folder, *written);
  Status<Error> done = can_run ? write_data(folder, *written) : Status<Error>(Done{});
  if (done) done = write_text(folder.path + "/stderr.txt", finding.message + "\n");
  if (done) done = write_text(folder.path + "/README.md", readme_text(folder, can_run));
  const bool compares = can_run && is_of_values(folder.finding);
  if (done) {
    done = write_repeat_files(
        {folder.path, folder.backend, folder.backend.title(folder.identity), can_run, compares,
         finding.remedies.pin_shapes && !is_remedy && folder.model.format() == ModelFormat::pt2});
  }
  return done;
}

}  // namespace cleave
