#include "cli/options/model_args.h"

#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/refuse_option.h"
#include "cli/options/whole_number.h"
#include "core/base/quantity.h"
#include "core/base/quotes.h"
#include "core/cost/target_spec.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/lists/support/support_file.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace cleave {
namespace {

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0) return std::nullopt;
  return size;
}

// Parses "name=rest", split at the last '=', since names of values may contain one.
std::pair<std::string, std::string> parse_binding(const std::string& option,
                                                  const std::string& text,
                                                  const std::string& example) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    refuse_option(option, in_quotes(text) + " is not of the form " + example);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// A partition's name becomes a name in ONNX and JSON, which only allow UTF-8.
CLI::Validator utf8_text() {
  const auto refusal = [](const std::string& text) {
    if (first_invalid_utf8(text) == text.npos) return std::string();
    return escaped_in_quotes(text) + " is not UTF-8, as names of partitions must be";
  };
  return {refusal, "", "UTF-8"};
}

CLI::Option* add_word_setting(CLI::App& app, const SplitSetting& setting, SplitOptions& options) {
  const std::vector<std::string> words(setting.words.begin(), setting.words.end());
  const auto take = [&setting, &options, words](std::size_t at) {
    setting.set(options, words[at]);
  };
  return add_words(app, option_name(setting), words, take, std::string(setting.help));
}

// A setting that is written as text.
CLI::Option* add_text_setting(CLI::App& app, const SplitSetting& setting, SplitOptions& options) {
  const auto take = [&setting, &options](const std::string& text) {
    if (setting.set(options, text)) return;
    refuse_option(option_name(setting), in_quotes(text) + " " + refusal_of(setting));
  };
  CLI::Option* const option =
      app.add_option_function<std::string>(option_name(setting), take, std::string(setting.help));
  if (!setting.placeholder.empty()) option->type_name(std::string(setting.placeholder));
  if (setting.form == SettingForm::name) option->check(utf8_text());
  return option;
}

// The option of a setting, bound to `options`, which holds the default.
CLI::Option* add_setting(CLI::App& app, const SplitSetting& setting, SplitOptions& options) {
  if (setting.form == SettingForm::flag) {
    const auto take = [&setting, &options](std::int64_t) { setting.set(options, true); };
    return app.add_flag_function(option_name(setting), take, std::string(setting.help));
  }
  CLI::Option* const option = setting.form == SettingForm::word
                                  ? add_word_setting(app, setting, options)
                                  : add_text_setting(app, setting, options);
  if (setting.form == SettingForm::other) return option;
  return option->default_str(setting_text(setting.get(options)));
}

}  // namespace

void ModelArgs::add_to(CLI::App& app) {
  add_input_option(app, "MODEL", path,
                   "model file (ONNX, torch.export or native graph JSON), or - for standard input")
      ->required();
  add_bindings_to(app);
}

void ModelArgs::add_bindings_to(CLI::App& app) {
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_dim(text);
         },
         "bind a symbolic dim, e.g. --dim N=8; repeatable")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--input-shape",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_input_shape(text);
         },
         "set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false)
      ->delimiter('\0');
  app.add_option_function<std::vector<std::string>>(
         "--set-input",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             bindings.values.push_back(parse_binding("--set-input", text, "sr=16000"));
           }
         },
         "set the value of an input with one element, e.g. --set-input sr=16000, so that an If or "
         "a shape which it decides is known")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->delimiter('\0');
  add_choice(app, "--infer", bindings.inference,
             {{"off", ShapeInference::off},
              {"file", ShapeInference::file},
              {"full", ShapeInference::full}},
             "types and shapes of an ONNX model: off (declared inputs and outputs only), file "
             "(also its value_info) or full (also what follows from its operators)");
  add_choice(
      app, "--fold", bindings.folding,
      {{"off", Folding::off}, {"report", Folding::report}, {"write", Folding::write}},
      "what is known before an ONNX model runs: report (an If that is decided is replaced by "
      "its branch), write (also nodes whose results are known integers become constants) or "
      "off (every node stays)");
  app.add_option_function<std::vector<std::string>>(
         "--limit",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_limit(text);
         },
         "set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX "
         "model with names that are not UTF-8; repeatable")
      ->type_name("WHAT=N")
      ->allow_extra_args(false);
}

void ModelArgs::add_costs_to(CLI::App& app) {
  const auto add = [this](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) costs.push_back(cost_source_of(text));
  };
  set_file_role(app.add_option_function<std::vector<std::string>>(
                       "--costs", add,
                       "times and shapes of a run: a profile of ONNX Runtime, OpenVINO or "
                       "TensorRT, CSV node,time_us, or cleave.costs; of the CPU, or acc=FILE of "
                       "the accelerator; repeatable")
                    ->type_name("[TARGET=]FILE")
                    ->allow_extra_args(false),
                FileRole::input);
}

void ModelArgs::add_limit(const std::string& text) {
  if (const auto set = set_limit(limits, text); !set) refuse_option("--limit", set.error());
}

void ModelArgs::add_dim(const std::string& text) {
  const auto [name, size_text] = parse_binding("--dim", text, "N=8");
  const auto size = parse_size(size_text);
  if (!size) refuse_option("--dim", in_quotes(size_text) + " is not a size: give a whole number");
  bindings.dims.emplace_back(name, *size);
}

void ModelArgs::add_input_shape(const std::string& text) {
  const auto [name, dims_text] = parse_binding("--input-shape", text, "x=1,3,224,224");
  std::vector<std::int64_t> dims;
  std::string_view rest = dims_text;
  while (!dims_text.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view dim = rest.substr(0, comma);
    const auto size = dim == "?" ? std::optional<std::int64_t>(-1) : parse_size(dim);
    if (!size) {
      refuse_option("--input-shape", "\"" + std::string(dim) + "\" is not a size: give whole " +
                                         "numbers between commas, or ? for an open dim");
    }
    dims.push_back(*size);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  bindings.inputs.emplace_back(name, std::move(dims));
}

void SupportArgs::add_to(CLI::App& app, bool required) {
  auto* const option =
      app.add_option_function<std::vector<std::string>>(
             "-s,--support", [this](const std::vector<std::string>& given) { take(given); },
             "support list: JSON, plain text or ONNX Runtime config; repeatable: a node is "
             "supported when any list accepts it")
          ->type_name("LIST")
          ->allow_extra_args(false);
  set_file_role(option, FileRole::input);
  if (required) option->required();
  app.add_option("--deny", deny,
                 "keep an op or a node on the CPU, whatever the lists say: a name or a glob; "
                 "repeatable")
      ->type_name("NODE|OP")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("names no node: the text is empty") : std::string();
          },
          ""));
  add_input_option(app, "--verdicts", verdicts,
                   "JSON or CSV that decides single nodes and overrides all rules: node, true or "
                   "false, why; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--all-of", all_of, "a node must be accepted by every list, not by any of them");
}

void SupportArgs::take(const std::vector<std::string>& given) {
  if (given.size() > kMostSupportLists) {
    refuse_option("--support", count_text(given.size()) + " lists are too many: at most " +
                                   count_text(kMostSupportLists) +
                                   " are read at once; join some into one file");
  }
  paths = given;
}

void SplitArgs::add_to(CLI::App& app) {
  for (const SplitSetting& setting : split_settings()) {
    CLI::Option* const option = add_setting(app, setting, options);
    if (!setting.needs.empty()) option->needs(app.get_option(std::string(setting.needs)));
  }
  app.add_option_function<std::vector<std::string>>(
         "--target",
         [this](const std::vector<std::string>& given) {
           for (const std::string& text : given) set_target(text);
         },
         "numbers of a device, such as acc:launch=100us,flops=4TFLOP/s or cpu:bandwidth=50GB/s "
         "(samples/README.md); repeatable")
      ->type_name("TARGET:NUMBERS")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--pcie-bw", [this](const std::string& text) { set_link(text); },
         "link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16")
      ->type_name("BANDWIDTH");
}

void SplitArgs::add_require_to(CLI::App& app) {
  app.add_option("--require", require,
                 "node (a name or glob) or op that --place cost leaves on the accelerator; "
                 "repeatable")
      ->type_name("NODE|OP")
      ->allow_extra_args(false);
}

void SplitArgs::set_target(const std::string& text) {
  const auto spec = parse_target(text);
  if (!spec) refuse_option("--target", spec.error().message);
  targets.push_back(*spec);
  if (spec->link) link = spec->link;
}

void SplitArgs::set_link(const std::string& text) {
  link = parse_link(text);
  if (link) return;
  refuse_option("--pcie-bw", in_quotes(text) + bandwidth_refusal(text));
}

}  // namespace cleave
