#include "formats/run/jobs/tune_text.h"

#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

std::string time_text(const std::optional<double>& us) {
  return us ? duration_text(*us) : std::string("not known");
}

std::string factor_text(double factor) { return fixed_text(factor, 2) + "x"; }

std::string headline(const TuneJob& job) {
  if (job.rounds.empty()) return "the budget was spent in the first round: latency not known";
  const TunedRound& best = job.rounds[job.best];
  std::string line =
      "latency " + time_text(best.total_us) + " after " + counted(job.rounds.size(), "round");
  if (job.best + 1 != job.rounds.size()) line += ", in round " + count_text(job.best + 1);
  if (best.all_cpu_us && best.total_us && *best.total_us > 0) {
    const bool is_slower =
        *best.total_us > *best.all_cpu_us && time_text(best.total_us) != time_text(best.all_cpu_us);
    line += is_slower ? ", slower than the CPU alone (" + time_text(best.all_cpu_us) + ")"
                      : ", all on the CPU " + time_text(best.all_cpu_us) + " (" +
                            factor_text(*best.all_cpu_us / *best.total_us) + ")";
  }
  if (!best.total_us) line += ": --costs FILE gives the times on the CPU";
  return line + (job.end == TuneEnd::budget ? "; the budget is spent" : "; the placement repeats");
}

// What a reader may take for granted but is not so; a line each.
std::string remarks(const TuneJob& job) {
  std::string text;
  if (job.end == TuneEnd::repeats && job.last != job.best) {
    text += wrapped("--place cost with these times gives the placement of round " +
                        count_text(job.last + 1) + " (" + time_text(job.rounds[job.last].total_us) +
                        "), not that of round " + count_text(job.best + 1) +
                        ": the times of its partitions do not add up from nodes",
                    0, 2);
  }
  if (job.end == TuneEnd::budget) {
    text += wrapped("--place cost with these times may give a placement that was not timed", 0, 2);
  }
  if (job.from_journal > 0) {
    text += wrapped(counted(job.from_journal, "time is", "times are") +
                        " from the journal of an earlier run: remove it to start afresh",
                    0, 2);
  }
  return text;
}

std::string name_of(TunedWhole::What what) {
  switch (what) {
    case TunedWhole::What::plan:
      return "the plan";
    case TunedWhole::What::greedy:
      return "all that the lists accept";
    case TunedWhole::What::cpu:
      break;
  }
  return "the CPU alone";
}

// What was measured as a whole, and which placement to take.
std::string wholes_text(const TuneJob& job) {
  if (job.wholes.empty()) {
    return wrapped(
        "not measured as a whole: --run-split COMMAND compares the plan with the CPU alone", 0, 2);
  }
  const TunedWhole& plan = job.wholes.front();
  const TunedWhole& best = *fastest(job);
  std::string line = "measured as a whole, the plan takes " + duration_text(plan.measured_us) +
                     ", predicted " + time_text(plan.predicted_us);
  if (best.measured_us < plan.measured_us) {
    line += ": it is not the fastest; " + name_of(best.what) + " takes " +
            duration_text(best.measured_us) + ": ";
    line += best.what == TunedWhole::What::cpu ? "do not split this model for this accelerator"
                                               : "split without --place cost";
  }
  for (const TunedWhole& whole : job.wholes) {
    constexpr double kTooFarOff = 2;
    const bool is_cpu = whole.what == TunedWhole::What::cpu && whole.predicted_us;
    if (!is_cpu || *whole.predicted_us <= 0 || whole.measured_us <= 0) continue;
    const double factor = whole.measured_us / *whole.predicted_us;
    if (factor < kTooFarOff && factor > 1 / kTooFarOff) continue;
    line += "; the profile does not fit this machine now: the CPU alone takes " +
            duration_text(whole.measured_us) + " where it foresees " +
            time_text(whole.predicted_us) + ", so measure it again";
  }
  TextTable table({"as a whole", "partitions", "predicted", "measured"},
                  {Align::left, Align::right, Align::right, Align::right});
  for (const TunedWhole& whole : job.wholes) {
    table.add_row({name_of(whole.what), count_text(whole.acc_parts), time_text(whole.predicted_us),
                   duration_text(whole.measured_us)});
  }
  return wrapped(line, 0, 2) + '\n' + table.text();
}

}  // namespace

std::string tune_text(const TuneJob& job) {
  std::string text = wrapped(headline(job), 0, 2) + remarks(job);
  if (job.rounds.empty()) return text;
  TextTable table(
      {"round", "partitions", "distinct", "timed", "known", "latency"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < job.rounds.size(); ++i) {
    const TunedRound& round = job.rounds[i];
    table.add_row({count_text(i + 1), count_text(round.acc_parts), count_text(round.distinct),
                   count_text(round.timed), count_text(round.known), time_text(round.total_us)});
  }
  return text + '\n' + table.text() + '\n' + wholes_text(job);
}

}  // namespace cleave
