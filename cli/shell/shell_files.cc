#include "cli/shell/shell_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <utility>

#include "core/base/words.h"
#include "formats/base/text.h"
#include "formats/report/words/words.h"

namespace cleave {
namespace {

bool takes_value(const Option& option) { return !option.is_flag() && !option.is_argument(); }

// The valid values, if there are few.
std::vector<std::string_view> choices_of(const Option& option) {
  const bool is_one_of_words = !option.is_argument() && option.value_text().starts_with('{');
  return is_one_of_words ? option.words() : std::vector<std::string_view>();
}

// Whether values begin with a word: "coverage=" of coverage=95%.
bool begins_with_word(const Option& option) {
  return option.value.find('=') != option.value.npos && !option.more.words.empty();
}

// What completions offer, with a blank between: "cpu acc", "coverage= qps="; "": files.
std::string offered_by(const Option& option) {
  if (!begins_with_word(option)) return joined(choices_of(option), " ");
  return joined(option.more.words, "= ") + "=";
}

}  // namespace

std::vector<CommandTable> option_tables(Commands built) {
  std::vector<CommandTable> tables{{of::program, "cleave", std::string(kProgramHelp)}};
  for (const CommandRow& row : command_rows()) {
    if ((row.command & built) == 0) continue;
    tables.push_back(
        {row.command, std::string(row.name), std::string(row.help), row.group, row.examples});
  }
  for (CommandTable& table : tables) {
    for (const Option& option : option_table()) {
      const bool is_built = option.more.shelf == 0 || (option.more.shelf & built) != 0;
      if ((option.in & table.command) != 0 && is_built) table.options.push_back(&option);
    }
  }
  return tables;
}

namespace {

std::span<const CommandTable> commands_of(const std::vector<CommandTable>& tables) {
  return std::span(tables).subspan(1);
}

// ---- help ----

constexpr std::size_t kHelpColumn = 30;  // where texts begin

// "-s,--support [NAME=]LIST"
std::string label_of(const Option& option) {
  const std::string value = option.is_flag() ? "" : option.value_text();
  return std::string(option.names) + (value.empty() ? "" : " " + value);
}

// At least two blanks stand before the text: by these, programs that read help tell it from the label.
void add_entry(Page& page, const std::string& label, std::string_view text) {
  page.fact("  " + label, text, std::max(kHelpColumn, text_columns(label) + 4));
}

// The text up to its first "; ", without what is in brackets; where that is longer than a line, up to a comma.
std::string brief(std::string_view text) {
  std::string first(text.substr(0, text.find("; ")));
  for (std::size_t open = first.find(" ("); open != first.npos; open = first.find(" (")) {
    const std::size_t close = first.find(')', open);
    if (close == first.npos) break;
    first.erase(open, close - open + 1);
  }
  constexpr std::size_t kMost = kTextColumns - kHelpColumn, kLeast = 24;
  if (first.size() <= kMost) return first;
  const std::size_t comma = first.rfind(", ", kMost);
  return comma == first.npos || comma < kLeast ? fitted(first, kMost) : first.substr(0, comma);
}

// Words that do not fit beside the name begin the text: cut, they would hide some.
void add_brief_entry(Page& page, const Option& option) {
  const std::string label = label_of(option);
  const std::string words = option.is_flag() ? "" : std::string(option.value_text());
  if (label.size() <= kHelpColumn - 4 || !words.starts_with('{')) {
    add_entry(page, fitted(label, kHelpColumn - 4), brief(option.help));
    return;
  }
  std::string text;
  for (const char letter : words.substr(1, words.size() - 2)) {
    text += letter == ',' ? ", " : std::string(1, letter);
  }
  text += ": " + brief(option.help);
  add_entry(page, std::string(option.names) + " WORD", fitted(text, kTextColumns - kHelpColumn));
}

std::string text_of(const Option& option, Commands command) {
  std::string text(option.help);
  if (!option.more.by_default.empty()) text += " [" + std::string(option.more.by_default) + "]";
  if ((option.more.required & command) != 0) text += " (required)";
  return text;
}

void add_examples(Page& page, const CommandTable& table) {
  page.line("cleave " + table.name + ": " + table.help);
  page.blank();
  for (const std::string_view line : split_at(table.examples, '\n')) {
    page.add("  " + std::string(line) + "\n");
  }
}

}  // namespace

std::string brief_help(const CommandTable& table) {
  constexpr std::size_t kMost = 12;
  std::vector<const Option*> most_used;
  for (const Option* const option : table.options) {
    if (option->is_argument() || option->more.rank > 0) most_used.push_back(option);
  }
  std::ranges::stable_sort(most_used, {}, [](const Option* option) {
    return option->is_argument() ? 0 : option->more.rank;
  });
  if (most_used.size() > kMost) most_used.resize(kMost);
  Page page;
  add_examples(page, table);
  page.blank();
  for (const Option* const option : most_used) add_brief_entry(page, *option);
  page.blank();
  page.line("--help: all " + std::to_string(table.options.size()) +
            " options. cleave help: the guide.");
  return page.take();
}

std::string full_help(const CommandTable& table) {
  Page page;
  add_examples(page, table);
  const OptionGroup* group = nullptr;
  for (const Option* const option : table.options) {
    if (group == nullptr || *group != option->group) {
      group = &option->group;
      page.heading(group_title(*group));
    }
    add_entry(page, label_of(*option), text_of(*option, table.command));
  }
  return page.take();
}

std::string program_help(const std::vector<CommandTable>& tables) {
  constexpr std::size_t kColumn = 12;
  Page page;
  page.line(tables.front().help);
  page.blank();
  page.fact("  cleave MODEL", "what a model is made of, and what known lists take of it",
            kHelpColumn);
  page.fact("  cleave COMMAND -h, --help", "the options that most use, all options", kHelpColumn);
  std::string_view group;
  for (const CommandTable& table : commands_of(tables)) {
    if (group != table.group) page.heading(group = table.group);
    page.fact("  " + table.name, table.help, kColumn);
  }
  page.heading("Options");
  for (const Option* const option : tables.front().options) {
    add_entry(page, label_of(*option), text_of(*option, of::program));
  }
  return page.take();
}

namespace {

// In single quotes, for all three shells.
std::string quoted_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// ---- bash ----

// Every name of every option, of one command.
std::string option_words(const CommandTable& table) {
  std::vector<std::string_view> words;
  for (const Option* const option : table.options) {
    if (option->is_argument()) continue;
    for (const std::string_view name : split_names(option->names)) words.push_back(name);
  }
  return joined(words, " ");
}

void add_bash_values(const CommandTable& table, std::string& script) {
  for (const Option* const option : table.options) {
    if (!takes_value(*option)) continue;
    std::vector<std::string> patterns;
    for (const std::string_view name : split_names(option->names)) {
      patterns.push_back("'" + table.name + " " + std::string(name) + "'");
    }
    const std::string offered = offered_by(*option);
    script += "    " + joined(patterns, "|") + ")\n";
    if (begins_with_word(*option)) script += "      compopt -o nospace 2> /dev/null\n";
    script += offered.empty() ? "      return ;;\n"
                              : "      COMPREPLY=($(compgen -W " + quoted_for_shell(offered) +
                                    " -- \"$word\"))\n" + "      return ;;\n";
  }
}

std::string bash_script(const std::vector<CommandTable>& tables) {
  std::vector<std::string> names;
  for (const CommandTable& table : commands_of(tables)) names.push_back(table.name);
  std::string script =
      "# bash completion for cleave\n"
      "_cleave() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"${command:-cleave} $before\" in\n";
  for (const CommandTable& table : tables) add_bash_values(table, script);
  script +=
      "  esac\n"
      "  if [[ -n $command && $word != -* ]]; then return; fi\n"
      "  case $command in\n"
      "    '') words=" +
      quoted_for_shell(joined(names, " ") + " " + option_words(tables.front())) + " ;;\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + table.name + ") words=" + quoted_for_shell(option_words(table)) + " ;;\n";
  }
  script +=
      "    *) return ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _cleave cleave\n";
  return script;
}

// ---- zsh ----

// Brackets and colons separate the parts of a specification.
std::string zsh_help(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string zsh_value(const Option& option) {
  if (!takes_value(option)) return {};
  const std::string offered = offered_by(option);
  if (offered.empty()) return ":" + zsh_help(option.value) + ":_files";
  if (begins_with_word(option)) return ":value:{compadd -S \"\" -- " + offered + "}";
  return ":value:(" + offered + ")";
}

void add_zsh_options(const CommandTable& table, std::string& script) {
  script += "_arguments";
  for (const Option* const option : table.options) {
    if (option->is_argument()) continue;
    for (const std::string_view name : split_names(option->names)) {
      script +=
          " \\\n        " + quoted_for_shell("*" + std::string(name) + "[" +
                                             zsh_help(option->help) + "]" + zsh_value(*option));
    }
  }
}

std::string zsh_script(const std::vector<CommandTable>& tables) {
  std::string script =
      "#compdef cleave\n"
      "_cleave() {\n"
      "  local -a commands=(\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + quoted_for_shell(table.name + ":" + zsh_help(table.help)) + "\n";
  }
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + table.name + ")\n      shift words; (( CURRENT-- ))\n      ";
    add_zsh_options(table, script);
    script += " \\\n        '*:file:_files' ;;\n";
  }
  script += "    *)\n      ";
  add_zsh_options(tables.front(), script);
  script +=
      " ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _cleave ]]; then _cleave \"$@\"; else compdef _cleave cleave; fi\n";
  return script;
}

// ---- fish ----

void add_fish_options(const CommandTable& table, const std::string& when, std::string& script) {
  for (const Option* const option : table.options) {
    if (option->is_argument()) continue;
    script += "complete -c cleave -n " + when;
    for (const std::string_view name : split_names(option->names)) {
      const bool is_long = name.starts_with("--");
      script += (is_long ? " -l " : " -s ") + std::string(name.substr(is_long ? 2 : 1));
    }
    script += " -d " + quoted_for_shell(option->help);
    if (const std::string offered = offered_by(*option); !offered.empty()) {
      script += " -x -a " + quoted_for_shell(offered);
    } else if (takes_value(*option)) {
      script += " -r";
    }
    script += "\n";
  }
}

std::string fish_script(const std::vector<CommandTable>& tables) {
  std::string script = "# fish completion for cleave\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "complete -c cleave -n __fish_use_subcommand -f -a " + table.name + " -d " +
              quoted_for_shell(table.help) + "\n";
  }
  add_fish_options(tables.front(), "__fish_use_subcommand", script);
  for (const CommandTable& table : commands_of(tables)) {
    add_fish_options(table, "'__fish_seen_subcommand_from " + table.name + "'", script);
  }
  return script;
}

}  // namespace

std::optional<Shell> shell_named(std::string_view name) {
  if (name == "bash") return Shell::bash;
  if (name == "zsh") return Shell::zsh;
  if (name == "fish") return Shell::fish;
  return std::nullopt;
}

std::string completion_script(Shell shell, const std::vector<CommandTable>& tables) {
  switch (shell) {
    case Shell::bash:
      return bash_script(tables);
    case Shell::zsh:
      return zsh_script(tables);
    case Shell::fish:
      return fish_script(tables);
  }
  return {};
}

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

std::string value_of(const Option& option) {
  std::string text;
  for (const std::string_view choice : choices_of(option)) {
    text += (text.empty() ? "" : kChoiceEnd) + roff(choice);
  }
  return text.empty() ? "\\fI" + roff(option.value) + "\\fR" : text;
}

void add_options(const CommandTable& table, std::string& page) {
  for (const Option* const option : table.options) {
    if (option->more.ends && option->is_flag() && table.command != of::program) continue;
    std::string names;
    for (const std::string_view name : split_names(option->names)) {
      names += (names.empty() ? "" : ", ");
      names += (option->is_argument() ? "\\fI" : "\\fB") + roff(name) + "\\fR";
    }
    if (takes_value(*option)) names += " " + value_of(*option);
    const bool is_required = (option->more.required & table.command) != 0;
    page += ".TP\n" + names + "\n" + roff(option->help) + (is_required ? " (required)" : "") + "\n";
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
  add_options(program, page);
  page += ".SH COMMANDS\n";
  for (const CommandTable& table : commands_of(tables)) {
    page += ".SS " + roff(table.name) + "\n" + roff(table.help) + ".\n";
    add_options(table, page);
  }
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
