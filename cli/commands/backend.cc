// cleave backend: tests a backend file, or lists those that are known by name.
#include <filesystem>

#include "cli/commands/compiler_commands.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/run/backend/backend.h"

namespace cleave {
namespace {

class BackendCommandLine : public Command {
 public:
  explicit BackendCommandLine(const Given& given)
      : action_(given.text("ACTION")), backend_(given.text("BACKEND")) {}

  ExitCode run() override {
    if (action_ == "list") return list();
    if (!backend_.empty()) return check();
    print_error("check needs a backend", {"try: cleave backend list"});
    return ExitCode::usage;
  }

 private:
  // Paths below the working folder are shown from there.
  static std::string from_working_folder(const std::string& path) {
    std::error_code error;
    const auto here = std::filesystem::current_path(error);
    const auto from = std::filesystem::path(path).lexically_proximate(here);
    return error || *from.begin() == ".." ? path : from.string();
  }

  static ExitCode list() {
    std::vector<Backend> backends;
    for (const std::string& path : backend_files()) {
      auto loaded = read_backend_file(path);
      if (!loaded) return refuse(loaded.error());
      print_diagnostics(loaded->warnings);
      loaded->backend.path = from_working_folder(path);
      backends.push_back(std::move(loaded->backend));
    }
    write_stdout(backend_list_text(backends));
    return ExitCode::done;
  }

  ExitCode check() const {
    const auto loaded = find_backend(backend_);
    if (!loaded) return refuse(loaded.error());
    print_diagnostics(loaded->warnings);
    const Temporary folder = Temporary::folder_in(std::filesystem::temp_directory_path().string());
    if (!folder.is_there()) {
      print_error("the folder for temporary files cannot be written", {"set TMPDIR to another"});
      return ExitCode::cannot_write;
    }
    const SelfTest test = test_backend(loaded->backend, {.folder = folder.path()});
    write_stdout(self_test_text(loaded->backend, test));
    return test.passed() ? ExitCode::done : ExitCode::external_failed;
  }

  std::string action_;
  std::string backend_;
};

}  // namespace

std::unique_ptr<Command> make_backend_command(const Given& given) {
  return std::make_unique<BackendCommandLine>(given);
}

}  // namespace cleave
