// What several commands do: splits with progress, reports to files, scripts.
#include "cli/jobs/jobs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/models/models.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- bound models ----

namespace {

// What --dim, --input-shape and --set-input may name.
struct Names {
  std::set<std::string_view> dims, values, inputs;
};

Names names_in(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = id_at<ValueId>(i);
    names.values.insert(graph.value(value).name);
    for (const Dim dim : graph.shape(value)) {
      if (dim.is_symbol()) names.dims.insert(graph.text(dim.name()));
    }
  }
  for (const ValueId input : graph.inputs()) names.inputs.insert(graph.value(input).name);
  return names;
}

// "N", or "x:1", the second dim of the value x.
bool has_dim(const Names& names, std::string_view dim) {
  if (names.dims.contains(dim)) return true;
  const std::size_t colon = dim.rfind(':');
  return colon != dim.npos && names.values.contains(dim.substr(0, colon));
}

// Keeps the bindings of which `has(name)` is true; returns the others' names.
template <class Bindings, class Has>
std::vector<std::string> keep_if(Bindings& bindings, Has has) {
  std::vector<std::string> dropped;
  Bindings kept;
  for (auto& binding : bindings) {
    if (has(binding.first)) {
      kept.push_back(std::move(binding));
    } else {
      dropped.push_back(binding.first);
    }
  }
  bindings = std::move(kept);
  return dropped;
}

}  // namespace

std::optional<LoadedModel> BoundModels::load(const std::string& path) {
  return load_model(request_for(path));
}

std::optional<MeasuredModel> BoundModels::load_measured(const std::string& path,
                                                        const std::vector<CostSource>& costs) {
  return load_measured_model(request_for(path), costs);
}

ModelRequest BoundModels::request_for(const std::string& path) {
  ++models_;
  ModelRequest request = request_;
  request.path = path;
  if (are_several_ && path != "-" && !bindings().empty()) {
    ModelRequest plain = request;
    plain.bindings.dims.clear();
    plain.bindings.inputs.clear();
    plain.bindings.values.clear();
    const auto probe = read_model(path, plain.bindings, plain.limits);
    request = probe ? request_of(path, *probe) : plain;
  }
  given_.bind(request);
  return request;
}

ModelRequest BoundModels::request_of(const std::string& path, const LoadedModel& probe) {
  ModelRequest request = request_;
  request.path = path;
  const Names names = names_in(probe.graph);
  const auto count = [&](std::string_view option, std::vector<std::string> dropped) {
    for (std::string& name : dropped) ++lacking_[{option, std::move(name)}];
  };
  count("--dim",
        keep_if(request.bindings.dims, [&](const auto& name) { return has_dim(names, name); }));
  count("--input-shape", keep_if(request.bindings.inputs,
                                 [&](const auto& name) { return names.inputs.contains(name); }));
  count("--set-input", keep_if(request.bindings.values,
                               [&](const auto& name) { return names.inputs.contains(name); }));
  return request;
}

std::vector<BoundModels::Binding> BoundModels::bindings() const {
  std::vector<Binding> all;
  for (const auto& dim : request_.bindings.dims) all.emplace_back("--dim", dim.first);
  for (const auto& input : request_.bindings.inputs) all.emplace_back("--input-shape", input.first);
  for (const auto& value : request_.bindings.values) all.emplace_back("--set-input", value.first);
  return all;
}

bool BoundModels::are_all_bound() const {
  bool are_all = true;
  for (const Binding& one : bindings()) {
    const auto lacking = lacking_.find(one);
    if (lacking == lacking_.end()) continue;
    const auto& [option, name] = one;
    if (lacking->second < models_) {
      print_warning(std::string(option) + " " + escaped(name) + " does not apply to " +
                    count_text(lacking->second) + " of " + count_text(models_) + " models");
      continue;
    }
    are_all = false;
    print_error(std::string(option) + " names " + escaped_in_quotes(name) + ", which is no " +
                (option == "--dim" ? "symbolic dim" : "input") + " of any model");
  }
  return are_all;
}

// ---- report files ----

ExitCode write_text(const std::string& path, const std::string& text, bool force) {
  if (path.empty()) {
    write_document(text);
    return ExitCode::done;
  }
  const auto written = write_file(path, text, force);
  if (!written) return refuse(written.error(), ExitCode::cannot_write);
  print_info("wrote " + path);
  return ExitCode::done;
}

namespace {

HtmlPage html_with_progress(const Report& report, const std::string& path,
                            const LayoutLimits& limits) {
  ProgressBar bar(path);
  return html_report(report, limits, bar.observer());
}

// True for a path inside the folder, comparing the paths as written.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  const auto within = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return !within.empty() && *within.begin() != "..";
}

// True for a path directly in the folder.
bool is_child(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (path.empty() || folder.empty()) return false;
  const auto within = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return std::distance(within.begin(), within.end()) == 1 && within != "." && within != "..";
}

std::string name_of(const std::filesystem::path& path) { return path.filename().string(); }

}  // namespace

Status<Diagnostics> PageFile::check() const {
  return path_.empty() ? Status<Diagnostics>(Done{}) : check_may_write(path_, force_);
}

ExitCode PageFile::write(const HtmlPage& page) const {
  for (const std::string& note : page.notes) print_warning(note);
  return write_text(path_, page.text, force_);
}

std::vector<std::string> PageFile::written() const {
  return path_.empty() ? std::vector<std::string>{} : std::vector<std::string>{path_};
}

CiFiles::CiFiles(const Given& given) : force_(given.flag("--force")) {
  constexpr std::pair<std::string_view, Make> kKinds[] = {
      {".xml", ci_junit}, {".sarif", ci_sarif}, {".sarif.json", ci_sarif}, {".md", ci_markdown}};
  for (const std::string& path : given.texts("--ci")) {
    // No file can be meant, as the ending of a file says what is written to it.
    if (path == "github") {
      github_ = true;
      continue;
    }
    const auto* const kind =
        std::ranges::find_if(kKinds, [&](const auto& one) { return path.ends_with(one.first); });
    if (kind == std::end(kKinds)) {
      refuse_option("--ci", in_quotes(path) +
                                " does not say what it is: end it in .xml (JUnit), .sarif or "
                                ".sarif.json (SARIF) or .md (Markdown), or write github");
    }
    files_.emplace_back(kind->second, path);
    written_.push_back(path);
  }
}

Status<Diagnostics> CiFiles::check() const {
  for (const std::string& path : written_) {
    if (auto done = check_may_write(path, force_); !done) return done;
  }
  return Done{};
}

ExitCode CiFiles::write(const CiReport& report) const {
  for (const auto& [make, path] : files_) {
    const auto written = write_file(path, make(report), force_);
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
  }
  return ExitCode::done;
}

void CiFiles::annotate(const CiReport& report, bool has_json) const {
  if (!github_) return;
  const char* const summary_path = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary_path != nullptr && *summary_path != '\0') {  // all steps of a job add to this file
    std::ofstream summary(summary_path, std::ios::app);
    summary << ci_markdown(report) << std::flush;
    if (!summary) {
      print_warning("the step summary " + escaped_in_quotes(summary_path) + " cannot be written");
    }
  }
  const std::string text = ci_annotations(report);
  // Standard output is the JSON then, and GitHub reads commands from both streams.
  if (has_json) {
    std::fputs(text.c_str(), stderr);
  } else {
    write_commands(text);
  }
}

ReportFiles::ReportFiles(const Given& given) : page_(given) {
  for (const std::string& path : given.texts("--viewer")) {
    // Netron reads one file, Model Explorer several, so a folder is meant where the name is no file's.
    (path.ends_with(".json") ? netron_ : model_explorer_).push_back(path);
  }
}

Status<Diagnostics> ReportFiles::check(const std::string& made) const {
  std::vector<std::string> files = netron_;
  files.push_back(page_.path());
  for (const std::string& file : files) {
    if (file.empty() || lies_in(file, made)) continue;
    if (auto done = check_may_write(file, is_forced()); !done) return done;
  }
  for (const std::string& folder : model_explorer_) {
    if (lies_in(folder, made)) continue;
    // A new folder must not exist as a file; of one that exists only our own files are at risk.
    if (!is_folder(folder)) {
      if (auto done = check_may_write(folder, false); !done) return done;
      continue;
    }
    for (const std::string& name : model_explorer_file_names()) {
      if (auto done = check_may_write(folder + "/" + name, is_forced()); !done) return done;
    }
  }
  return Done{};
}

std::vector<std::string> ReportFiles::written() const {
  std::vector<std::string> paths = page_.written();
  paths.insert(paths.end(), netron_.begin(), netron_.end());
  paths.insert(paths.end(), model_explorer_.begin(), model_explorer_.end());
  return paths;
}

Status<Fault> ReportFiles::write_inside(const Report& report, const OutputFolder& folder,
                                        ProgressBar& bar) const {
  Status<Diagnostics> written = Done{};
  if (is_child(page_.path(), folder.final_path())) {
    const HtmlPage page = html_report(report, page_.limits(), bar.observer());
    bar.erase();
    for (const std::string& note : page.notes) print_warning(note);
    written = folder.write(name_of(page_.path()), page.text);
  }
  for (const std::string& file : netron_) {
    if (!written || !is_child(file, folder.final_path())) continue;
    written = folder.write(name_of(file), netron_attachment(report));
  }
  if (!written) return output_fault(std::move(written).error());
  return Done{};
}

ExitCode ReportFiles::write(const Report& report, const std::string& made) const {
  ExitCode code = ExitCode::done;
  if (page_.is_asked() && !is_child(page_.path(), made)) {
    code = page_.write(html_with_progress(report, page_.path(), page_.limits()));
  }
  for (const std::string& file : netron_) {
    if (code != ExitCode::done || is_child(file, made)) continue;
    code = write_text(file, netron_attachment(report), is_forced());
  }
  for (const std::string& folder : model_explorer_) {
    if (code == ExitCode::done) code = write_model_explorer(report, folder);
  }
  return code;
}

// Writes into the folder, which may exist already; all files or none.
ExitCode ReportFiles::write_model_explorer(const Report& report, const std::string& to) const {
  auto folder = is_folder(to) ? OutputFolder::beside(to + "/partition.json", is_forced())
                              : OutputFolder::create(to, false);
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const std::vector<NamedText> files = model_explorer_files(report);
  Status<Diagnostics> written = Done{};
  for (const NamedText& file : files) {
    if (written) written = folder->write(file.name, file.text);
  }
  if (written) written = folder->commit();
  if (!written) return refuse(written.error(), ExitCode::cannot_write);
  for (const NamedText& file : files) print_info("wrote " + to + "/" + file.name);
  return ExitCode::done;
}

// ---- split run ----

namespace {

using Clock = std::chrono::steady_clock;

// "in 3.2 ms"
std::string time_since(Clock::time_point begin) {
  return "in " +
         duration_text(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
}

// With --log-level debug: what was done, and how long it took.
void print_detail(const std::string& done) { spdlog::debug("{}", escaped(done)); }

std::string subject_of(const std::string& path) { return path == "-" ? "standard input" : path; }

ExitCode exit_code_of(FaultCause cause) {
  switch (cause) {
    case FaultCause::request:
      return ExitCode::usage;
    case FaultCause::input:
      return ExitCode::bad_input;
    case FaultCause::output:
      return ExitCode::cannot_write;
    case FaultCause::program:
      return ExitCode::external_failed;
    case FaultCause::infeasible:
      break;
  }
  return ExitCode::check_failed;
}

}  // namespace

ExitCode refuse(const Fault& fault) { return refuse(fault.faults, exit_code_of(fault.cause)); }

std::optional<ExitCode> refuse_unwritable(const std::string& path, bool force) {
  const auto fault = path.empty() ? Status<Diagnostics>(Done{}) : check_may_write(path, force);
  if (fault) return std::nullopt;
  return refuse(fault.error(), ExitCode::cannot_write);
}

Result<SplitJob, ExitCode> split_with_progress(const SplitRequest& request, const InputsRead& read,
                                               const Diagnostics& told) {
  const Clock::time_point begin = Clock::now();
  auto job = [&] {
    ProgressBar bar(
        subject_of(read.model == nullptr ? request.model.path : read.model->source.path()));
    return run_split(request, bar.observer(), read);
  }();
  if (!job) return refuse(job.error());
  print_diagnostics(without_reported(job->warnings(), told));
  for (const SupportList& list : job->lists()) {
    print_detail("list " + list.path + ": " +
                 counted(list.allow.size() + list.deny.size(), "rule"));
  }
  print_detail("split " + subject_of(job->model().source.path()) + ": " +
               counted(job->graph().node_count(), "node") + " into " +
               counted(job->report().split.partition.count(), "partition") + ", " +
               time_since(begin));
  return *std::move(job);
}

Result<PhaseJobs, ExitCode> phases_with_progress(
    const SplitRequest& request,
    Result<PhaseJobs, Fault> (*run)(const SplitRequest&, const Progress&)) {
  auto phases = [&] {
    ProgressBar bar(subject_of(request.model.path));
    return run(request, bar.observer());
  }();
  if (!phases) return refuse(phases.error());
  Diagnostics told;
  for (const SplitJob& job : phases->jobs) {
    const Diagnostics news = without_reported(job.warnings(), told);
    print_diagnostics(news);
    told.insert(told.end(), news.begin(), news.end());
  }
  return *std::move(phases);
}

Diagnostics without_reported(Diagnostics warnings, const Diagnostics& told) {
  std::erase_if(warnings, [&](const Diagnostic& warning) {
    return std::ranges::any_of(told, [&](const Diagnostic& other) {
      return format_diagnostic(other) == format_diagnostic(warning);
    });
  });
  return warnings;
}

std::optional<ListsRead> load_lists(const ListsRequest& request) {
  auto read = read_lists(request);
  print_diagnostics(read ? read->warnings : read.error());
  if (!read) return std::nullopt;
  return *std::move(read);
}

std::optional<LoadedModel> load_model(const ModelRequest& request) {
  const Clock::time_point begin = Clock::now();
  auto loaded = [&] {
    ProgressBar bar(subject_of(request.path));
    return read_model(request.path, request.bindings, request.limits, bar.observer());
  }();
  print_diagnostics(loaded ? loaded->warnings : loaded.error());
  if (!loaded) return std::nullopt;
  print_diagnostics(idle_option_warnings(*loaded));
  print_detail("read " + subject_of(request.path) + ": " +
               counted(loaded->graph.node_count(), "node") + ", " + time_since(begin));
  return *std::move(loaded);
}

std::optional<MeasuredModel> load_measured_model(const ModelRequest& request,
                                                 const std::vector<CostSource>& sources) {
  auto model = load_model(request);
  if (!model) return std::nullopt;
  auto costs = read_costs_and_shapes(sources, *model);
  print_diagnostics(costs ? costs->warnings : costs.error());
  if (!costs) return std::nullopt;
  return MeasuredModel{*std::move(model), *std::move(costs)};
}

Result<WrittenModels, Fault> write_models_with_progress(const LoadedModel& model,
                                                        const ModelPieces& pieces,
                                                        const OnnxWriteOptions& options,
                                                        const OutputFolder& folder) {
  ProgressBar bar(folder.final_path());
  OnnxWriteOptions observed = options;
  observed.progress = bar.observer();
  return write_models(model, pieces, observed, folder);
}

// ---- scripts ----

namespace fs = std::filesystem;

std::string find_script(const std::string& name, const std::string& what) {
  std::vector<fs::path> folders;
  if (const char* const given = std::getenv("CLEAVE_SCRIPTS")) folders.emplace_back(given);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path() / "../share/cleave/scripts");
  if (!error) folders.push_back(program.parent_path() / "../../scripts");  // the sources'
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, error)) return fs::absolute(folder / name).string();
  }
  print_error(what + " needs " + name + ", which is not beside the program",
              {"set CLEAVE_SCRIPTS to the folder that has it"});
  return {};
}

// ---- split scripts ----

namespace {

// A user who waits ends it himself; this is for a script that nobody watches.
constexpr double kMostSeconds = 24 * 3600;
constexpr int kSkipped = 77;  // a module of Python is missing

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

// A fault that was printed.
Fault told(FaultCause cause) { return {cause, {}}; }

FaultCause cause_of(const ChildResult& result) {
  if (result.end != ChildEnd::exited) return FaultCause::program;
  switch (result.code) {
    case 1:
      return FaultCause::infeasible;
    case 2:
      return FaultCause::input;
    case 4:
      return FaultCause::output;
    default:
      return FaultCause::program;
  }
}

// Runs the script in Python. On failure to start, why is printed. `option` is what asks for it.
std::optional<ChildResult> run_script(const std::string& option, const std::string& name,
                                      std::vector<std::string> words) {
  const std::string script = find_script(name, option);
  if (script.empty()) return std::nullopt;
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

Status<Fault> capture_parts(const OutputFolder& folder, const CaptureArgs& args,
                            ModelFormat format) {
  const bool is_torch = format == ModelFormat::pt2;
  std::vector<std::string> words = {made_folder(folder), "--seed", std::to_string(args.seed)};
  if (!args.inputs.empty()) {
    words.insert(words.end(), {"--inputs", fs::absolute(args.inputs).string()});
  }
  const auto result = run_script("--capture", is_torch ? "capture_torch.py" : "capture_inputs.py",
                                 std::move(words));
  if (!result) return told(FaultCause::program);
  std::string text = text_of(*result, folder);
  if (result->code == kSkipped) {
    text += "\n--capture needs: pip install ";
    text += is_torch ? "torch numpy" : "onnx onnxruntime numpy";
  }
  if (result->end == ChildEnd::exited && result->code == 0) {
    print_info(text);
    return Done{};
  }
  print_error("the parts are not captured:\n" + text);
  return told(cause_of(*result));
}

namespace {

// `what` is converted: "the parts", "the model". `path` is where it is.
Status<Fault> convert(const OutputFolder& folder, const std::string& what, const std::string& path,
                      std::uint32_t opset) {
  const auto result = run_script("--opset", "convert_opset.py", {path, std::to_string(opset)});
  if (!result) return told(FaultCause::program);
  const bool has_ended = result->end == ChildEnd::exited;
  if (has_ended && result->code == 0) return Done{};
  const bool is_refused = has_ended && result->code == 1;
  std::vector<std::string> notes;
  if (has_ended && result->code == kSkipped) notes.emplace_back("--opset needs: pip install onnx");
  const std::string why = text_of(*result, folder);
  if (why.find("it has functions") != why.npos) {
    notes.push_back("first cleave convert MODEL --opset " + std::to_string(opset) +
                    " -o FILE, which writes their operators in their place; then split FILE");
  }
  print_error("ONNX cannot convert " + what + " to opset " + std::to_string(opset) + ": " + why,
              notes);
  return told(is_refused ? FaultCause::input : FaultCause::program);
}

}  // namespace

Status<Fault> convert_opset(const OutputFolder& folder, std::uint32_t opset) {
  return convert(folder, "the parts", made_folder(folder), opset);
}

Status<Fault> convert_opset(const OutputFolder& folder, const std::string& file,
                            std::uint32_t opset) {
  return convert(folder, "the model", made_folder(folder) + "/" + file, opset);
}

}  // namespace cleave
