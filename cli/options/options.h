// The command line as commands see it: what was given of the options in formats/lists/options.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/terminal.h"
#include "core/base/base.h"
#include "formats/base/faults.h"
#include "formats/lists/options.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/pt2.h"
#include "formats/report/drawings/drawings.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- given ----
//
//   const std::size_t steps = given.count("--steps");
//   if (given.flag("--json")) ...
//
// A name that no row of the table has is a fault of the program.

// A table [[model]] of a configuration file: what --dim, --input-shape and --set-input are for the models of its
// "path".
struct ModelOptions {
  std::string path;  // as the command line names the model, or a glob
  ShapeBindings bindings;
};

// One option, with the words behind it as they were given; a flag has none.
struct GivenOption {
  const Option* option = nullptr;
  std::vector<std::string> texts;
};

// The value of an option is refused: the program prints a usage error and exits with 2.
struct OptionRefused {
  std::string option;
  std::string why;  // what is wrong and what to write instead: `"x" is not a size: write 64MiB`
};
[[noreturn]] void refuse_option(const std::string& option, const std::string& why);

// The value as it is kept: a word in lower case. Throws OptionRefused where its form or its word is wrong.
std::string checked_value(const Option& option, const std::string& text);

class Given {
 public:
  explicit Given(Commands command) : command_(command) {}

  // What the options of the model, the lists and the split say. `split.model` has what the configuration file says of
  // the model.
  SplitRequest split;
  // What the tables [[model]] of the configuration file say.
  std::vector<ModelOptions> models;
  // What follows "to" in `cleave diff`, and what was given before unless it is given anew; null in other commands.
  std::unique_ptr<Given> to;
  enum class AfterTo : std::uint8_t { no_to, nothing, options };
  AfterTo after_to = AfterTo::no_to;

  Commands command() const { return command_; }
  const std::vector<GivenOption>& options() const { return options_; }

  // Whether the option was given.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool flag(std::string_view name) const { return has(name); }
  // All that it was given, in order.
  std::vector<std::string> texts(std::string_view name) const;
  // The last that it was given, else its default, else "".
  std::string text(std::string_view name) const;
  // The same, and "" for "-": standard output.
  std::string file(std::string_view name) const;
  // A number, else its default; nullopt: there is none.
  std::optional<std::uint64_t> if_count(std::string_view name) const;
  std::uint64_t count(std::string_view name) const { return if_count(name).value_or(0); }
  std::optional<double> if_number(std::string_view name) const;
  double number(std::string_view name) const { return if_number(name).value_or(0); }
  // The value of an option of that form.
  // The place of the word among those of the option; nullopt: it was not given, and has no default.
  std::optional<std::size_t> if_word(std::string_view name) const;
  // The words in the option's row must be in the order of the enumerators.
  template <class Value>
  Value word(std::string_view name, Value fallback = Value{}) const {
    const auto place = if_word(name);
    return place ? static_cast<Value>(*place) : fallback;
  }
  // What --limit says of work, in seconds where it is a time: "rounds", "time".
  std::optional<double> limit(std::string_view work) const;
  // The first of these that was given, also as "--limit time"; "": none was.
  std::string first_of(std::span<const std::string_view> names) const;

  // Takes what was given; throws OptionRefused.
  void take(const Option& option, std::vector<std::string> texts);
  // Adds what the configuration file says of the model; it wins over the command's own bindings of the same names.
  void bind(ModelRequest& model) const;

 private:
  const GivenOption* find(std::string_view name) const;

  // Whether the text is a limit of work of this command, which is then kept.
  bool take_limit(const std::string& text);

  Commands command_;
  std::vector<GivenOption> options_;
  std::map<std::string, std::string, std::less<>> limits_;  // of work
};

// What an option of the form KEY=VALUE,... was given, by key; the last wins. Throws OptionRefused where a key is none of
// `keys`.
using NamedTexts = std::map<std::string, std::string, std::less<>>;
NamedTexts named_texts(const Given& given, const std::string& option,
                       std::span<const std::string_view> keys);

// Refuses the first option that was given that only says how lists split, or is one of `more`: it says nothing to what
// is asked for, and `why` says why, as "is for a split, and there is no support list". `instead`: what else can be
// done, as "give -s LIST". nullopt when none was given.
std::optional<ExitCode> refuse_idle(const Given& given, std::span<const std::string_view> more,
                                    const std::string& why, const std::string& instead);

// How long Graphviz may take to lay drawings out: --limit layout-time.
LayoutLimits layout_limits(const Given& given);
// --weights, --annotate
OnnxWriteOptions onnx_options(const Given& given);
// --bundle
PartFiles part_files(const Given& given);
// --lift-state
TfliteLift tflite_lift(const Given& given);

// ---- files that are named ----

// What is wrong with the values, although each can be parsed: a file or folder with an empty name, standard input that
// is read twice, files that are both read and written, or written twice, under any names. "" when all are valid.
// Only regular files and folders clash: /dev/null may be written any number of times.
std::string fault_of_values(const Given& given);

// Records the files that the options name as inputs (see formats/base/files.h), and every file in a folder that an
// option names. In a folder that is an argument only the models are read: the command finds and records these. Error:
// what cannot be looked at.
Status<Diagnostics> record_inputs(const Given& given);

// Paths in tables [[model]] of the configuration file that are no globs, and name no file.
std::vector<std::string> missing_models(const Given& given);

// ---- command line ----

// The text that an option that `ends` prints, of a command or of the program.
using OptionAnswer = std::function<std::string(Commands command, const Option& option)>;

// The arguments, and the file of --config, parsed for one command.
class CommandLine : Pinned {
 public:
  // `built`: the commands that this program has.
  CommandLine(std::vector<std::string> arguments, Commands built, OptionAnswer answer);
  ~CommandLine();

  // Prints help, a version or an error, with the nearest option or command, where there is nothing to run: the error
  // is the exit code then.
  Result<const Given*, ExitCode> parse();
  // Prints what is wrong with a value, and where it is in the configuration file.
  ExitCode refuse(const OptionRefused& refused) const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cleave
