// Options of every pass, with their defaults in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

struct AccFinderOptions {
  bool allow_non_tensor = false;  // non-tensor data may cross between accelerator and CPU
};

struct FusionOptions {
  bool skip = false;  // form no fusion groups
};

enum class StartSide : std::uint8_t {
  reference,  // the CPU if a CPU node that reads an input or a parameter is ready, else the
              // accelerator
  cpu,
  acc,
  fewest,  // whichever end gives fewer subgraphs
};

struct SubgraphOptions {
  StartSide start = StartSide::reference;
  std::size_t min_acc_size = 1;  // smaller accelerator subgraphs go to the CPU; 0 and 1 keep all
};

struct ExtendOptions {
  enum class Which : std::uint8_t { none, one, all, automatic };
  Which which = Which::none;
  std::size_t subgraph = 0;  // for `one`: its number, counting all subgraphs
};

struct PartitionOptions {
  std::string acc_prefix = "_run_on_acc_";
  std::string non_acc_prefix = "_run_on_cpu_";
};

struct SplitOptions {
  AccFinderOptions acc_finder;
  FusionOptions fusion;
  SubgraphOptions subgraphs;
  ExtendOptions extend;
  PartitionOptions partition;
};

}  // namespace cleave
