#include "cli/options/output_clash.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

namespace cleave {
namespace {

constexpr std::array<std::string_view, 6> kOutputs = {"--output", "--html",  "--netron",
                                                      "--junit",  "--sarif", "--markdown"};

struct NamedFile {
  std::string option;
  std::string path;
};

bool is_output(const CLI::App& command, const std::string& option) {
  if (option == "--baseline") return command.count("--update-baseline") > 0;
  return std::find(kOutputs.begin(), kOutputs.end(), option) != kOutputs.end();
}

bool is_input(const std::string& type) {
  return type == "FILE" || type == "LIST" || type == "MODEL";
}

bool are_same(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) {
    return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  }
  const fs::path first = fs::weakly_canonical(a, error);
  return !error && first == fs::weakly_canonical(b, error) && !error;
}

}  // namespace

std::string output_clash(const CLI::App& command) {
  std::vector<NamedFile> inputs, outputs;
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    const bool writes = is_output(command, name);
    if (!writes && !is_input(option->get_type_name()) && !option->get_positional()) continue;
    for (const std::string& path : option->results()) {
      (writes ? outputs : inputs).push_back({name, path});
    }
  }
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    for (const NamedFile& input : inputs) {
      if (!are_same(output->path, input.path)) continue;
      return output->option + " " + output->path + " would overwrite what is read (" +
             input.option + "): give another file";
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (!are_same(output->path, other->path)) continue;
      return other->option + " and " + output->option + " write the same file, " + output->path +
             ": give each its own";
    }
  }
  return {};
}

}  // namespace cleave
