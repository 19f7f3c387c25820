#include "cli/shell/man_page.h"

#include <array>
#include <utility>

namespace cleave {
namespace {

// Text for roff: escapes backslashes and dashes, and prevents accidental control lines.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  if (!escaped.empty() && (escaped.front() == '.' || escaped.front() == '\'')) {
    escaped.insert(0, "\\&");
  }
  return escaped;
}

// Where lines may be broken between choices.
constexpr const char* kChoiceEnd = "|\\:";

std::string value_of(const OptionEntry& option) {
  if (option.choices.empty()) return "\\fI" + roff(option.value) + "\\fR";
  std::string text;
  for (const std::string& choice : option.choices) {
    text += (text.empty() ? "" : kChoiceEnd) + roff(choice);
  }
  return text;
}

void add_option(const OptionEntry& option, std::string& page) {
  page += ".TP\n";
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ");
    names += (option.is_argument ? "\\fI" : "\\fB") + roff(name) + "\\fR";
  }
  if (option.takes_value()) names += " " + value_of(option);
  page += names + "\n" + roff(option.help) + (option.is_required ? " (required)" : "") + "\n";
}

void add_command(const CommandTable& table, std::string& page) {
  page += ".SS " + roff(table.name) + "\n" + roff(table.help) + ".\n";
  for (const OptionEntry& option : table.options) {
    if (option.names.front() != "-h") add_option(option, page);
  }
}

}  // namespace

std::string man_page(const std::vector<CommandTable>& tables, const std::string& version) {
  const CommandTable& program = tables.front();
  std::string page = ".TH CLEAVE 1 \"\" \"cleave " + roff(version) + "\" \"User Commands\"\n";
  page += ".ad l\n";  // a long list of choices cannot be adjusted on both sides
  page += ".SH NAME\ncleave \\- split machine\\-learning model graphs\n";
  page += ".SH SYNOPSIS\n.B cleave\n.I command\n.RI [ options ]\n";
  page += ".SH DESCRIPTION\n" + roff(program.help) + "\n";
  page += ".SH OPTIONS\n";
  for (const OptionEntry& option : program.options) add_option(option, page);
  page += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < tables.size(); ++i) add_command(tables[i], page);
  page += ".SH EXIT STATUS\n";
  static constexpr std::array<std::pair<const char*, const char*>, 8> kStatuses = {{
      {"0", "done"},
      {"1", "a check did not hold, or no stage assignment meets the constraints"},
      {"2", "wrong usage"},
      {"3", "the input is not valid or not readable"},
      {"4", "an output could not be written"},
      {"5", "an external program failed"},
      {"70", "a bug in cleave"},
      {"71", "out of memory"},
  }};
  for (const auto& [status, meaning] : kStatuses) {
    page += std::string(".TP\n.B ") + status + "\n" + roff(meaning) + "\n";
  }
  return page;
}

}  // namespace cleave
