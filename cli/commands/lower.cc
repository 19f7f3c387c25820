// cleave lower: compiles the accelerator partitions with real compilers, and learns what they
// refuse.
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "cli/commands/compiler_commands.h"
#include "cli/jobs/jobs.h"
#include "cli/jobs/lower_run.h"
#include "cli/options/backend_args.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "core/split/split.h"
#include "formats/base/files.h"
#include "formats/lists/support_file.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/jobs/lower_job.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {
namespace {

// "2026-11-22 21:05": when the file was last written, in local time; "" when there is none.
std::string time_of_file(const std::string& path) {
  struct stat status = {};
  std::tm time = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (::localtime_r(&status.st_mtime, &time) == nullptr) return {};
  char buffer[32];
  return {buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M", &time)};
}

// --bundle: what is kept of what was compiled. In the order of its words.
enum class Bundle : std::uint8_t { none, files, ep, ep_embedded };

class LowerCommand : public Command {
 public:
  explicit LowerCommand(const Given& given)
      : given_(given),
        files_(given),
        request_(given.split),
        backend_(given),
        output_(given.text("--output")),
        deny_out_(given.text("--deny-out")),
        force_(given.flag("--force")),
        json_(given.flag("--json")),
        reports_(given.has("--show")),
        bundle_(given.word<Bundle>("--bundle")) {
    options_.until_clean = given.flag("--until-clean");
    options_.most_rounds = static_cast<std::size_t>(given.limit("rounds").value_or(20));
  }

  ExitCode run() override {
    if (!deny_out_.empty() && !has_one_list()) {
      print_error(
          "--deny-out extends one list, and several are given: give one -s, a file with the rules "
          "of all, or -o DIR instead of --deny-out: its lowering.json has what was learned");
      return ExitCode::usage;
    }
    if (const auto fault = check_outputs(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    auto split = split_with_progress(request_);
    if (!split) return split.error();
    auto backends = backend_.load(split->model().format(), request_.lists.targets());
    if (auto known = folded(*split)) split = *std::move(known);
    if (!backends || !is_for_compilers(split->model(), request_.model.path))
      return ExitCode::bad_input;
    if (!may_deploy(*backends)) return ExitCode::usage;
    // Again, now that the files that the model refers to are known, before compilers run for long.
    if (const auto fault = check_outputs(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const auto work = open_work_folder();
    if (!work) return ExitCode::cannot_write;
    if (const ExitCode code = open_folder(); code != ExitCode::done) return code;
    const Partition& partition = split->split().partition;
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      backend_.use_default_reference(split->model(), partition.nodes(part));
    }
    backend_.set_up(work->path());
    say_of_split(*split);
    options_.pool = backend_.pool;
    if (folder_) options_.pool.journal = journal();
    if (folder_) options_.pool.left_if_killed = {made_folder(*folder_), work->path()};
    options_.search = backend_.search;
    options_.search.assumes_sizes = true;
    return lower(*split, *backends);
  }

 private:
  Status<Diagnostics> check_outputs() const {
    if (!deny_out_.empty()) {
      if (auto done = check_may_write(deny_out_, force_); !done) return done;
    }
    return files_.check();
  }

  // What preview says of this split, before compilers run for long: what the accelerator gets of the nodes and of
  // the work, which sizes are open, and whether another option gives more, which the report says again.
  void say_of_split(const SplitJob& split) {
    const FullReport full = reports_ ? preview_report(split) : full_report(split);
    const Report& report = full.report;
    const std::string text = report_text(report);
    if (reports_ && json_) split_report_ = report_json(report);
    if (reports_ && !json_) write_stdout(text);
    if (reports_) return;
    print_info(text.substr(0, text.find("\n\n")));
    if (std::string note = option_note(split); !note.empty()) notes_.push_back(std::move(note));
  }

  bool deploys() const { return bundle_ == Bundle::ep || bundle_ == Bundle::ep_embedded; }

  // One file has each partition once, so that a target of several has one backend.
  bool may_deploy(const std::vector<Backend>& backends) const {
    if (!deploys() || !has_targets()) return true;
    for (const std::string& target : request_.lists.targets()) {
      const auto count = std::ranges::count_if(
          backends, [&](const Backend& backend) { return backend.target == target; });
      if (count < 2) continue;
      print_error("--bundle ep takes one backend for each of several targets, and " + target +
                  " has " + std::to_string(count));
      return false;
    }
    return true;
  }

  std::string journal() const { return folder_->final_path() + ".journal.jsonl"; }

  // What remains when the run is stopped.
  std::string stop_text() const {
    const bool is_cached = !options_.pool.cache_folder.empty();
    if (!folder_ && !is_cached) {
      return "cleave: stopped; no verdict is kept: with -o DIR they are, and a run continues";
    }
    return "cleave: stopped; the verdicts so far are in " +
           (folder_ ? journal() : options_.pool.cache_folder) + ": the same command continues";
  }

  void tell_resumed() const {
    if (!folder_) return;
    const std::size_t verdicts = count_journaled(journal());
    if (verdicts == 0) return;
    print_info("continues with " + counted(verdicts, "verdict") + " from " + journal() +
               ", the last of " + time_of_file(journal()));
  }

  ExitCode open_folder() {
    if (output_.empty()) return ExitCode::done;
    auto folder = OutputFolder::create(output_, force_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    folder_.emplace(std::move(*folder));
    options_.findings_folder = std::filesystem::absolute(folder_->path_of("findings")).string();
    options_.deploys = deploys();
    if (bundle_ != Bundle::none) {
      options_.artefacts_folder = std::filesystem::absolute(folder_->path_of("artefacts")).string();
    }
    return ExitCode::done;
  }

  ExitCode lower(const SplitJob& split, const std::vector<Backend>& backends) {
    tell_resumed();
    say_when_stopped(stop_text());
    const auto outcome = lower_with_progress(split, backends, options_);
    say_when_stopped({});
    if (!outcome) {
      if (reports_ && json_) write_stdout(split_report_);
      return outcome.error();
    }
    LoweringReport report{split.model(), backends, options_.pool, options_.search, *outcome};
    if (!output_.empty()) report.folder = folder_->final_path();
    report.notes = notes_;
    report.split_options = given_split_options();
    const auto files = write_lowering(
        report, split, options_,
        {folder_ ? &*folder_ : nullptr, deny_out_, force_, bundle_ == Bundle::ep_embedded});
    if (!files) return refuse(files.error());
    for (const std::string& warning : files->warnings) print_warning(warning);
    for (const Deployed& one : files->deployed) {
      print_info(one.file + ": " + counted(one.compiled, "compiled partition") +
                 (one.tried.empty() ? "" : "; " + escaped(one.tried)));
      for (const std::string& why : one.not_compiled)
        print_info("  by ONNX Runtime: " + escaped(why));
    }
    if (folder_) print_info("wrote " + output_);
    const ExitCode code = files_.write(ci_report(report));
    if (code != ExitCode::done) return code;
    write_stdout(!json_     ? (reports_ ? "\nLOWERING\n" : "") + lowering_text(report)
                 : reports_ ? with_lowering(std::move(split_report_), report)
                            : lowering_json(report),
                 written());
    files_.annotate(ci_report(report), json_);
    if (files->not_deployed) return refuse(*files->not_deployed);
    if (outcome->is_driver_fault) return ExitCode::external_failed;
    return outcome->is_clean && !outcome->takes_nothing ? ExitCode::done : ExitCode::check_failed;
  }

  // Unless --fold says what is folded.
  std::optional<SplitJob> folded(const SplitJob& split) {
    if (given_.has("--fold")) return std::nullopt;
    auto folded = split_of_folded(split);
    if (!folded) return folded;
    say_folded(split.graph().node_count() - folded->graph().node_count());
    request_ = folded->request();
    is_folded_ = true;
    return folded;
  }

  // The options of the split that the user gave, apart from the lists, as they can be given again.
  std::vector<std::string> given_split_options() const {
    std::vector<std::string> words;
    if (is_folded_) words = {"--fold", "write"};
    for (const auto& [option, texts] : given_.options()) {
      if (!option->is_of_request() || option->name() == "--support") continue;
      if (texts.empty()) words.emplace_back(option->name());
      for (const std::string& text : texts) {
        words.emplace_back(option->name());
        words.push_back(text);
      }
    }
    return words;
  }

  bool has_one_list() const { return request_.lists.paths.size() == 1; }
  bool has_targets() const { return request_.lists.targets().size() > 1; }

  // The files and folders that are complete.
  std::vector<std::string> written() const {
    std::vector<std::string> paths;
    for (const std::string& path : {output_, deny_out_}) {
      if (!path.empty()) paths.push_back(path);
    }
    paths.insert(paths.end(), files_.written().begin(), files_.written().end());
    return paths;
  }

  const Given& given_;
  CiFiles files_;
  SplitRequest request_;
  BackendArgs backend_;
  LowerOptions options_;
  std::string output_, deny_out_;
  std::optional<OutputFolder> folder_;
  bool force_, json_, reports_;
  Bundle bundle_;
  std::vector<std::string> notes_;  // on the split
  std::string split_report_;        // of --show preview --json
  bool is_folded_ = false;          // though the user did not say so
};

}  // namespace

std::unique_ptr<Command> make_lower_command(const Given& given) {
  return std::make_unique<LowerCommand>(given);
}

}  // namespace cleave
