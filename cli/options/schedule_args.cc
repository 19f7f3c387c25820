#include "cli/options/schedule_args.h"

#include <CLI/CLI.hpp>

#include "cli/options/choice.h"
#include "cli/options/whole_number.h"

namespace cleave {

void ScheduleArgs::add_to(CLI::App& app) {
  app_ = &app;
  add_choice(app, "--schedule", request_.kind,
             {{"gpipe", ScheduleKind::gpipe},
              {"1f1b", ScheduleKind::one_f_one_b},
              {"interleaved", ScheduleKind::interleaved},
              {"zero-bubble", ScheduleKind::zero_bubble}},
             "in which order ranks train microbatches: bubble, throughput and memory of this and "
             "the other schedules; -o writes schedule.csv, which torch's pipeline runtime loads, "
             "and schedule.html");
  auto* const schedule = app.get_option("--schedule");
  app.add_option("--microbatches", request_.microbatches, "into how many parts a batch is divided")
      ->check(whole_number())
      ->check(CLI::Range(1U, 10'000U).description(""))
      ->type_name("M")
      ->needs(schedule);
  app.add_option("--ranks", request_.ranks,
                 "processes that the stages are dealt to in turn (default: one for each stage; "
                 "interleaved: one for two)")
      ->check(whole_number())
      ->check(CLI::Range(1U, 10'000U).description(""))
      ->type_name("R")
      ->needs(schedule);
  app.add_option("--backward-factor", request_.backward_factor,
                 "a backward pass takes this many times as long as a forward pass")
      ->check(finite_number(0, 1000))
      ->type_name("X")
      ->capture_default_str()
      ->needs(schedule);
  schedule->needs("--microbatches");
}

std::optional<ScheduleRequest> ScheduleArgs::request() const {
  if (app_->count("--schedule") == 0) return std::nullopt;
  return request_;
}

}  // namespace cleave
