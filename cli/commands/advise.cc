// cleave advise: what to support next, by the gain over all given models.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/jobs/bound_models.h"
#include "cli/jobs/split_run.h"
#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/whole_number.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/report/advice/advice_report.h"

namespace cleave {
namespace {

class AdviseCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_input_option(app, "MODEL", paths_, "model files, or - for standard input")->required();
    shapes_.add_bindings_to(app);
    shapes_.add_costs_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    add_choice(app, "--goal", options_.goal,
               {{"subgraphs", Goal::subgraphs},
                {"bytes", Goal::bytes},
                {"qps", Goal::qps},
                {"flops", Goal::flops},
                {"latency", Goal::latency}},
               "what to gain: fewer accelerator subgraphs, fewer bytes over the link, a higher QPS "
               "that it bounds, more FLOPs on the accelerator, or less time of an inference");
    app.add_option("--steps", options_.steps, "number of steps in the best order")
        ->check(whole_number())
        ->capture_default_str()
        ->type_name("COUNT");
    app.add_flag("--json", json_, "print the advice as JSON");
  }

  ExitCode run() override {
    if (std::count(paths_.begin(), paths_.end(), "-") > 1) {
      print_error("standard input can be only one of the models");
      return ExitCode::usage;
    }
    if (split_.options.extend.which == ExtendOptions::Which::one) {
      print_error("--extend takes only all or auto here: every split numbers its subgraphs anew");
      return ExitCode::usage;
    }
    auto lists = load_lists(support_);
    std::vector<MeasuredModel> measured = load_models();
    if (!lists || measured.size() != paths_.size()) return ExitCode::bad_input;
    const Link link = choose_link(split_.link, *lists);
    split_.options = with_devices(split_.options, *lists, split_.targets, {});
    const std::vector<TargetTimes> times = times_of(measured, link);
    if (options_.goal == Goal::latency) {
      for (const TargetTimes& of_model : times) {
        const Machine machine = machine_of(split_.options, link);
        const auto known = check_latency_input({of_model, machine});
        if (!known) return refuse(known.error());
      }
    }
    std::vector<LoadedModel> models;
    std::vector<Graph> graphs;
    for (MeasuredModel& model : measured) {
      graphs.push_back(model.model.graph.with_shapes(observed_shapes(model.costs)));
      models.push_back(std::move(model.model));
    }
    std::vector<OpFacts> facts;
    facts.reserve(models.size());
    for (const LoadedModel& model : models) facts.push_back(op_facts(model));
    std::vector<ModelToSplit> to_split;
    for (std::size_t i = 0; i < models.size(); ++i) {
      to_split.push_back({graphs[i], facts[i], &times[i]});
    }
    const auto advice = advise_with_progress(to_split, *lists, link);
    if (!advice) return refuse(advice.error());
    const auto sweep = sweep_with_progress(to_split, *lists, link);
    if (!sweep) return refuse(sweep.error());
    const AdviceReport report{models, *lists, split_.options, link, options_, *advice, *sweep};
    write_stdout(json_ ? advice_json(report) : advice_text(report));
    return ExitCode::done;
  }

 private:
  // Fewer models than paths when one could not be read; the reason is then printed.
  std::vector<MeasuredModel> load_models() const {
    std::vector<MeasuredModel> models;
    BoundModels bound(shapes_, paths_.size() > 1);
    for (const std::string& path : paths_) {
      if (auto model = bound.load_measured(path)) models.push_back(*std::move(model));
    }
    if (const std::string fault = bound.unbound(); !fault.empty()) {
      print_error(fault);
      models.clear();
    }
    return models;
  }

  std::vector<TargetTimes> times_of(const std::vector<MeasuredModel>& models,
                                    const Link& link) const {
    std::vector<TargetTimes> times;
    for (const MeasuredModel& model : models) {
      Machine machine = machine_of(split_.options, link);
      machine.cpu.calibrated = model.costs.cpu_ops;
      machine.acc.calibrated = model.costs.acc_ops;
      const Graph graph = model.model.graph.with_shapes(observed_shapes(model.costs));
      times.push_back(measured_targets(graph, machine, model.costs).times);
    }
    return times;
  }

  Result<Advice> advise_with_progress(std::span<const ModelToSplit> models,
                                      const std::vector<SupportList>& lists, const Link& link) {
    ProgressBar bar("");
    options_.progress = bar.observer();
    auto advice = advise(models, lists, split_.options, link, options_);
    options_.progress = {};  // the bar no longer exists
    return advice;
  }

  Result<SettingsSweep> sweep_with_progress(std::span<const ModelToSplit> models,
                                            const std::vector<SupportList>& lists,
                                            const Link& link) const {
    ProgressBar bar("");
    return sweep_settings(models, lists, split_.options, link, bar.observer());
  }

  static ExitCode refuse(const Error& error) {
    print_error(error.message, error.notes);
    return ExitCode::usage;
  }

  std::vector<std::string> paths_;
  ModelArgs shapes_;
  SupportArgs support_;
  SplitArgs split_;
  AdviceOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_advise_command() { return std::make_unique<AdviseCommand>(); }

}  // namespace cleave
