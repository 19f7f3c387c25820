#include "cli/options/model_args.h"

#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/refuse_option.h"
#include "cli/options/whole_number.h"
#include "core/base/quantity.h"
#include "core/base/quotes.h"
#include "core/cost/target_spec.h"
#include "formats/support/support_file.h"
#include "formats/text/diagnostic.h"
#include "formats/text/number_text.h"
#include "formats/text/utf8.h"

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

// "name=rest", split at the last '=', since names of values may hold one.
std::pair<std::string, std::string> parse_binding(const std::string& option,
                                                  const std::string& text,
                                                  const std::string& example) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    refuse_option(option, in_quotes(text) + " is not of the form " + example);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// A part's name becomes a name in ONNX and JSON, which take UTF-8 only.
CLI::Validator utf8_text() {
  const auto refusal = [](const std::string& text) {
    if (first_invalid_utf8(text) == text.npos) return std::string();
    return cleave::quoted(text) + " is not UTF-8, which names of parts must be";
  };
  return {refusal, "", "UTF-8"};
}

}  // namespace

void ModelArgs::add_to(CLI::App& app) {
  add_input_option(app, "MODEL", path,
                   "model file (native graph JSON or ONNX), or - for standard input")
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
  add_choice(app, "--infer", bindings.inference,
             {{"off", ShapeInference::off},
              {"file", ShapeInference::file},
              {"full", ShapeInference::full}},
             "types and shapes of an ONNX model: off (declared inputs and outputs only), file "
             "(also its value_info) or full (also what follows from its operators)");
  app.add_option_function<std::vector<std::string>>(
         "--limit",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_limit(text);
         },
         "set a limit on what is read, e.g. --limit nodes=5000; repeatable")
      ->type_name("WHAT=N")
      ->allow_extra_args(false);
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
             "support list: JSON, plain text or ONNX Runtime config; repeatable, a node is "
             "supported when any list accepts it")
          ->type_name("LIST")
          ->allow_extra_args(false);
  set_file_role(option, FileRole::input);
  if (required) option->required();
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
  app.add_option_function<std::string>(
         "--min-acc-module-size", [this](const std::string& text) { set_min_size(text); },
         "smaller accelerator subgraphs go to the CPU; auto: the size with which an inference "
         "takes least")
      ->default_str("1")
      ->type_name("NODES");
  app.add_flag("--skip-fusion", options.fusion.skip, "form no fusion groups");
  app.add_flag("--allow-non-tensor", options.acc_finder.allow_non_tensor,
               "let non-tensor data cross between accelerator and CPU");
  app.add_flag("--keep-qdq", options.qdq.keep,
               "keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one "
               "part");
  app.add_flag("--host-shapes", options.host_shapes.follow,
               "let shape computations follow the nodes that use them, whatever the support list "
               "says, so that a Reshape does not cut a part");
  add_choice(app, "--place", options.place.by,
             {{"priority", PlaceBy::priority}, {"cost", PlaceBy::cost}},
             "put nodes on the accelerator wherever the lists allow it (priority), or where an "
             "inference takes least (cost)");
  add_choice(app, "--residency", options.latency.residency,
             {{"off", Residency::off}, {"on", Residency::on}},
             "whether the accelerator keeps values that it has made or received until their last "
             "reader there has run");
  add_choice(app, "--start", options.subgraphs.start,
             {{"reference", StartSide::reference},
              {"cpu", StartSide::cpu},
              {"acc", StartSide::acc},
              {"fewest", StartSide::fewest}},
             "side to begin with: reference, cpu, acc, or fewest subgraphs");
  add_keep_to(app);
  app.add_option_function<std::string>(
         "--extend", [this](const std::string& text) { set_extend(text); },
         "extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only "
         "where fewer bytes cross the link)")
      ->type_name("WHICH");
  app.add_option("--acc-prefix", options.partition.acc_prefix, "name prefix of accelerator parts")
      ->check(utf8_text())
      ->capture_default_str();
  app.add_option("--non-acc-prefix", options.partition.non_acc_prefix, "name prefix of CPU parts")
      ->check(utf8_text())
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--target",
         [this](const std::vector<std::string>& given) {
           for (const std::string& text : given) set_target(text);
         },
         "numbers of a device, as acc:launch=100us,flops=4TFLOP/s or cpu:bandwidth=50GB/s "
         "(README); "
         "repeatable")
      ->type_name("TARGET:NUMBERS")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--pcie-bw", [this](const std::string& text) { set_link(text); },
         "link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16")
      ->type_name("BANDWIDTH");
}

void SplitArgs::add_keep_to(CLI::App& app) {
  CLI::Option* const most =
      app.add_option_function<std::string>(
             "--keep-acc-subgraphs", [this](const std::string& text) { set_keep(text); },
             "keep at most so many accelerator subgraphs, the most valuable ones; or unlimited; or "
             "auto: those that make an inference faster")
          ->default_str("unlimited")
          ->type_name("COUNT");
  add_choice(app, "--keep-by", options.keep.by,
             {{"flops", KeepBy::flops},
              {"time", KeepBy::time},
              {"nodes", KeepBy::nodes},
              {"latency", KeepBy::latency}},
             "what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link "
             "takes; its nodes; or what an inference gains by it")
      ->needs(most);
}

void SplitArgs::set_min_size(const std::string& text) {
  options.subgraphs.is_min_automatic = text == "auto";
  if (text == "auto") return;
  const auto size = parse_size(text);
  if (!size) {
    refuse_option("--min-acc-module-size", in_quotes(text) + " is no whole number of 0 or more");
  }
  options.subgraphs.min_acc_size = static_cast<std::size_t>(*size);
}

void SplitArgs::set_keep(const std::string& text) {
  if (text == "unlimited") {
    options.keep.most = KeepOptions::kUnlimited;
    return;
  }
  if (text == "auto") {
    options.keep.only_gaining = true;
    return;
  }
  const auto count = parse_size(text);
  if (!count) {
    refuse_option("--keep-acc-subgraphs",
                  in_quotes(text) + " is no count: give a whole number, auto, or unlimited");
  }
  options.keep.most = static_cast<std::size_t>(*count);
}

void SplitArgs::set_extend(const std::string& text) {
  using Which = ExtendOptions::Which;
  if (text == "all" || text == "auto") {
    options.extend.which = text == "all" ? Which::all : Which::automatic;
    return;
  }
  // A name such as _run_on_acc_3 stands for its number.
  const std::size_t last = text.find_last_not_of("0123456789");
  const std::string number = last == std::string::npos ? text : text.substr(last + 1);
  const auto subgraph = parse_size(number);
  if (!subgraph)
    refuse_option("--extend", in_quotes(text) + " is no subgraph's number, all or auto");
  options.extend = {Which::one, static_cast<std::size_t>(*subgraph)};
}

void SplitArgs::set_target(const std::string& text) {
  const auto spec = parse_target(text);
  if (!spec) refuse_option("--target", spec.error().message);
  Machine& machine = options.latency.machine;
  machine = with_target(std::move(machine), *spec);
  if (spec->link) link = spec->link;
}

void SplitArgs::set_link(const std::string& text) {
  link = parse_link(text);
  if (link) return;
  refuse_option("--pcie-bw", in_quotes(text) + bandwidth_refusal(text));
}

}  // namespace cleave
