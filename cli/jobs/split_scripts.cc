#include "cli/jobs/split_scripts.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/options/file_option.h"
#include "cli/options/whole_number.h"
#include "cli/terminal/terminal.h"
#include "formats/base/io/child.h"
#include "formats/base/io/input_record.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 24 * 3600;
constexpr int kSkipped = 77;  // a module of Python is missing

// Finds the script in $CLEAVE_SCRIPTS, next to the installed program, or in the sources that the program
// was built in; "" when it is in none of these. Never in the working folder, which may be anybody's.
std::string find_script(const std::string& name) {
  std::vector<fs::path> folders;
  if (const char* const given = std::getenv("CLEAVE_SCRIPTS")) folders.emplace_back(given);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path() / "../share/cleave/scripts");
  if (!error) folders.push_back(program.parent_path() / "../../scripts");  // the sources'
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, error)) return fs::absolute(folder / name).string();
  }
  return {};
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (const char* const name : {"PATH", "HOME", "VIRTUAL_ENV", "LANG", "TMPDIR"}) {
    if (const char* const value = std::getenv(name)) {
      variables.push_back(std::string(name) + "=" + value);
    }
  }
  return variables;
}

// Replaces the hidden folder's path in a message by its final path, since it is renamed at the end.
std::string renamed(std::string text, const std::string& hidden, const std::string& shown) {
  for (std::size_t at = text.find(hidden); at != text.npos; at = text.find(hidden, at)) {
    text.replace(at, hidden.size(), shown);
    at += shown.size();
  }
  return text;
}

ExitCode code_of(int status) {
  switch (status) {
    case 0:
      return ExitCode::done;
    case 1:
      return ExitCode::check_failed;
    case 2:
      return ExitCode::bad_input;
    case 4:
      return ExitCode::cannot_write;
    default:
      return ExitCode::external_failed;
  }
}

}  // namespace

void CaptureArgs::add_to(CLI::App& app) {
  CLI::Option* const wanted = app.add_flag(
      "--capture", is_wanted,
      "also run the parts, in ONNX Runtime or torch, and write what each takes and makes, "
      "as test data in the folder captured; needs Python with onnx, onnxruntime, numpy, "
      "or torch");
  add_input_option(app, "--inputs", inputs,
                   "inputs of the model for --capture: a .npz file or a folder of input_0.pb, ...; "
                   "else drawn at random")
      ->needs(wanted);
  app.add_option("--seed", seed, "of inputs that are drawn for --capture")
      ->check(whole_number())
      ->needs(wanted);
}

namespace {

// Runs the script in Python. On failure to start, why is printed. `option` is what asks for it.
std::optional<ChildResult> run_script(const std::string& option, const std::string& name,
                                      std::vector<std::string> words) {
  const std::string script = find_script(name);
  if (script.empty()) {
    print_error(option + " needs " + name + ", which is not beside the program",
                {"set CLEAVE_SCRIPTS to the folder that has it"});
    return std::nullopt;
  }
  record_input(script);
  words.insert(words.begin(), {"python3", script});
  ChildResult result = run_child({.argv = std::move(words),
                                  .environment = environment(),
                                  .folder = fs::current_path().string(),
                                  .timeout_seconds = kMostSeconds});
  if (result.end != ChildEnd::not_started) return result;
  print_error(option + " needs python3: " + system_words(result.code));
  return std::nullopt;
}

// The absolute path of the folder in which the output is made, as scripts print it.
std::string made_folder(const OutputFolder& folder) {
  return fs::absolute(fs::path(folder.path_of("x")).parent_path()).lexically_normal().string();
}

// What the script said, with the folder's final path.
std::string text_of(const ChildResult& result, const OutputFolder& folder) {
  std::string text = renamed(result.out + result.err, made_folder(folder), folder.final_path());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

ExitCode capture_parts(const OutputFolder& folder, const CaptureArgs& args, ModelFormat format) {
  const bool is_torch = format == ModelFormat::pt2;
  std::vector<std::string> words = {made_folder(folder), "--seed", std::to_string(args.seed)};
  if (!args.inputs.empty()) {
    words.insert(words.end(), {"--inputs", fs::absolute(args.inputs).string()});
  }
  const auto result = run_script("--capture", is_torch ? "capture_torch.py" : "capture_inputs.py",
                                 std::move(words));
  if (!result) return ExitCode::external_failed;
  const ExitCode code =
      result->end == ChildEnd::exited ? code_of(result->code) : ExitCode::external_failed;
  std::string text = text_of(*result, folder);
  if (result->code == kSkipped) {
    text += "\n--capture needs: pip install ";
    text += is_torch ? "torch numpy" : "onnx onnxruntime numpy";
  }
  code == ExitCode::done ? print_info(text) : print_error("the parts are not captured:\n" + text);
  return code;
}

namespace {

// `what` is converted: "the parts", "the model". `path` is where it is.
ExitCode convert(const OutputFolder& folder, const std::string& what, const std::string& path,
                 std::uint32_t opset) {
  const auto result = run_script("--opset", "convert_opset.py", {path, std::to_string(opset)});
  if (!result) return ExitCode::external_failed;
  const bool has_ended = result->end == ChildEnd::exited;
  if (has_ended && result->code == 0) return ExitCode::done;
  const bool is_refused = has_ended && result->code == 1;
  std::vector<std::string> notes;
  if (has_ended && result->code == kSkipped) notes.emplace_back("--opset needs: pip install onnx");
  print_error("ONNX cannot convert " + what + " to opset " + std::to_string(opset) + ": " +
                  text_of(*result, folder),
              notes);
  return is_refused ? ExitCode::bad_input : ExitCode::external_failed;
}

}  // namespace

ExitCode convert_opset(const OutputFolder& folder, std::uint32_t opset) {
  return convert(folder, "the parts", made_folder(folder), opset);
}

ExitCode convert_opset(const OutputFolder& folder, const std::string& file, std::uint32_t opset) {
  return convert(folder, "the model", made_folder(folder) + "/" + file, opset);
}

}  // namespace cleave
