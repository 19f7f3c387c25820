// Preview: the numbers of a split: bytes over the link, the QPS that they bound, coverage. No text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/split/split.h"

namespace cleave {

// A boundary value that the numbers leave out or that may cause trouble in lowering.
struct Hazard {
  enum class Kind : std::uint8_t { non_tensor_input, non_tensor_output, unknown_bytes };
  Kind kind;
  ValueId value;
};

struct PartNumbers {
  std::uint64_t input_bytes = 0;  // tensors of known size; a value counts once
  std::uint64_t output_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  double flops = 0;               // of the nodes whose FLOPs are known
  std::size_t unknown_flops = 0;  // nodes whose FLOPs are unknown
  std::optional<double> qps;      // accelerator parts that the link bounds: bw / max(in, out)
  std::vector<Hazard> hazards;    // accelerator parts only, inputs first
};

// acc / total; the ratio is 1 when the total is 0.
struct Coverage {
  double acc = 0;
  double total = 0;
  double ratio() const { return total > 0 ? acc / total : 1.0; }
};

// The FLOPs of the nodes whose FLOPs are known, and of how many they are.
struct FlopsCoverage : Coverage {
  std::size_t computing = 0;  // nodes of known FLOPs, not 0
  std::size_t unknown = 0;    // nodes without known FLOPs

  // False where the FLOPs of most nodes that compute are unknown: the share of the others would mislead. Nodes
  // without known FLOPs count as computing, those of 0 FLOPs, such as a Reshape, do not.
  bool are_known() const { return unknown <= computing; }
  // True where they are known and not 0.
  bool have_share() const { return total > 0 && are_known(); }
};

// The inferences per second that the link allows. In reality parts share one link: `shared_qps` is
// bw / max(sum in, sum out); half-duplex links add in and out instead of taking the larger.
struct LinkBound {
  double max_qps = 0;  // the least over the parts
  PartId bottleneck = kNone<PartId>;
  double max_qps_half_duplex = 0;
  double shared_qps = 0;
  double shared_qps_half_duplex = 0;
};

// The share of the model in some nodes.
struct Coverages {
  Coverage nodes;
  FlopsCoverage flops;
  Coverage parameter_bytes;  // acc: what nodes read, also through constants; total: all of the
                             // file, and constants that read nothing. Aliases count once.
  std::uint64_t model_parameter_bytes = 0;
  std::vector<NodeId> unknown_flops_ops;  // the first node of each op type without known FLOPs
};

// What one of several devices has.
struct DeviceNumbersOfSplit {
  std::size_t parts = 0;
  std::size_t nodes = 0;
  double flops = 0;  // of nodes whose FLOPs are known
  std::size_t unknown_flops = 0;
  std::uint64_t parameter_bytes = 0;  // each once, however many of its parts read it
  std::optional<double> qps = {};     // that its link allows; nullopt: no part of it is bound
  bool has_unknown_bytes = false;     // a tensor that crosses its link has no known size

  bool is_work_known() const { return flops > 0 || unknown_flops == 0; }
};

// The devices of a split for several targets: the targets, and last the CPU.
struct DevicesOfSplit {
  std::vector<DeviceNumbersOfSplit> devices = {};
  // From one device to another, row by row: values that one makes and the other reads, once for each
  // accelerator part that reads them, and once for the CPU, which also makes the model's inputs and
  // reads its outputs. Tensors of known size.
  std::vector<std::uint64_t> bytes = {};
  std::vector<bool> has_unknown = {};  // the same: the bytes leave out a tensor of unknown size

  bool are_bytes_known(std::size_t from, std::size_t to) const {
    return !has_unknown[from * devices.size() + to];
  }
  std::uint64_t bytes_between(std::size_t from, std::size_t to) const {
    return bytes[from * devices.size() + to];
  }
};

struct Preview {
  Link link;
  PerPart<PartNumbers> parts;
  std::optional<LinkBound> bound;  // nullopt when the link bounds no accelerator part
  Coverages coverage;              // of the nodes in accelerator parts
  DevicesOfSplit by_device = {};   // empty where there is one accelerator
};

// Whether the file has the bytes of a parameter: no node makes it, or one that reads nothing, as ONNX's
// Constant.
bool is_in_file(const Graph& graph, ValueId parameter);

// Linear. A parameter that both sides read counts as the accelerator's.
Coverages cover(const Graph& graph, const NodeSet& acc);

// Linear. Method: FX splitter, split_preview; the shared-link and half-duplex bounds are ours. With
// several targets, each with its own link, linear for each.
Preview preview_split(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                      const Link& link, std::span<const Target> targets = {});

}  // namespace cleave
