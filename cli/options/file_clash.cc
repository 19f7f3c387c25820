#include "cli/options/file_clash.h"

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/options/file_option.h"
#include "formats/base/io/input_record.h"
#include "formats/base/io/output_file.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/run/jobs/split_request.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string option;
  std::string path;
};

struct NamedFiles {
  std::vector<NamedFile> inputs, outputs;
};

bool is_update(const CLI::App& command) {
  const CLI::Option* const update = command.get_option_no_throw("--update-baseline");
  return update != nullptr && update->count() > 0;
}

// The baseline is an output if it is updated, and otherwise an input.
FileRole role_now(FileRole role, const CLI::App& command) {
  if (role != FileRole::updated) return role;
  return is_update(command) ? FileRole::output : FileRole::input;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The targets that -s names.
std::vector<std::string> targets_of(const CLI::App& command) {
  const CLI::Option* const support = command.get_option_no_throw("--support");
  ListsRequest lists;
  if (support != nullptr) lists.paths = support->results();
  return lists.targets();
}

// The file of a value: --costs [TARGET=]FILE, -s [NAME=]LIST.
std::string path_of(const CLI::Option& option, const std::string& given,
                    const std::vector<std::string>& targets) {
  if (option.check_lname("costs")) return cost_source_of(given, targets).path;
  if (option.check_lname("support")) return list_source_of(given).path;
  return given;
}

NamedFiles files_of(CLI::App& app, CLI::App& command) {
  NamedFiles files;
  const std::vector<std::string> targets = targets_of(command);
  for (CLI::App* const at : {&app, &command}) {
    for (CLI::Option* const option : at->get_options()) {
      const auto declared = file_role(*option);
      if (!declared) continue;
      const FileRole role = role_now(*declared, command);
      for (const std::string& given : option->results()) {
        const std::string path = path_of(*option, given, targets);
        if (path == "-") continue;  // a standard stream
        auto& of_role = role == FileRole::input ? files.inputs : files.outputs;
        of_role.push_back({option->get_name(), path});
        for (const std::string& name : written_names(*option)) {
          files.outputs.push_back({option->get_name(), path + "/" + name});
        }
        for (const std::string& suffix : suffixes_beside(*option)) {
          files.outputs.push_back({option->get_name(), without_slashes(path) + suffix});
        }
      }
    }
  }
  return files;
}

bool are_same(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) {
    const bool can_clash = fs::is_regular_file(a, error) || fs::is_directory(a, error);
    return can_clash && fs::equivalent(a, b, error);
  }
  const fs::path first = fs::weakly_canonical(fs::absolute(a), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b), error) && !error;
}

std::string clash_with_input(const NamedFile& output, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& input : inputs) {
    if (!are_same(output.path, input.path)) continue;
    return output.option + " " + output.path + " would overwrite an input (" + input.option +
           "): give another file";
  }
  return {};
}

}  // namespace

std::string file_clash(CLI::App& app, CLI::App& command) {
  const NamedFiles files = files_of(app, command);
  for (auto output = files.outputs.begin(); output != files.outputs.end(); ++output) {
    if (std::string clash = clash_with_input(*output, files.inputs); !clash.empty()) return clash;
    for (auto other = files.outputs.begin(); other != output; ++other) {
      if (!are_same(output->path, other->path)) continue;
      return other->option + " and " + output->option + " write the same file, " + output->path +
             ": give each its own";
    }
  }
  return {};
}

Status<Diagnostics> record_inputs(CLI::App& app, CLI::App& command) {
  for (const NamedFile& input : files_of(app, command).inputs) {
    record_input(input.path);
    if (!input.option.starts_with('-') || !is_folder(input.path)) continue;
    if (auto done = record_inputs_below(input.path); !done) return done;
  }
  return Done{};
}

}  // namespace cleave
