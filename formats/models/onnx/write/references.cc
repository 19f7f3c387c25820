#include "formats/models/onnx/write/references.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

// The path with all links resolved; unchanged when it cannot be looked up.
fs::path real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path(path) : real;
}

// By file: whether it contains a weight that is referred to.
std::vector<bool> sources_needed(const LoadedModel& model, const OnnxSource& source) {
  std::vector<bool> needed(source.files().size(), false);
  for (std::uint32_t i = 0; i < model.onnx()->graph.initializers.size(); ++i) {
    const auto& elements = source.elements(i);
    if (elements && elements->length > kSmallReference) needed[elements->source] = true;
  }
  return needed;
}

// The file's path relative to the folder; nullopt when it is outside.
std::optional<std::string> path_within(const fs::path& folder, const fs::path& file) {
  const fs::path within = file.lexically_relative(folder);
  if (within.empty() || *within.begin() == "..") return std::nullopt;
  return within.generic_string();
}

}  // namespace

Result<std::vector<std::string>, std::string> onnx_references(const LoadedModel& model,
                                                              const OnnxSource& source,
                                                              const std::string& folder) {
  const std::vector<bool> needed = sources_needed(model, source);
  const fs::path to = real_path(folder);
  std::vector<std::string> references(needed.size());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    if (i == 0 && model.source.path() == "<stdin>") {
      return std::string(
          "weights of a model on standard input are in no file to refer to: give the model as a "
          "file, or leave out --weights reference");
    }
    const fs::path file = real_path(source.files()[i].path);
    const auto within = path_within(to, file);
    if (!within) {
      return "weights are in " + escaped_in_quotes(file.string()) +
             ", outside this folder, and runtimes do not follow references there; with --weights "
             "reference give the model's folder: -o " +
             real_path(model.source.folder()).string();
    }
    references[i] = *within;
  }
  return references;
}

}  // namespace cleave
