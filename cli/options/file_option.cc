#include "cli/options/file_option.h"

#include <array>
#include <string_view>

namespace cleave {
namespace {

// CLI11's options cannot hold our data, except in the names of their validators.
constexpr std::array<std::pair<FileRole, const char*>, 5> kRoles = {
    {{FileRole::input, "file role: input"},
     {FileRole::output, "file role: output"},
     {FileRole::report, "file role: report"},
     {FileRole::output_folder, "file role: output folder"},
     {FileRole::updated, "file role: updated"}}};

const char* name_of(FileRole role) { return kRoles[static_cast<std::size_t>(role)].second; }

constexpr std::string_view kWrites = "writes: ";
constexpr std::string_view kWritesBeside = "writes beside: ";

CLI::Validator note(const std::string& name) {
  return CLI::Validator([](const std::string&) { return std::string(); }, "", name);
}

// How many validators an option has. CLI11 tells by an exception only, which costs more than all other
// work on an option, and there are hundreds.
struct ValidatorCount : private CLI::Option {
  static int of(const CLI::Option& option) {
    return static_cast<int>((option.*(&ValidatorCount::validators_)).size());
  }
};

std::vector<std::string> notes_of(CLI::Option& option) {
  std::vector<std::string> names;
  for (int i = 0; i < ValidatorCount::of(option); ++i) {
    names.push_back(option.get_validator(i)->get_name());
  }
  return names;
}

std::vector<std::string> notes_after(CLI::Option& option, std::string_view start) {
  std::vector<std::string> names;
  for (const std::string& name : notes_of(option)) {
    if (name.starts_with(start)) names.push_back(name.substr(start.size()));
  }
  return names;
}

}  // namespace

CLI::Option* set_file_role(CLI::Option* option, FileRole role) {
  return option->check(note(name_of(role)));
}

std::optional<FileRole> file_role(CLI::Option& option) {
  for (const std::string& name : notes_of(option)) {
    for (const auto& [role, role_name] : kRoles) {
      if (name == role_name) return role;
    }
  }
  return std::nullopt;
}

CLI::Option* set_written_names(CLI::Option* option, const std::vector<std::string>& names) {
  for (const std::string& name : names) option->check(note(std::string(kWrites) + name));
  return option;
}

std::vector<std::string> written_names(CLI::Option& option) { return notes_after(option, kWrites); }

CLI::Validator written_beside(const std::string& suffix) {
  return note(std::string(kWritesBeside) + suffix);
}

std::vector<std::string> suffixes_beside(CLI::Option& option) {
  return notes_after(option, kWritesBeside);
}

}  // namespace cleave
