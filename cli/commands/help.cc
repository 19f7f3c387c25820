// cleave help: chapters of the guide. `cleave help COMMAND` never comes here: cli/options/command_line.cc makes it
// `cleave COMMAND --help`.

#include <algorithm>

#include "cli/commands/command.h"
#include "cli/shell/shell_files.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/guide.h"
#include "formats/report/words/words.h"

namespace cleave {
namespace {

constexpr std::size_t kMostFound = 20;

class HelpCommand : public Command {
 public:
  explicit HelpCommand(const Given& given) : words_(given.texts("TOPIC")) {}

  ExitCode run() override {
    const auto codes = reason_code_names();
    const auto code =
        words_.size() == 1 ? std::ranges::find(codes, lower_case(words_[0])) : codes.end();
    if (code != codes.end()) {
      write_stdout(reason_page(static_cast<ReasonCode>(code - codes.begin() + 1)));
      return ExitCode::done;
    }
    const std::vector<GuideSection> sections = guide_sections(kGuide);
    if (words_.empty()) return print_chapters(sections);
    if (std::string file = shell_file(); !file.empty()) {
      write_stdout(file);
      return ExitCode::done;
    }
    const std::vector<std::size_t> found = find_sections(sections, words_);
    if (found.size() == 1) {
      write_stdout(plain_text(sections[found[0]].text, stdout_columns()));
      return ExitCode::done;
    }
    return found.empty() ? refuse_topic(sections) : print_found(sections, found);
  }

 private:
  // What a shell or `man` reads; "": the words name none.
  std::string shell_file() const {
    if (words_.size() != 1) return {};
    const std::vector<CommandTable> tables = option_tables(built_commands());
    if (words_[0] == "man") return man_page(tables, CLEAVE_VERSION);
    const auto shell = shell_named(words_[0]);
    return shell ? completion_script(*shell, tables) : std::string();
  }

  static ExitCode print_chapters(const std::vector<GuideSection>& sections) {
    Page page;
    page.line(
        "cleave help TOPIC prints a chapter of the guide, cleave COMMAND --help the options.");
    page.line("cleave help man prints the man page; help bash, zsh or fish, completions.");
    page.blank();
    std::size_t column = 0;
    for (const GuideSection& section : sections) {
      if (section.level == 2) column = std::max(column, section.topic.size() + 2);
    }
    for (const GuideSection& section : sections) {
      if (section.level == 2) page.fact(section.topic, section.says, column);
    }
    write_stdout(page.take());
    return ExitCode::done;
  }

  static ExitCode print_found(const std::vector<GuideSection>& sections,
                              const std::vector<std::size_t>& found) {
    Page page;
    page.line("several topics have it:");
    CappedList list(kMostFound);
    for (const std::size_t i : found) {
      if (list.shows_next()) page.line("cleave help " + sections[i].topic, 2);
    }
    page.rest(list, "... and # more");
    write_stdout(page.take());
    return ExitCode::done;
  }

  ExitCode refuse_topic(const std::vector<GuideSection>& sections) const {
    const std::string asked = joined(words_, " ");
    std::vector<std::string_view> names;
    for (const GuideSection& section : sections) names.push_back(section.topic);
    for (const CommandRow& row : command_rows()) names.push_back(row.name);
    std::vector<std::string> notes;
    if (const std::string near = nearest_name(asked, names); !near.empty()) {
      notes.push_back("did you mean \"" + near + "\"?");
    }
    notes.push_back("cleave help lists the topics");
    print_error("the guide says nothing of " + escaped_in_quotes(asked), notes);
    return ExitCode::usage;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_help_command(const Given& given) {
  return std::make_unique<HelpCommand>(given);
}

}  // namespace cleave
