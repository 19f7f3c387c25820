#include "cli/shell/completion.h"

#include <span>

namespace cleave {
namespace {

std::string joined(const std::vector<std::string>& items, std::string_view between) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += between;
    text += item;
  }
  return text;
}

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

std::span<const CommandTable> commands_of(const std::vector<CommandTable>& tables) {
  return std::span(tables).subspan(1);
}

// ---- bash ----

// Every name of every option, of one command.
std::string option_words(const CommandTable& table) {
  std::vector<std::string> words;
  for (const OptionEntry& option : table.options) {
    if (!option.is_argument) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return joined(words, " ");
}

void add_bash_values(const CommandTable& table, std::string& script) {
  for (const OptionEntry& option : table.options) {
    if (!option.takes_value()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back("'" + table.name + " " + name + "'");
    }
    script += "    " + joined(patterns, "|") + ")\n";
    script += option.choices.empty() ? "      return ;;\n"
                                     : "      COMPREPLY=($(compgen -W " +
                                           quoted_for_shell(joined(option.choices, " ")) +
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

std::string zsh_value(const OptionEntry& option) {
  if (!option.takes_value()) return {};
  if (option.choices.empty()) return ":" + zsh_help(option.value) + ":_files";
  return ":value:(" + joined(option.choices, " ") + ")";
}

void add_zsh_options(const CommandTable& table, std::string& script) {
  script += "_arguments";
  for (const OptionEntry& option : table.options) {
    if (option.is_argument) continue;
    for (const std::string& name : option.names) {
      script += " \\\n        " + quoted_for_shell("*" + name + "[" + zsh_help(option.help) + "]" +
                                                   zsh_value(option));
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
  for (const OptionEntry& option : table.options) {
    if (option.is_argument) continue;
    script += "complete -c cleave -n " + when;
    for (const std::string& name : option.names) {
      script += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    script += " -d " + quoted_for_shell(option.help);
    if (!option.choices.empty()) {
      script += " -x -a " + quoted_for_shell(joined(option.choices, " "));
    } else if (option.takes_value()) {
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

}  // namespace cleave
