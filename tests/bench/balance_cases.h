// The workloads with known optima: what was recorded for each, and the result of balanced stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stages/balance.h"
#include "tests/bench/bench_graph.h"

namespace cleave::bench {

struct BalanceCase {
  std::string input;         // file, from the workloads' folder
  std::uint32_t stages = 0;  // accelerators, no host; 0: the devices of the file
  bool has_memory_cap = true;
  double optimum = 0;
  std::optional<double> reference_seconds =
      std::nullopt;  // of the program that comes with the workloads
};

struct BalanceOutcome {
  double ratio = 0;  // objective / optimum
  double bound = 0;  // bound / optimum
  std::string certificate;
  double seconds = 0;  // without reading
  std::uint64_t peak_bytes = 0;
  bool time_limit_hit = false;
};

// The entries of published_setting.json and optima.json in the folder, in their order. Throws when
// they are missing or malformed.
std::vector<BalanceCase> published_cases(const std::string& folder);
std::vector<BalanceCase> optima_cases(const std::string& folder);

// Throws when the file cannot be read or no assignment fits.
BalanceOutcome run_case(const std::string& folder, const BalanceCase& wanted, Effort effort);

// A generated graph cut into stages.
struct ScaleOutcome {
  std::size_t nodes = 0;
  double problem_seconds = 0;  // from the graph to the balance problem
  double stages_seconds = 0;
  double gap = 0;
  std::uint64_t peak_bytes = 0;
};
ScaleOutcome run_scale(GraphKind kind, std::size_t nodes, std::uint32_t stages);

}  // namespace cleave::bench
