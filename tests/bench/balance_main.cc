// Compares balanced stages with the workloads with known optima (see
// formats/lists/tables/workload_file.h) and prints, for each: the objective and the bound as ratios to
// the optimum, what certifies the bound, our time, the recorded time of the reference program,
// memory. Then the targets:
//   published settings: the optimum to 1e-5, within 1 s and 200 MB each
//   further optima: geometric mean of the ratio 1.0000, worst 1.001, within 1 s each
//   bounds: never above the optimum; geometric mean 0.99 of it
//   a generated graph of a million nodes into 64 stages: 2.5 s after reading
//
// usage: cleave_bench_balance FOLDER [--effort low|normal|high] [--only TEXT] [--nodes N]
//                             [--stages N]
//
// Exit status: 0 targets met, 1 one is missed, 2 wrong usage, 3 the workloads cannot be read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/balance_cases.h"

namespace cleave::bench {
namespace {

constexpr double kSame = 1e-5;
constexpr double kMostSeconds = 1;
constexpr double kMostMegabytes = 200;
constexpr double kWorstRatio = 1.001;
constexpr double kMeanRatio = 1.00005;  // 1.0000 as printed
constexpr double kMeanBound = 0.99;
constexpr double kMostScaleSeconds = 2.5;

struct Request {
  std::string folder;
  std::string only;
  Effort effort = Effort::normal;
  std::size_t nodes = 1'000'000;  // of the generated graphs; 0: none
  std::uint32_t stages = 64;      // that they are cut into
};

bool parse_arguments(int argc, char** argv, Request& request) {
  if (argc < 2 || argc % 2 != 0) return false;
  request.folder = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::string value = argv[i + 1];
    if (option == "--only") {
      request.only = value;
    } else if (option == "--nodes") {
      request.nodes = std::strtoull(value.c_str(), nullptr, 10);
    } else if (option == "--stages") {
      request.stages = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (option == "--effort" && (value == "low" || value == "normal" || value == "high")) {
      request.effort = value == "low"      ? Effort::low
                       : value == "normal" ? Effort::normal
                                           : Effort::high;
    } else {
      return false;
    }
  }
  return true;
}

void print_row(const BalanceCase& of, const BalanceOutcome& outcome) {
  std::printf("%-52s %3s %9.6f %9.6f %-12s %8.3f ", of.input.c_str(),
              of.stages == 0 ? "all" : std::to_string(of.stages).c_str(), outcome.ratio,
              outcome.bound, outcome.certificate.c_str(), outcome.seconds);
  if (of.reference_seconds) {
    std::printf("%8.2f", *of.reference_seconds);
  } else {
    std::printf("%8s", "-");
  }
  std::printf(" %8.1f\n", static_cast<double>(outcome.peak_bytes) * 1e-6);
  std::fflush(stdout);
}

std::vector<BalanceOutcome> run_all(const Request& request, const char* title,
                                    const std::vector<BalanceCase>& cases) {
  std::printf("\n%s\n%-52s %3s %9s %9s %-12s %8s %8s %8s\n", title, "workload", "k", "ratio",
              "bound", "by", "s", "ref. s", "MB");
  std::vector<BalanceOutcome> outcomes;
  for (const BalanceCase& of : cases) {
    if (of.input.find(request.only) == std::string::npos) continue;
    outcomes.push_back(run_case(request.folder, of, request.effort));
    print_row(of, outcomes.back());
  }
  return outcomes;
}

double geometric_mean(const std::vector<BalanceOutcome>& outcomes, double BalanceOutcome::*of) {
  double sum = 0;
  for (const BalanceOutcome& outcome : outcomes) sum += std::log(outcome.*of);
  return std::exp(sum / static_cast<double>(std::max<std::size_t>(1, outcomes.size())));
}

double greatest(const std::vector<BalanceOutcome>& outcomes, double BalanceOutcome::*of) {
  double most = 0;
  for (const BalanceOutcome& outcome : outcomes) most = std::max(most, outcome.*of);
  return most;
}

bool print_target(const char* what, double actual, bool met) {
  std::printf("%-58s %12.6f  %s\n", what, actual, met ? "met" : "MISSED");
  return met;
}

bool check_bounds(const std::vector<BalanceOutcome>& outcomes) {
  const double most = greatest(outcomes, &BalanceOutcome::bound);
  const double mean = geometric_mean(outcomes, &BalanceOutcome::bound);
  const bool never_above = print_target("  greatest bound / optimum", most, most <= 1 + kSame);
  return print_target("  bound / optimum, geometric mean", mean, mean >= kMeanBound) && never_above;
}

bool check_published(const std::vector<BalanceOutcome>& outcomes) {
  double furthest = 0;
  double megabytes = 0;
  for (const BalanceOutcome& outcome : outcomes) {
    furthest = std::max(furthest, std::abs(outcome.ratio - 1));
    megabytes = std::max(megabytes, static_cast<double>(outcome.peak_bytes) * 1e-6);
  }
  const double slowest = greatest(outcomes, &BalanceOutcome::seconds);
  std::printf("\npublished settings\n");
  bool met = print_target("  furthest from the optimum, relative", furthest, furthest <= kSame);
  met = print_target("  slowest, s", slowest, slowest <= kMostSeconds) && met;
  met = print_target("  most memory, MB", megabytes, megabytes < kMostMegabytes) && met;
  return check_bounds(outcomes) && met;
}

bool check_optima(const std::vector<BalanceOutcome>& outcomes) {
  const double mean = geometric_mean(outcomes, &BalanceOutcome::ratio);
  const double worst = greatest(outcomes, &BalanceOutcome::ratio);
  const double slowest = greatest(outcomes, &BalanceOutcome::seconds);
  std::printf("\nfurther optima\n");
  bool met = print_target("  objective / optimum, geometric mean", mean, mean <= kMeanRatio);
  met = print_target("  worst", worst, worst <= kWorstRatio) && met;
  met = print_target("  slowest, s", slowest, slowest <= kMostSeconds) && met;
  return check_bounds(outcomes) && met;
}

bool check_scale(const Request& request) {
  std::printf("\ngenerated graphs into %u stages\n%-14s %10s %12s %10s %8s %8s\n", request.stages,
              "graph", "nodes", "problem, s", "stages, s", "gap", "MB");
  double slowest = 0;
  for (const char* kind : {"chain", "wide", "transformer"}) {
    const ScaleOutcome outcome = run_scale(*parse_graph_kind(kind), request.nodes, request.stages);
    std::printf("%-14s %10zu %12.3f %10.3f %8.4f %8.1f\n", kind, outcome.nodes,
                outcome.problem_seconds, outcome.stages_seconds, outcome.gap,
                static_cast<double>(outcome.peak_bytes) * 1e-6);
    slowest = std::max(slowest, outcome.problem_seconds + outcome.stages_seconds);
  }
  return print_target("  slowest, s", slowest, slowest <= kMostScaleSeconds);
}

bool run(const Request& request) {
  const auto published = run_all(request, "devices of the file", published_cases(request.folder));
  const auto optima = run_all(request, "k accelerators, no host", optima_cases(request.folder));
  const bool published_met = check_published(published);
  const bool optima_met = check_optima(optima);
  const bool scale_met = request.nodes == 0 || check_scale(request);
  return published_met && optima_met && scale_met;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  using namespace cleave::bench;
  Request request;
  if (!parse_arguments(argc, argv, request)) {
    std::fputs(
        "usage: cleave_bench_balance FOLDER [--effort low|normal|high] [--only TEXT] [--nodes N] "
        "[--stages N]\n",
        stderr);
    return 2;
  }
  try {
    return run(request) ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "cleave_bench_balance: %s\n", fault.what());
    return 3;
  }
}
