// Options that several commands share.
#include "cli/options/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options/config_file.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/lists/costs.h"
#include "formats/lists/support_file.h"
#include "formats/pt2/pt2.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- file option ----

namespace {

// CLI11's options cannot hold our data, except in the names of their validators.
constexpr std::array<std::pair<FileRole, const char*>, 5> kRoles = {
    {{FileRole::input, "file role: input"},
     {FileRole::output, "file role: output"},
     {FileRole::report, "file role: report"},
     {FileRole::output_folder, "file role: output folder"},
     {FileRole::updated, "file role: updated"}}};

const char* name_of(FileRole role) { return kRoles[static_cast<std::size_t>(role)].second; }

constexpr std::string_view kWrites = "writes: ";
constexpr std::string_view kWritesBeside = "writes beside: ";

CLI::Validator note(const std::string& name) {
  return CLI::Validator([](const std::string&) { return std::string(); }, "", name);
}

// How many validators an option has. CLI11 tells by an exception only, which costs more than all other
// work on an option, and there are hundreds.
struct ValidatorCount : private CLI::Option {
  static int of(const CLI::Option& option) {
    return static_cast<int>((option.*(&ValidatorCount::validators_)).size());
  }
};

std::vector<std::string> notes_of(CLI::Option& option) {
  std::vector<std::string> names;
  for (int i = 0; i < ValidatorCount::of(option); ++i) {
    names.push_back(option.get_validator(i)->get_name());
  }
  return names;
}

std::vector<std::string> notes_after(CLI::Option& option, std::string_view start) {
  std::vector<std::string> names;
  for (const std::string& name : notes_of(option)) {
    if (name.starts_with(start)) names.push_back(name.substr(start.size()));
  }
  return names;
}

}  // namespace

CLI::Option* set_file_role(CLI::Option* option, FileRole role) {
  return option->check(note(name_of(role)));
}

std::optional<FileRole> file_role(CLI::Option& option) {
  for (const std::string& name : notes_of(option)) {
    for (const auto& [role, role_name] : kRoles) {
      if (name == role_name) return role;
    }
  }
  return std::nullopt;
}

CLI::Option* set_written_names(CLI::Option* option, const std::vector<std::string>& names) {
  for (const std::string& name : names) option->check(note(std::string(kWrites) + name));
  return option;
}

std::vector<std::string> written_names(CLI::Option& option) { return notes_after(option, kWrites); }

CLI::Validator written_beside(const std::string& suffix) {
  return note(std::string(kWritesBeside) + suffix);
}

std::vector<std::string> suffixes_beside(CLI::Option& option) {
  return notes_after(option, kWritesBeside);
}

// ---- file clash ----

namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string option;
  std::string path;
};

struct NamedFiles {
  std::vector<NamedFile> inputs, outputs;
};

bool is_update(const CLI::App& command) {
  const CLI::Option* const update = command.get_option_no_throw("--update-baseline");
  return update != nullptr && update->count() > 0;
}

// The baseline is an output if it is updated, and otherwise an input.
FileRole role_now(FileRole role, const CLI::App& command) {
  if (role != FileRole::updated) return role;
  return is_update(command) ? FileRole::output : FileRole::input;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The targets that -s names.
std::vector<std::string> targets_of(const CLI::App& command) {
  const CLI::Option* const support = command.get_option_no_throw("--support");
  ListsRequest lists;
  if (support != nullptr) lists.paths = support->results();
  return lists.targets();
}

// The file of a value: --costs [TARGET=]FILE, -s [NAME=]LIST.
std::string path_of(const CLI::Option& option, const std::string& given,
                    const std::vector<std::string>& targets) {
  if (option.check_lname("costs")) return cost_source_of(given, targets).path;
  if (option.check_lname("support")) return list_source_of(given).path;
  return given;
}

NamedFiles files_of(CLI::App& app, CLI::App& command) {
  NamedFiles files;
  const std::vector<std::string> targets = targets_of(command);
  for (CLI::App* const at : {&app, &command}) {
    for (CLI::Option* const option : at->get_options()) {
      const auto declared = file_role(*option);
      if (!declared) continue;
      const FileRole role = role_now(*declared, command);
      for (const std::string& given : option->results()) {
        const std::string path = path_of(*option, given, targets);
        if (path == "-") continue;  // a standard stream
        auto& of_role = role == FileRole::input ? files.inputs : files.outputs;
        of_role.push_back({option->get_name(), path});
        for (const std::string& name : written_names(*option)) {
          files.outputs.push_back({option->get_name(), path + "/" + name});
        }
        for (const std::string& suffix : suffixes_beside(*option)) {
          files.outputs.push_back({option->get_name(), without_slashes(path) + suffix});
        }
      }
    }
  }
  return files;
}

bool are_same(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) {
    const bool can_clash = fs::is_regular_file(a, error) || fs::is_directory(a, error);
    return can_clash && fs::equivalent(a, b, error);
  }
  const fs::path first = fs::weakly_canonical(fs::absolute(a), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b), error) && !error;
}

std::string clash_with_input(const NamedFile& output, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& input : inputs) {
    if (!are_same(output.path, input.path)) continue;
    return output.option + " " + output.path + " would overwrite an input (" + input.option +
           "): give another file";
  }
  return {};
}

}  // namespace

std::string file_clash(CLI::App& app, CLI::App& command) {
  const NamedFiles files = files_of(app, command);
  for (auto output = files.outputs.begin(); output != files.outputs.end(); ++output) {
    if (std::string clash = clash_with_input(*output, files.inputs); !clash.empty()) return clash;
    for (auto other = files.outputs.begin(); other != output; ++other) {
      if (!are_same(output->path, other->path)) continue;
      return other->option + " and " + output->option + " write the same file, " + output->path +
             ": give each its own";
    }
  }
  return {};
}

Status<Diagnostics> record_inputs(CLI::App& app, CLI::App& command) {
  for (const NamedFile& input : files_of(app, command).inputs) {
    record_input(input.path);
    if (!input.option.starts_with('-') || !is_folder(input.path)) continue;
    if (auto done = record_inputs_below(input.path); !done) return done;
  }
  return Done{};
}

// ---- layout args ----

void LayoutArgs::add_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--layout-timeout",
         [this](const std::string& text) {
           const auto seconds = parse_duration(text);
           if (!seconds || *seconds <= 0) {
             throw CLI::ValidationError(
                 "--layout-timeout", '"' + text + "\" is not a time above 0: write 20s or 500ms");
           }
           limits_.seconds = *seconds;
         },
         "how much processor time Graphviz may take to lay out the drawings [20s]; unfinished "
         "drawings are made coarser or left out, and the report says which")
      ->type_name("TIME");
}

// ---- onnx args ----

void add_onnx_options(CLI::App& app, OnnxWriteOptions& options) {
  add_choice(app, "--weights", options.root_weights,
             {{"external", RootWeights::external},
              {"inline", RootWeights::inlined},
              {"shared", RootWeights::shared},
              {"reference", RootWeights::reference}},
             "where the root has its weights: external (in the partitions' files next to it; the "
             "default of ONNX), inline (the default of torch.export), shared (all files refer to "
             "weights.bin, which has each weight once), or reference (all files refer to the "
             "model's; DIR must be its folder)");
  app.add_flag("--annotate", options.annotate,
               "also write annotated.onnx: the whole model, each node with its partition as "
               "layer_ann, by which ONNX Runtime can place it");
}

void add_bundle_option(CLI::App& app, PartFiles& files) {
  app.add_flag_callback(
      "--bundle", [&files] { files = PartFiles::bundle; },
      "write all partitions into one file, which has their weights once: bundle.pt2 for "
      "torch.export models, bundle.tflite for TensorFlow Lite models");
}

void add_tflite_options(CLI::App& app, TfliteLift& lift) {
  app.add_flag_callback(
      "--lift-state", [&lift] { lift = TfliteLift::all; },
      "variables are inputs and outputs of the partitions, and the caller keeps them, also those "
      "that one partition alone uses (TensorFlow Lite models)");
}

// ---- request args ----

namespace {

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0) return std::nullopt;
  return size;
}

void add_limit(ModelRequest& model, const std::string& text) {
  if (const auto set = set_limit(model.limits, text); !set) refuse_option("--limit", set.error());
}

Status<> add_dim(ShapeBindings& bindings, const std::string& name, const std::string& text) {
  const auto size = parse_size(text);
  if (!size) return Error{in_quotes(text) + " is not a size: give a whole number"};
  bindings.dims.emplace_back(name, *size);
  return Done{};
}

Status<> add_input_shape(ShapeBindings& bindings, const std::string& name,
                         const std::string& text) {
  std::vector<std::int64_t> dims;
  std::string_view rest = text;
  while (!text.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view dim = rest.substr(0, comma);
    const auto size = dim == "?" ? std::optional<std::int64_t>(-1) : parse_size(dim);
    if (!size) {
      return Error{"\"" + std::string(dim) + "\" is not a size: give whole " +
                   "numbers between commas, or ? for an open dim"};
    }
    dims.push_back(*size);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  bindings.inputs.emplace_back(name, std::move(dims));
  return Done{};
}

void add_bindings(ShapeBindings& bindings, const std::string& option,
                  const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (const auto added = add_binding(bindings, option, text); !added) {
      refuse_option(option, added.error().message);
    }
  }
}

// A value for each target, such as npu=3, and one for those that have none of their own.
template <class Set>
void set_for_targets(const std::string& option, const std::vector<std::string>& given,
                     const Set& set) {
  const auto is_for_all = [](const std::string& text) {
    return list_source_of(text).target.empty();
  };
  if (std::count_if(given.begin(), given.end(), is_for_all) > 1) {
    refuse_option(option, "is given twice: give NAME=VALUE for a target");
  }
  for (const std::string& text : given) set(text);
}

// The option of a setting, which holds the default.
CLI::Option* add_setting(CLI::App& app, const SplitSetting& setting, SplitRequest& request) {
  const std::string name = option_name(setting.name);
  const std::string help(setting.help);
  SplitOptions& options = request.options;
  const auto set = [&setting, &request](const std::string& text) {
    const auto done = set_in_request(request, setting.name, text);
    if (!done) refuse_option(option_name(setting.name), done.error().message);
  };
  CLI::Option* option = nullptr;
  if (setting.form == SettingForm::flag) {
    const auto raise = [&setting, &options](std::int64_t) { setting.set(options, true); };
    return app.add_flag_function(name, raise, help);
  }
  if (setting.form == SettingForm::word) {
    const std::vector<std::string> words(setting.words.begin(), setting.words.end());
    option = add_words(
        app, name, words, [set, words](std::size_t at) { set(words[at]); }, help);
  } else {
    if (setting.is_for_targets) {
      option =
          app.add_option_function<std::vector<std::string>>(
                 name, [set, name](const auto& given) { set_for_targets(name, given, set); }, help)
              ->allow_extra_args(false);
    } else {
      option = app.add_option_function<std::string>(name, set, help);
    }
    if (!setting.placeholder.empty()) option->type_name(std::string(setting.placeholder));
  }
  if (setting.form == SettingForm::other) return option;
  return option->default_str(setting_text(setting.get(options)));
}

}  // namespace

void add_model_options(CLI::App& app, ModelRequest& model) {
  add_input_option(
      app, "MODEL", model.path,
      "model file (ONNX, torch.export, TensorFlow Lite or native graph JSON), or - for standard "
      "input")
      ->required();
  add_binding_options(app, model);
  app.final_callback([&app, &model] {
    if (!model.path.empty()) bind_by_config(app, model);
  });
}

Status<> add_binding(ShapeBindings& bindings, std::string_view option, const std::string& text) {
  // Names of values may contain a '='.
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    const std::string_view example = option == "--dim"           ? "N=8"
                                     : option == "--input-shape" ? "x=1,3,224,224"
                                                                 : "sr=16000";
    return Error{in_quotes(text) + " is not of the form " + std::string(example)};
  }
  const std::string name = text.substr(0, equals);
  const std::string rest = text.substr(equals + 1);
  if (option == "--dim") return add_dim(bindings, name, rest);
  if (option == "--input-shape") return add_input_shape(bindings, name, rest);
  bindings.values.emplace_back(name, rest);
  return Done{};
}

void add_binding_options(CLI::App& app, ModelRequest& model) {
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [&model](const std::vector<std::string>& texts) {
           add_bindings(model.bindings, "--dim", texts);
         },
         "bind a symbolic dim, e.g. --dim N=8; repeatable")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--input-shape",
         [&model](const std::vector<std::string>& texts) {
           add_bindings(model.bindings, "--input-shape", texts);
         },
         "set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false)
      ->delimiter('\0');
  app.add_option_function<std::vector<std::string>>(
         "--set-input",
         [&model](const std::vector<std::string>& texts) {
           add_bindings(model.bindings, "--set-input", texts);
         },
         "set the value of an input with one element, e.g. --set-input sr=16000, so that an If or "
         "a shape which it decides is known")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->delimiter('\0');
  add_choice(app, "--infer", model.bindings.inference,
             {{"off", ShapeInference::off},
              {"file", ShapeInference::file},
              {"full", ShapeInference::full}},
             "types and shapes of an ONNX model: off (declared inputs and outputs only), file "
             "(also its value_info) or full (also what follows from its operators)");
  add_choice(
      app, "--fold", model.bindings.folding,
      {{"off", Folding::off}, {"report", Folding::report}, {"write", Folding::write}},
      "what is known before an ONNX model runs: report (an If that is decided is replaced by "
      "its branch), write (also nodes whose results are known integers become constants) or "
      "off (every node stays)");
  app.add_option("--signature", model.bindings.signature,
                 "which signature of a TensorFlow Lite model, or which program of a torch.export "
                 "archive, to "
                 "read, where it has several; without it the first one with nodes, or the program "
                 "\"model\"")
      ->type_name("KEY");
  set_file_role(
      app.add_option_function<std::string>(
             "--op-schemas",
             [](const std::string& path) {
               const auto stated = state_torch_operators(path);
               if (!stated)
                 refuse_option("--op-schemas", format_diagnostic(stated.error().front()));
             },
             "what operators of your own write, as torch prints their schemas, one a line "
             "(torch.export models)")
          ->type_name("FILE"),
      FileRole::input);
  app.add_option_function<std::vector<std::string>>(
         "--limit",
         [&model](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_limit(model, text);
         },
         "set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX "
         "model with names that are not UTF-8; repeatable")
      ->type_name("WHAT=N")
      ->allow_extra_args(false);
}

void add_costs_option(CLI::App& app, std::vector<CostSource>& costs) {
  const auto add = [&costs](const std::vector<std::string>& texts) {
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

std::string names_no_node(const std::string& text) {
  return text.empty() ? "names no node: the text is empty" : "";
}

void add_list_options(CLI::App& app, ListsRequest& lists, Lists need, Targets targets) {
  const auto take = [&app, &lists, targets](const std::vector<std::string>& given) {
    if (given.size() > kMostSupportLists) {
      refuse_option("--support", count_text(given.size()) + " lists are too many: at most " +
                                     count_text(kMostSupportLists) +
                                     " are read at once; join some into one file");
    }
    lists.paths = given;
    if (const auto fine = check_targets(lists); !fine) {
      refuse_option("--support", fine.error().message + ": " + fine.error().notes.front());
    }
    const std::vector<std::string> names = lists.targets();
    if (targets == Targets::one && names.size() > 1) {
      refuse_option("--support", "cleave " + app.get_name() + " is for one target, and " +
                                     in_quotes(names[0]) + " and " + in_quotes(names[1]) +
                                     " are two: run it for each");
    }
  };
  CLI::Option* const support =
      app.add_option_function<std::vector<std::string>>(
             "-s,--support", take,
             "support list: JSON, plain text or ONNX Runtime config; repeatable: a node is "
             "supported when any list accepts it; with NAME=, a list of that target")
          ->type_name("[NAME=]LIST")
          ->allow_extra_args(false);
  set_file_role(support, FileRole::input);
  if (need == Lists::required) support->required();
  app.add_option("--deny", lists.deny,
                 "keep an op or a node on the CPU, whatever the lists say: a name or a glob; "
                 "repeatable")
      ->type_name("NODE|OP")
      ->allow_extra_args(false)
      ->check(CLI::Validator(names_no_node, ""));
  add_input_option(app, "--verdicts", lists.verdicts,
                   "JSON or CSV that decides single nodes and overrides all rules: node, true or "
                   "false, why; repeatable")
      ->allow_extra_args(false)
      ->each([support](const std::string&) { support->required(false); });
  app.add_flag("--all-of", lists.all_of,
               "a node must be accepted by every list, not by any of them");
  const std::vector<std::string> views = {"model", "onnxruntime"};
  add_words(
      app, "--as", views,
      [&lists, views](std::size_t at) { lists.as = parse_graph_view(views[at]); },
      "judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a "
      "provider; without it as each list says");
}

void add_setting_options(CLI::App& app, SplitRequest& request) {
  for (const SplitSetting& setting : split_settings()) {
    CLI::Option* const option = add_setting(app, setting, request);
    if (!setting.needs.empty()) option->needs(app.get_option(std::string(setting.needs)));
  }
  const auto take = [&request](const std::string& option, const std::string& name) {
    return [&request, option, name](const std::string& text) {
      if (const auto set = set_in_request(request, name, text); !set) {
        refuse_option(option, set.error().message);
      }
    };
  };
  app.add_option_function<std::vector<std::string>>(
         "--target",
         [set = take("--target", "target")](const std::vector<std::string>& given) {
           for (const std::string& text : given) set(text);
         },
         "numbers of a device, such as acc:launch=100us,flops=4TFLOP/s or cpu:bandwidth=50GB/s "
         "(samples/README.md); repeatable")
      ->type_name("TARGET:NUMBERS")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--prefix",
         [set = take("--prefix", "prefix")](const std::vector<std::string>& given) {
           for (const std::string& text : given) set(text);
         },
         "name prefix of the partitions of one of several targets, such as npu=_npu_; repeatable")
      ->type_name("NAME=PREFIX")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "--link",
         [set = take("--link", "link")](const std::vector<std::string>& given) {
           for (const std::string& text : given) set(text);
         },
         "a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared "
         "where they share their memory; repeatable")
      ->type_name("A-B=BANDWIDTH")
      ->allow_extra_args(false);
  const std::vector<std::string> switches = {"off", "on"};
  add_words(
      app, "--overlap", switches,
      [set = take("--overlap", "overlap"), switches](std::size_t at) { set(switches[at]); },
      "also report the time in which partitions of several targets run at the same time: off "
      "(default) or on");
  app.add_option_function<std::string>(
         "--pcie-bw", take("--pcie-bw", "pcie_bw"),
         "link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16")
      ->type_name("BANDWIDTH");
}

void add_require_option(CLI::App& app, std::vector<std::string>& require) {
  app.add_option("--require", require,
                 "node (a name or glob) or op that --place cost leaves on the accelerator; "
                 "repeatable")
      ->type_name("NODE|OP")
      ->allow_extra_args(false)
      ->check(CLI::Validator(names_no_node, ""));
}

void add_split_options(CLI::App& app, SplitRequest& request, Lists need, Targets targets) {
  add_model_options(app, request.model);
  add_costs_option(app, request.costs);
  add_list_options(app, request.lists, need, targets);
  add_setting_options(app, request);
  add_require_option(app, request.require);
}

std::vector<std::string> options_of_lists() {
  std::vector<std::string> names = {"--support", "--deny", "--verdicts",
                                    "--all-of",  "--as",   "--costs"};
  for (const std::string_view name : request_settings()) names.push_back(option_name(name));
  return names;
}

std::optional<ExitCode> refuse_idle(const CLI::App& app, const std::vector<std::string>& options,
                                    const std::string& why, const std::string& instead) {
  for (const std::string& name : options) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0) continue;
    print_error(name + " " + why, {instead + ", or leave " + name + " out"});
    return ExitCode::usage;
  }
  return std::nullopt;
}

}  // namespace cleave
