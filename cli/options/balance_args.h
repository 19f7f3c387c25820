// The options of balanced stages: what a stage costs, on what devices, and how hard to search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/balance/solver.h"
#include "core/base/link.h"
#include "core/stages/balance_graph.h"
#include "formats/costs/cost_set.h"

namespace CLI {
class App;
}

namespace cleave {

struct BalanceArgs {
  BalanceOptions options;    // but for the target
  GraphCostOptions costs;    // but for what is balanced, bandwidths and the table of times
  std::optional<Link> link;  // --link
  Link device_bandwidth = {.name = "100GB/s", .bytes_per_second = 100e9};
  enum class Memory : std::uint8_t { unset, none, bytes };
  Memory memory = Memory::unset;  // --memory
  std::uint64_t memory_bytes = 0;
  std::vector<CostSource> costs_files;  // --costs
  std::string devices_path;
  std::optional<double> target_seconds;  // --target-latency with a unit
  std::optional<double> target_number;   // without: where no times are balanced, of what is
  void add_to(CLI::App& app);
  // The first of these options that was given, for commands that cannot use them; else empty.
  std::string first_given() const;
  bool is_given(const std::string& option) const;

 private:
  const CLI::App* app_ = nullptr;
  void add_costs(const std::string& text);
  void set_memory(const std::string& text);
  void set_target(const std::string& text);
  void set_time_limit(const std::string& text);
};

}  // namespace cleave
