#include "cli/options/backend_args.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "cli/terminal/terminal.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/run/backend/backend.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {
namespace {

// The runtime that models of the format are made for.
std::string standard_reference(ModelFormat format) {
  if (format == ModelFormat::pt2) return "torch";
  return format == ModelFormat::tflite ? "litert" : "onnxruntime";
}

// What "takes" of a backend file calls it; "" for native JSON, of which no pieces are cut.
std::string_view ending_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::onnx:
      return "onnx";
    case ModelFormat::pt2:
      return "pt2";
    case ModelFormat::tflite:
      return "tflite";
    case ModelFormat::graph_json:
      return {};
  }
  return {};
}

// Whether the backend takes models of the format; told where not.
bool takes_format(const Backend& backend, const std::string& text, ModelFormat format) {
  if (backend.may_take(ending_of(format))) return true;
  const std::string formats =
      capped_list(backend.takes, 3, [](const std::string& one) { return "." + one; });
  Diagnostic fault = diagnostic_of(text, "takes " + formats + " models, and this is none");
  if (format == ModelFormat::pt2 && backend.may_take("onnx")) {
    fault.notes.emplace_back(
        "torch.onnx.export(..., dynamo=True) makes an ONNX model of a program of torch.export");
  }
  print_diagnostics({fault});
  return false;
}

// No output may replace the programs and scripts of a backend.
void record_programs(const Backend& backend) {
  const auto record = [&](const std::vector<std::string>& words) {
    const PlaceholderValues values{.here = backend.folder, .cleave = cleave_folder(backend.folder)};
    for (const std::string& word : words) {
      const bool is_place = word.starts_with("{here}") || word.starts_with("{cleave}");
      record_input(is_place ? expand_words({word}, values).front() : word);
    }
  };
  record(backend.identity);
  for (const auto* const command : {&backend.check, &backend.compile, &backend.run}) {
    if (*command) record((*command)->argv);
  }
  if (backend.serve) record(backend.serve->argv);
}

std::optional<Backend> load_backend(const std::string& text) {
  auto loaded = find_backend(text);
  if (!loaded) {
    print_diagnostics(loaded.error());
    return std::nullopt;
  }
  print_diagnostics(loaded->warnings);
  record_programs(loaded->backend);
  return std::move(loaded->backend);
}

struct TargetBackend {
  std::string target;  // "": none was named
  std::string text;    // a backend as find_backend() takes it
};

// "npu=tract": the backend of the target npu, if there is one of that name. A command is the backend
// NAME of short form, which is for the target of its name: npu='cc {model}'.
TargetBackend target_backend(const std::string& text, const std::vector<std::string>& targets) {
  const std::size_t equals = text.find('=');
  if (targets.size() < 2 || equals == std::string::npos) return {"", text};
  const std::string name = text.substr(0, equals);
  if (!contains(targets, name)) return {"", text};
  const std::string rest = text.substr(equals + 1);
  const bool is_command = rest.find('{') != std::string::npos &&
                          rest.substr(0, rest.find('=')).find_first_of(" {") != std::string::npos;
  return {name, is_command ? text : rest};
}

// "npux" of "npux=openvino", which is no command and for no target; "" for what may be meant.
std::string unknown_target(const TargetBackend& given, const std::vector<std::string>& targets) {
  if (targets.size() < 2 || !given.target.empty()) return {};
  const std::size_t equals = given.text.find('=');
  if (equals == std::string::npos || given.text.find('{') != std::string::npos) return {};
  std::error_code error;
  if (std::filesystem::exists(given.text, error)) return {};
  return given.text.substr(0, equals);
}

}  // namespace

std::optional<Backend> ReferenceArgs::load(ModelFormat format) const {
  const std::string text = name.empty() ? standard_reference(format) : name;
  auto backend = load_backend(text);
  if (!backend || !takes_format(*backend, text, format)) return std::nullopt;
  if (backend->serve && backend->serve->does("capture")) return backend;
  print_diagnostics(
      {diagnostic_of(text, "has no \"serve\" with \"capture\": it cannot be the reference")});
  return std::nullopt;
}

bool ReferenceArgs::has_inputs() const {
  bool are_there = true;
  for (const std::string& path : inputs) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    print_diagnostics({diagnostic_of(path, "is not a file or a folder of inputs")});
    are_there = false;
  }
  return are_there;
}

BackendArgs::BackendArgs(const Given& given, CulpritSearch culprits, std::size_t most_runs)
    : names(given.texts("--backend")),
      reference{given.text("--reference"), given.texts("--inputs"), given.count("--seed")},
      launcher_(given.text("--launcher")),
      jobs_(given.count("--jobs")) {
  for (const std::string& text : given.texts("--cache")) {
    if (text == "failures") {
      pool.trusts_failures = true;
      continue;
    }
    if (!cache_.empty() && cache_ != text) {
      refuse_option("--cache", in_quotes(cache_) + " and " + in_quotes(text) + " cannot be both");
    }
    std::error_code error;
    if (std::filesystem::is_regular_file(text, error)) {
      refuse_option("--cache", in_quotes(text) + " is a file, and verdicts are kept in a folder");
    }
    cache_ = text;
  }
  pool.compares = given.flag("--compare");
  constexpr std::string_view kTolerances[] = {"int", "ties"};
  for (const auto& [key, text] : named_texts(given, "--tolerance", kTolerances)) {
    const auto most = parse_quantity(text);
    const bool is_count = most && most->unit.empty() && most->value >= 0 && most->value <= 255 &&
                          most->value == std::floor(most->value);
    if (key == "int" && is_count) {
      integers_ = static_cast<std::int64_t>(most->value);
    } else if (key == "ties" && text == "strict") {
      pool.is_strict_on_ties = true;
    } else {
      refuse_option("--tolerance", in_quotes(text) + " is no tolerance: write int=2, of 8-bit " +
                                       "integers, or ties=strict");
    }
  }
  search.culprits = given.word("--culprit", culprits);
  const auto runs = given.limit("search-runs");
  search.most_runs = runs ? static_cast<std::size_t>(*runs) : most_runs;
  search.most_seconds = given.limit("time").value_or(0);
  search.pins_shapes = given.text("--pin-shapes") != "off";
  search.freezes_values = given.text("--pin-shapes") == "values";
}

std::optional<Backend> BackendArgs::load_one(const std::string& text, ModelFormat format) const {
  auto backend = load_backend(text);
  if (!backend || !takes_format(*backend, text, format)) return std::nullopt;
  if (integers_) backend->tolerance.integers = *integers_;
  // A command line does not say whether two of it may run at once, so one runs at a time.
  if (backend->path.empty() && jobs_ == 0) backend->jobs = 1;
  return backend;
}

std::optional<std::vector<Backend>> BackendArgs::load(ModelFormat format,
                                                      const std::vector<std::string>& targets) {
  std::vector<Backend> backends, for_all;
  bool is_good = reference.has_inputs();
  for (const std::string& text : names) {
    const TargetBackend given = target_backend(text, targets);
    if (const std::string name = unknown_target(given, targets); !name.empty()) {
      const Error error = no_such_target("--backend", name, targets);
      print_error(error.message, error.notes);
      is_good = false;
      continue;
    }
    auto backend = load_one(given.text, format);
    is_good = is_good && backend;
    if (!backend) continue;
    backend->target = given.target;
    const bool is_for_all = targets.size() > 1 && given.target.empty();
    (is_for_all ? for_all : backends).push_back(*std::move(backend));
  }
  const std::size_t named = backends.size();
  for (const std::string& target : targets) {
    const auto end = backends.begin() + static_cast<std::ptrdiff_t>(named);
    const bool has_own = std::any_of(
        backends.begin(), end, [&](const Backend& backend) { return backend.target == target; });
    if (has_own) continue;
    for (const Backend& backend : for_all) {
      backends.push_back(backend);
      backends.back().target = target;
    }
  }
  const bool is_needed = pool.compares || search.freezes_values || !reference.inputs.empty();
  if (reference.is_off() && is_needed) {
    print_error("--reference none, but a reference is needed",
                {"for --compare, --inputs and --pin-shapes values"});
    return std::nullopt;
  }
  if (!reference.is_off() && (!reference.name.empty() || is_needed)) {
    pool.reference = reference.load(format);
    is_good = is_good && pool.reference;
  }
  if (!is_good) return std::nullopt;
  return backends;
}

void BackendArgs::use_default_reference(const LoadedModel& model, std::span<const NodeId> nodes) {
  if (!reference.name.empty() || pool.reference || !search.pins_shapes) return;
  const bool can_pin = model.format() == ModelFormat::onnx || model.format() == ModelFormat::pt2;
  if (!can_pin || !has_open_shapes(model.graph, nodes)) return;
  auto known = find_backend(standard_reference(model.format()));
  if (!known || !known->backend.serve || !known->backend.serve->does("capture")) return;
  record_programs(known->backend);
  pool.reference = std::move(known->backend);
  pool.is_reference_optional = true;
}

void BackendArgs::set_up(const std::string& work) {
  pool.inputs = reference.inputs;
  pool.seed = reference.seed;
  pool.jobs = jobs_ > 0 ? jobs_ : std::max(1U, std::thread::hardware_concurrency() / 2);
  if (const auto words = shell_words(launcher_)) pool.launcher = *words;
  for (const std::string& word : pool.launcher) record_input(word);
  if (cache_ != "off") pool.cache_folder = cache_.empty() ? default_verdict_cache() : cache_;
  pool.work_folder = work;
}

}  // namespace cleave
