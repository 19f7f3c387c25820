// Options that several commands share, and their reading.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/terminal/terminal.h"
#include "core/base/base.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/pt2.h"
#include "formats/report/drawings/drawings.h"
#include "formats/run/jobs/jobs.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- whole number ----
//
// Checks for number options. For an unsigned variable CLI11 reads "-3" as 2^64 - 3, and its ranges
// accept NaN, which is neither below nor above any number. It also reads "010" as 8 and "0x10" as
// 16.

// Accepts a whole number from 0 to 2^63 - 1, without leading zeros.
inline CLI::Validator whole_number() {
  const auto refusal = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool is_octal = text.size() > 1 && text[0] == '0';
    if (read.ec == std::errc() && read.ptr == end && number >= 0 && !is_octal) return {};
    return "\"" + text + "\" is not a whole number of 0 or more";
  };
  return {refusal, "", "whole number"};
}

// Accepts a number from `least` to `most`, but not NaN or infinities.
inline CLI::Validator finite_number(double least, double most) {
  const auto refusal = [least, most](const std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= least && number <= most) return {};
    std::ostringstream range;
    range << least << " to " << most;
    return "\"" + text + "\" is not a number from " + range.str();
  };
  return {refusal, "", "finite number"};
}

// ---- refuse option ----
//
// Refuses the value of an option: the program prints a usage error and exits with 2.

// `why`: what is wrong and what to write instead, as `"x" is not a size: write 64MiB`.
[[noreturn]] inline void refuse_option(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

// ---- choice ----
//
// Options that take one of a few words.

// Declares `name` as an option that takes one of `words`, whatever its case; `take` gets the word's
// index. The refusal of another word lists the valid ones.
inline CLI::Option* add_words(CLI::App& app, const std::string& name,
                              const std::vector<std::string>& words,
                              const std::function<void(std::size_t)>& take,
                              const std::string& help) {
  const std::string list = CLI::detail::join(words, ",");
  const auto set = [words, list, name, take](const std::string& text) {
    const auto found = std::find(words.begin(), words.end(), CLI::detail::to_lower(text));
    if (found == words.end()) refuse_option(name, in_quotes(text) + " is not one of " + list);
    take(static_cast<std::size_t>(found - words.begin()));
  };
  return app.add_option_function<std::string>(name, set, help)->type_name("{" + list + "}");
}

// Declares `name` as an option that sets `variable` to the value of the word given.
// `variable` must hold one of the values: it is the default that help shows. The refusal of another
// word lists the valid ones.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& variable,
                        std::vector<std::pair<std::string, Value>> choices,
                        const std::string& help) {
  std::vector<std::string> words;
  std::string by_default;
  for (const auto& choice : choices) {
    words.push_back(choice.first);
    if (choice.second == variable) by_default = choice.first;
  }
  const auto take = [&variable, choices](std::size_t at) { variable = choices[at].second; };
  return add_words(app, name, words, take, help)->default_str(by_default);
}

// ---- file option ----
//
// Options that name files. Each is declared with its role, which is stored in the option itself:
// code that reads the command line later (file_clash.h, usage.h, completions) asks the option, so
// there is no separate list of names.
//
//   add_input_option(app, "--map", map_, "which partition each node goes to");
//   add_output_option(app, "--html", html_, "also write the report as one page");
//   add_output_folder_option(app, "-o,--output", output_, "folder to write");

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

// ---- file clash ----
//
// Files that one command line would both read and write, or write twice.

namespace CLI {
class App;
}

namespace cleave {

// What is wrong with the files that the parsed command writes: one is also read, or two are the
// same under any names, or a file is also a folder that is written. "" when all can be written.
// `app` is the program, which has the option --config. Only regular files and folders count:
// /dev/null may be written any number of times.
std::string file_clash(CLI::App& app, CLI::App& command);

// Records the files that the command's options name as inputs (see formats/base/io/input_record.h), and
// every file in a folder that an option names. In a folder that is an argument only the models are read:
// the command finds and records these. Error: what cannot be looked at.
Status<Diagnostics> record_inputs(CLI::App& app, CLI::App& command);

}  // namespace cleave

// ---- layout args ----
//
// How long Graphviz may take to lay drawings out.

namespace CLI {
class App;
}

namespace cleave {

class LayoutArgs {
 public:
  void add_to(CLI::App& app);
  const LayoutLimits& limits() const { return limits_; }

 private:
  LayoutLimits limits_;
};

}  // namespace cleave

// ---- onnx args ----
//
// Options for writing ONNX, torch.export and TensorFlow Lite models.

namespace CLI {
class App;
}

namespace cleave {

// --weights, --annotate
void add_onnx_options(CLI::App& app, OnnxWriteOptions& options);

// --bundle
void add_bundle_option(CLI::App& app, PartFiles& files);

// --lift-state
void add_tflite_options(CLI::App& app, TfliteLift& lift);

}  // namespace cleave

// ---- request args ----
//
// The options of a SplitRequest, the same on all commands that split; and those of the model alone.

namespace CLI {
class App;
}

namespace cleave {

// What the options set must outlive the app.

// MODEL, and the options below. What tables [[model]] of --config say of the model is added when all
// is parsed.
void add_model_options(CLI::App& app, ModelRequest& model);
// Adds what `--dim`, `--input-shape` or `--set-input` is given, such as "N=8". The error does not name
// the option.
Status<> add_binding(ShapeBindings& bindings, std::string_view option, const std::string& text);
// --dim, --input-shape, --set-input, --infer, --fold, --signature, --limit
void add_binding_options(CLI::App& app, ModelRequest& model);
// --costs
void add_costs_option(CLI::App& app, std::vector<CostSource>& costs);

enum class Lists : bool { optional, required };
// Whether a command splits for several targets; where it does not, it refuses them.
enum class Targets : bool { one, several };
// -s/--support, --deny, --verdicts, all repeatable; --all-of, --as. Where they are required, a file of
// verdicts will do.
void add_list_options(CLI::App& app, ListsRequest& lists, Lists need = Lists::required,
                      Targets targets = Targets::one);

// The settings of the split, --target, --pcie-bw; --require where the command has no gate of that
// name.
void add_setting_options(CLI::App& app, SplitRequest& request);
// What is wrong with the name of a node or op; "" if nothing is.
std::string names_no_node(const std::string& text);
void add_require_option(CLI::App& app, std::vector<std::string>& require);

// All of the above: what a command takes that splits one model.
void add_split_options(CLI::App& app, SplitRequest& request, Lists need = Lists::required,
                       Targets targets = Targets::one);

// The options that only say how lists split.
std::vector<std::string> options_of_lists();
// Refuses the first of the options that was given: it says nothing to what is asked for, and `why` says why, as
// "is for a split, and there is no support list". `instead`: what else can be done, as "give -s LIST".
// nullopt when none was given.
std::optional<ExitCode> refuse_idle(const CLI::App& app, const std::vector<std::string>& options,
                                    const std::string& why, const std::string& instead);

}  // namespace cleave

namespace CLI {

// ---- usage ----
//
// The command line around CLI11: spellings it does not know, and its errors in cleave's words.

class App;
class ParseError;

}  // namespace CLI

namespace cleave {

// The arguments in CLI11's order (last first), with underscores in option names turned into dashes:
// the reference system writes --min_acc_module_size.
std::vector<std::string> arguments_for_cli11(std::vector<std::string> arguments);

// What is wrong with the values of the command's options, although each can be parsed: a file or
// folder with an empty name. "" when all are valid.
std::string fault_of_values(CLI::App& command);

// Prints help or version if asked for; otherwise an error on standard error, with the nearest
// option or command, or the line of the configuration file. `arguments` are those of the command
// line. Returns the exit code: 0 or 2.
ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

}  // namespace cleave
