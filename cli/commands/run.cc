// cleave run and cleave verify: what cleave wrote, run and compared with the model by the Python package beside the
// program. This process becomes Python's, so that terminal, signals and exit code are its own.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "formats/base/text.h"

namespace cleave {
namespace {

// --python, else that of the environment, else python3.
std::string interpreter(const Given& given) {
  if (given.has("--python")) return given.text("--python");
  const char* const environment = std::getenv("VIRTUAL_ENV");
  if (environment == nullptr) return "python3";
  return (std::filesystem::path(environment) / "bin/python3").string();
}

class RunCommand : public Command {
 public:
  explicit RunCommand(const Given& given) : given_(given) {}

  ExitCode run() override {
    const std::string command(name_of(given_.command()));
    const std::string script = find_script("runner.py", "cleave " + command);
    if (script.empty()) return ExitCode::external_failed;
    std::vector<std::string> words = {interpreter(given_), script, command};
    for (const std::string_view argument : {"MODEL", "DIR"}) {
      for (const std::string& text : given_.texts(argument)) words.push_back(text);
    }
    for (const GivenOption& one : given_.options()) {
      if (one.option->is_argument() || one.option->group == OptionGroup::terminal) continue;
      const std::string name(one.option->name());
      if (name == "--python" || name == "--dim") continue;
      if (one.option->is_flag()) words.push_back(name);
      for (const std::string& text : one.texts) words.push_back(name + "=" + text);
    }
    for (const auto& [dim, size] : given_.split.model.bindings.dims) {  // --dim N=1,T=16 has two
      words.push_back("--dim=" + dim + "=" + std::to_string(size));
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
    print_error("cleave " + command + " needs Python: " + escaped_in_quotes(words.front()) + ": " +
                    system_words(errno),
                {"--python PROGRAM says which one"});
    return ExitCode::external_failed;
  }

 private:
  const Given& given_;
};

}  // namespace

std::unique_ptr<Command> make_run_command(const Given& given) {
  return std::make_unique<RunCommand>(given);
}

}  // namespace cleave
