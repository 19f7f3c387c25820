// cleave lower: compiles the accelerator partitions with real compilers, and learns what they
// refuse.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <thread>

#include "cli/commands/compiler_commands.h"
#include "cli/jobs/split_run.h"
#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/whole_number.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/backend/backend_folders.h"
#include "formats/io/output_file.h"
#include "formats/lowering/lower_job.h"
#include "formats/lowering/verdict_store.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/support/support_file.h"

namespace cleave {
namespace {

enum class PinShapes : std::uint8_t { off, boundary };

class LowerCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    add_backend_options(app);
    add_loop_options(app);
    add_output_folder_option(app, "-o,--output", output_,
                             "folder for lowering.json, lowering.txt and learned.json");
    app.add_flag("--force", force_, "replace the folder when it exists");
    add_output_option(app, "--deny-out", deny_out_, "write the list with what was learned")
        ->type_name("LIST.json");
    app.add_flag("--json", json_, "print lowering.json instead of text");
  }

  ExitCode run() override {
    if (deny_out_.size() > 0 && support_.paths.size() != 1) {
      print_error("--deny-out extends one list, and several are given");
      return ExitCode::usage;
    }
    auto backends = load_backends();
    const auto lists = load_lists(support_);
    const auto model = load_model(model_);
    if (!backends || !lists || !model || !load_reference()) return ExitCode::bad_input;
    if (model->format() != ModelFormat::onnx) {
      return refuse({diagnostic_of(model_.path, "is not an ONNX model: compilers only take ONNX")});
    }
    const Temporary folder = Temporary::folder_in(std::filesystem::temp_directory_path().string());
    if (!folder.is_there()) {
      print_error("the folder for temporary files cannot be written", {"set TMPDIR to another"});
      return ExitCode::cannot_write;
    }
    if (const ExitCode code = open_folder(); code != ExitCode::done) return code;
    const OpFacts facts = op_facts(*model);
    split_.options = with_devices(split_.options, *lists, split_.targets, {});
    const LowerInput input{*model, *lists, facts, *backends, choose_link(split_.link, *lists)};
    set_options(folder.path());
    return lower(input);
  }

 private:
  void add_backend_options(CLI::App& app) {
    app.add_option("--backend", backends_,
                   "the compiler: a backend file, the name of a known backend (cleave backend "
                   "list), or NAME='program {model} -o {out}'; repeatable")
        ->required()
        ->allow_extra_args(false);
    app.add_option("--reference", reference_,
                   "the backend whose values and shapes are right (onnxruntime); runs the whole "
                   "model once");
    CLI::Option* const inputs =
        app.add_option("--inputs", options_.inputs,
                       "inputs of the model: a .npz file or a folder of input_0.pb, ...; "
                       "repeatable; without it inputs are random");
    set_file_role(inputs, FileRole::input)->allow_extra_args(false);
    app.add_option("--seed", options_.seed, "seed of random inputs")->check(whole_number());
    app.add_option("--launcher", launcher_,
                   "command that starts each command of a backend: 'srun --ntasks=1'");
    app.add_option("-j,--jobs", jobs_, "compilers at once; default: half of the cores")
        ->check(whole_number());
    app.add_option("--cache", cache_, "folder of known verdicts")->type_name("DIR");
    app.add_flag("--no-cache", no_cache_, "ask the compiler again, even about known verdicts");
  }

  void add_loop_options(CLI::App& app) {
    app.add_flag("--until-clean", options_.until_clean,
                 "deny what is refused and split again until everything lowers");
    app.add_option("--rounds", options_.most_rounds, "at most this many splits")
        ->check(CLI::Range(1, 1000));
    add_choice(app, "--culprit", options_.culprits,
               {{"none", CulpritSearch::none},
                {"hint", CulpritSearch::hint},
                {"node", CulpritSearch::node},
                {"minimal", CulpritSearch::minimal}},
               "how far to search for the cause: none; nodes that the message names; a node; the "
               "smallest set of nodes that still fails");
    app.add_option("--search-runs", options_.search_runs, "compiler runs of one search, at most")
        ->check(whole_number());
    app.add_flag("--compare", options_.compares,
                 "also run the partitions, and compare with the reference");
    add_choice(app, "--pin-shapes", pin_,
               {{"off", PinShapes::off}, {"boundary", PinShapes::boundary}},
               "whether open shapes at a partition's boundary may be pinned to the reference's");
    app.add_flag("--freeze-shape-values", options_.freezes_values,
                 "whether small integers at the boundary may become constants");
  }

  std::optional<std::vector<Backend>> load_backends() const {
    std::vector<Backend> backends;
    bool is_good = true;
    for (const std::string& text : backends_) {
      auto loaded = find_backend(text);
      if (!loaded) {
        print_diagnostics(loaded.error());
        is_good = false;
        continue;
      }
      print_diagnostics(loaded->warnings);
      backends.push_back(std::move(loaded->backend));
    }
    if (!is_good) return std::nullopt;
    return backends;
  }

  // False when a reference is needed but missing, or it cannot be read.
  bool load_reference() {
    const bool is_needed = options_.compares || options_.freezes_values;
    if (reference_.empty() && is_needed) reference_ = "onnxruntime";
    if (reference_.empty()) return true;
    auto loaded = find_backend(reference_);
    if (!loaded) {
      print_diagnostics(loaded.error());
      return false;
    }
    options_.reference = std::move(loaded->backend);
    if (options_.reference->serve && options_.reference->serve->does("capture")) return true;
    print_diagnostics({diagnostic_of(reference_,
                                     "has no \"serve\" with \"capture\": it cannot be "
                                     "the reference")});
    return false;
  }

  ExitCode open_folder() {
    if (output_.empty()) return ExitCode::done;
    auto folder = OutputFolder::create(output_, force_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    folder_.emplace(std::move(*folder));
    options_.journal = output_ + ".journal.jsonl";
    return ExitCode::done;
  }

  void set_options(const std::string& work) {
    options_.split = split_.options;
    options_.pins_shapes = pin_ == PinShapes::boundary;
    options_.jobs = jobs_ > 0 ? jobs_ : std::max(1U, std::thread::hardware_concurrency() / 2);
    if (const auto words = shell_words(launcher_)) options_.launcher = *words;
    if (!no_cache_) options_.cache_folder = cache_.empty() ? default_verdict_cache() : cache_;
    options_.work_folder = work;
  }

  ExitCode lower(const LowerInput& input) {
    auto outcome = [&] {
      ProgressBar bar(model_.path);
      options_.progress = bar.observer();
      return lower_model(input, options_);
    }();
    if (!outcome) return refuse_lowering(outcome.error());
    LoweringReport report{input, options_, *outcome};
    if (const ExitCode code = write_lists(report); code != ExitCode::done) return code;
    if (const ExitCode code = write_folder(report); code != ExitCode::done) return code;
    write_stdout(json_ ? lowering_json(report) : lowering_text(report));
    if (outcome->is_driver_fault) return ExitCode::external_failed;
    return outcome->is_clean ? ExitCode::done : ExitCode::check_failed;
  }

  static ExitCode refuse_lowering(const LowerFault& fault) {
    print_error(fault.message, fault.notes);
    switch (fault.kind) {
      case LowerFault::Kind::backend:
      case LowerFault::Kind::reference:
        return ExitCode::external_failed;
      case LowerFault::Kind::input:
        return ExitCode::bad_input;
      case LowerFault::Kind::output:
        return ExitCode::cannot_write;
    }
    return ExitCode::bug;
  }

  // Writes the learned list if asked to, and checks that it leads to the partitions of the last
  // round again.
  ExitCode write_lists(LoweringReport& report) const {
    if (deny_out_.empty()) return ExitCode::done;
    const auto text = learned_list_json(report.input.lists.front(), report.outcome.learned);
    if (!text) return refuse({diagnostic_of(deny_out_, text.error().message)});
    const auto written = write_file(deny_out_, *text);
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    report.learned_path = deny_out_;
    return check_learned(report, *text);
  }

  ExitCode check_learned(const LoweringReport& report, const std::string& text) const {
    const auto list = parse_support(deny_out_, text);
    if (!list) return refuse(list.error(), ExitCode::bug);
    const Graph& graph = report.input.model.graph;
    const std::vector<SupportList> lists = {list->list};
    const auto again =
        split_graph({graph, lists, report.input.facts, report.input.link}, options_.split);
    if (!again) return ExitCode::bug;
    std::size_t nodes = 0;
    for (const PartId part : again->partition.parts()) {
      if (again->partition.is_acc(part)) nodes += again->partition.nodes(part).size();
    }
    const bool is_last = report.outcome.rounds.back().learned.empty();
    if (!is_last || nodes == report.outcome.rounds.back().acc_nodes) return ExitCode::done;
    print_warning("the learned list leads to other partitions than those of the last round");
    return ExitCode::done;
  }

  ExitCode write_folder(const LoweringReport& report) {
    if (!folder_) return ExitCode::done;
    auto written = folder_->write("lowering.json", lowering_json(report));
    if (written) written = folder_->write("lowering.txt", lowering_text(report));
    const auto learned = learned_list_json(report.input.lists.front(), report.outcome.learned);
    const bool has_list = learned && report.input.lists.size() == 1;
    if (written && has_list) written = folder_->write("learned.json", *learned);
    if (written) written = folder_->write("manifest.json", "{\"format\": \"cleave.lowering\"}\n");
    if (written) written = folder_->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    std::error_code ignored;
    std::filesystem::remove(options_.journal, ignored);
    print_info("wrote " + output_);
    return ExitCode::done;
  }

  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
  LowerOptions options_;
  std::vector<std::string> backends_;
  std::string reference_, launcher_, cache_, output_, deny_out_;
  std::optional<OutputFolder> folder_;
  PinShapes pin_ = PinShapes::boundary;
  std::size_t jobs_ = 0;
  bool no_cache_ = false, force_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_lower_command() { return std::make_unique<LowerCommand>(); }

}  // namespace cleave
