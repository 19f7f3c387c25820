// cleave advise: what to support next, by the gain over all given models.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/report/advice/advice_report.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class AdviseCommand : public Command {
 public:
  explicit AdviseCommand(const Given& given)
      : given_(given),
        paths_(given.texts("MODEL")),
        request_(given.split),
        target_(given.text("--for")),
        page_(given) {
    options_.goal = given.word<Goal>("--goal");
    options_.steps = static_cast<std::size_t>(given.limit("steps").value_or(5));
  }

  ExitCode run() override {
    if (std::ranges::count(paths_, "-") > 1) {
      print_error("standard input can be only one of the models");
      return ExitCode::usage;
    }
    if (request_.options.extend.which == ExtendOptions::Which::one) {
      print_error("--extend takes only all or auto here: every split numbers its subgraphs anew");
      return ExitCode::usage;
    }
    if (const std::string fault = target_fault(); !fault.empty()) {
      print_error(fault, {"try: cleave advise --help"});
      return ExitCode::usage;
    }
    if (const auto fine = check_cost_targets(request_); !fine) {
      return cleave::refuse(fault_of(FaultCause::request, fine.error()));
    }
    if (const auto may = page_.check(); !may) {
      return cleave::refuse(may.error(), ExitCode::cannot_write);
    }
    auto lists = load_lists(request_.lists);
    print_diagnostics(idle_request_warnings(request_));
    if (!load_models() || !lists) return ExitCode::bad_input;
    lists->warnings.clear();  // they are printed
    std::vector<SplitJob> jobs;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      auto job =
          run_split(request_, {}, {.model = &models_[i], .costs = &costs_[i], .lists = &*lists});
      if (!job) return cleave::refuse(job.error());
      print_warnings(*job);
      jobs.push_back(*std::move(job));
    }
    if (options_.goal == Goal::latency) {
      for (const SplitJob& job : jobs) {
        const TimeBasis& basis = job.time().basis;
        for (std::size_t i = 0; i < job.targets().size(); ++i) {
          const TargetTimes times{basis.times.cpu, basis.times.on_target(i)};
          const auto known = check_latency_input(job.graph(), {times, basis.machine_with(i)});
          if (!known) return refuse(known.error());
        }
      }
    }
    if (options_.goal == Goal::flops) {
      for (const SplitJob& job : jobs) {
        if (auto fault = open_flops_fault(job)) return cleave::refuse(*fault);
      }
    }
    const Report first = jobs.front().report();
    const bool has_targets = !first.targets.empty();
    const SplitOptions split =
        has_targets ? first.options
                    : with_devices(request_.options, lists->lists, request_.targets, {});
    const Link link = has_targets ? first.targets[place_of_target()].link : jobs.front().link();
    if (options_.goal == Goal::qps && link.is_none) {
      print_error("--goal qps: the list says that its device has no link of its own",
                  {"--pcie-bw BANDWIDTH states one"});
      return ExitCode::usage;
    }
    if (has_targets) options_.target = {first.lists, first.targets, place_of_target()};
    const std::vector<SupportList> own = has_targets ? options_.target.own() : first.lists;
    size(jobs);
    const auto advice = advise_with_progress(jobs, own, split, link);
    if (!advice) return refuse(advice.error());
    const auto sweep = has_targets ? Result<SettingsSweep>(SettingsSweep())
                                   : sweep_with_progress(jobs, split, link);
    if (!sweep) return refuse(sweep.error());
    const auto trials = try_options(jobs, sized_);
    const AdviceReport report{
        models_, has_targets ? own : lists->lists, split,     link,          options_, *advice,
        *sweep,  trials ? &*trials : nullptr,      at_sizes_, size_options_, inputs_};
    if (page_.is_asked()) {
      const ExitCode code = page_.write({advice_page(report), {}});
      if (code != ExitCode::done) return code;
    }
    write_stdout(given_.flag("--json") ? advice_json(report) : advice_text(report),
                 page_.written());
    return ExitCode::done;
  }

 private:
  // That the sizes on which the model's FLOPs depend are open; nullopt where its FLOPs are known, or no option
  // gives them.
  static std::optional<Fault> open_flops_fault(const SplitJob& job) {
    const Report report = job.report();
    const Coverages& coverage = report.preview.coverage;
    if (coverage.flops.are_known()) return std::nullopt;
    const std::string sizes = size_options_text(report.model, report.graph);
    if (sizes.empty()) return std::nullopt;
    return input_fault({{.file = report.model.source.path(),
                         .message = open_numbers_text(report.graph, "--goal flops", "FLOPs",
                                                      coverage.flops.unknown),
                         .notes = {"give " + sizes}}});
  }

  // False when a model could not be read; the reason is then printed.
  bool load_models() {
    BoundModels bound(given_, paths_.size() > 1);
    for (const std::string& path : paths_) {
      auto model = bound.load_measured(path, costs_of(request_));
      if (!model) continue;
      models_.push_back(std::move(model->model));
      costs_.push_back(std::move(model->costs));
    }
    return models_.size() == paths_.size() && bound.are_all_bound();
  }

  // What is idle in one of several models may have its use in another.
  void print_warnings(const SplitJob& job) const {
    Diagnostics warnings = job.warnings();
    if (models_.size() > 1) {
      std::erase_if(warnings, [](const auto& warning) { return warning.file != "--require"; });
    }
    print_diagnostics(warnings);
  }

  // The graphs at the first sizes of their open dims, so that work and bytes are numbers; the lists are asked
  // about the models as they are.
  void size(const std::vector<SplitJob>& jobs) {
    for (const SplitJob& job : jobs) {
      sized_.push_back(job.graph());
      const auto sizes = open_sizes_of(job);
      if (jobs.size() == 1) inputs_ = set_input_text(job.graph(), deciding_inputs(job.graph()));
      if (!sizes) continue;
      sized_.back() = job.graph().with_shapes(shapes_at_first(job.model(), *sizes));
      at_sizes_ += (at_sizes_.empty() ? "" : "; ") +
                   (jobs.size() > 1 ? model_name(job.model()) + ": " : "") +
                   first_sizes_text(*sizes);
      const std::string give = size_options_text(job.model(), job.graph(), &*sizes);
      if (jobs.size() == 1 || size_options_.empty()) size_options_ = give;
    }
  }

  std::vector<ModelToSplit> models_of(const std::vector<SplitJob>& jobs) const {
    std::vector<ModelToSplit> models;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const SplitJob& job = jobs[i];
      models.push_back({.graph = job.graph(),
                        .facts = job.facts(),
                        .times = &job.time().basis.times,
                        .required = job.required(),
                        .sized = &sized_[i]});
    }
    return models;
  }

  // The target of --for, among those of the lists.
  std::size_t place_of_target() const {
    const std::vector<std::string> names = request_.lists.targets();
    return static_cast<std::size_t>(std::ranges::find(names, target_) - names.begin());
  }

  // What is wrong with --for; "" if nothing is.
  std::string target_fault() const {
    const std::vector<std::string> names = request_.lists.targets();
    const std::string all = joined(names, " or ");
    if (target_.empty()) {
      return names.size() < 2 ? "" : "whose lists are the additions for? give --for " + all;
    }
    return place_of_target() < names.size()
               ? ""
               : no_such_target("--for", target_, names).message + ": give " + all;
  }

  Result<Advice> advise_with_progress(const std::vector<SplitJob>& jobs,
                                      const std::vector<SupportList>& lists,
                                      const SplitOptions& split, const Link& link) {
    ProgressBar bar("");
    options_.progress = bar.observer();
    auto advice = advise(models_of(jobs), lists, split, link, options_);
    options_.progress = {};  // the bar no longer exists
    return advice;
  }

  Result<SettingsSweep> sweep_with_progress(const std::vector<SplitJob>& jobs,
                                            const SplitOptions& split, const Link& link) const {
    ProgressBar bar("");
    return sweep_settings(models_of(jobs), jobs.front().lists(), split, link, bar.observer());
  }

  static ExitCode refuse(const Error& error) {
    print_error(error.message, error.notes);
    return ExitCode::usage;
  }

  const Given& given_;
  std::vector<std::string> paths_;
  const SplitRequest& request_;
  AdviceOptions options_;
  std::string target_;
  std::vector<LoadedModel> models_;
  std::vector<CostSet> costs_;  // by model
  std::vector<Graph> sized_;    // by model
  std::string at_sizes_, size_options_, inputs_;
  PageFile page_;
};

}  // namespace

std::unique_ptr<Command> make_advise_command(const Given& given) {
  return std::make_unique<AdviseCommand>(given);
}

}  // namespace cleave
