// Options that name files. Each is declared with its role, which is stored in the option itself:
// code that reads the command line later (file_clash.h, usage.h, completions) asks the option, so
// there is no separate list of names.
//
//   add_input_option(app, "--map", map_, "which partition each node goes to");
//   add_output_option(app, "--html", html_, "also write the report as one page");
//   add_output_folder_option(app, "-o,--output", output_, "folder to write");
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave {

enum class FileRole : std::uint8_t {
  input,          // read
  output,         // written
  report,         // written; "-" is standard output
  output_folder,  // a folder that is made, or that files are written into
  updated,        // read, or written if the command has --update-baseline
};

// Records the role of an option that is declared elsewhere.
CLI::Option* set_file_role(CLI::Option* option, FileRole role);

// The stored role; nullopt for an option that names no file.
std::optional<FileRole> file_role(CLI::Option& option);

// Names of files that are always written into the folder of an output folder's option.
CLI::Option* set_written_names(CLI::Option* option, const std::vector<std::string>& names);
std::vector<std::string> written_names(CLI::Option& option);

// The option's path with this suffix is written, too: add_output_option(...)->check(...).
CLI::Validator written_beside(const std::string& suffix);
std::vector<std::string> suffixes_beside(CLI::Option& option);

// `variable` is a path, or a list of paths.
template <class Paths>
CLI::Option* add_input_option(CLI::App& app, const std::string& name, Paths& variable,
                              const std::string& help) {
  CLI::Option* const option = app.add_option(name, variable, help);
  if (!option->get_positional()) option->type_name("FILE");
  return set_file_role(option, FileRole::input);
}

inline CLI::Option* add_output_option(CLI::App& app, const std::string& name, std::string& path,
                                      const std::string& help) {
  return set_file_role(app.add_option(name, path, help)->type_name("FILE"), FileRole::output);
}

// For output that goes to standard output unless a file is named.
inline CLI::Option* add_report_option(CLI::App& app, const std::string& name, std::string& path,
                                      const std::string& help) {
  return set_file_role(app.add_option(name, path, help)->type_name("FILE"), FileRole::report);
}

// Every command that writes has it, and it means the same in all: see check_may_replace() and OutputFolder.
inline CLI::Option* add_force_option(CLI::App& app, bool& force) {
  return app.add_flag("--force", force, "replace files that exist, and a folder that cleave wrote");
}

inline CLI::Option* add_output_folder_option(CLI::App& app, const std::string& name,
                                             std::string& path, const std::string& help) {
  return set_file_role(app.add_option(name, path, help)->type_name("DIR"), FileRole::output_folder);
}

}  // namespace cleave
