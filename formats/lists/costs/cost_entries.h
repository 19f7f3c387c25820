// The contents of a cost file, before matching with a model: one entry for each kernel, layer or
// node that the file names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/device.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

enum class CostFormat : std::uint8_t {
  node_csv,     // node,time_us
  onnxruntime,  // a profile of ONNX Runtime: trace events as JSON
  openvino,     // performance counters of OpenVINO's benchmark_app, CSV or JSON
  tensorrt,     // trtexec --exportProfile
  cleave,       // cleave.costs
};

// "an ONNX Runtime profile", ...: the name in reports.
std::string_view cost_format_name(CostFormat format);

using ObservedDims = std::vector<std::int64_t>;

struct CostEntry {
  std::string name;
  std::string op = {};  // the runtime's name for it; "": not in the file
  double us = 0;        // of one run
  // Shapes of tensors at run time; a runtime may leave some inputs out. Empty: not recorded, or
  // different from run to run.
  std::vector<ObservedDims> inputs = {};
  std::vector<ObservedDims> outputs = {};
  bool is_inside = false;    // ran inside the body of a Loop, If or Scan, whose time includes it
  std::uint32_t around = 0;  // is_inside: the entry of the innermost one
  bool was_run = true;       // false: listed, but the runtime fused it into another
  std::uint64_t offset = 0;  // in the file
};

struct CostEntries {
  std::string path;
  CostFormat format = CostFormat::node_csv;
  std::vector<CostEntry> entries = {};  // in the order of the file
  std::vector<OpTime> op_times = {};    // calibrated times of ops, sorted by op: cleave.costs only
  std::size_t runs = 1;                 // each time is the median of this many
  bool has_blocked_layout = false;      // channels are padded to blocks in some of the shapes
  Diagnostics warnings = {};
};

// A runtime's profile: it covers the whole model, and fused nodes have no entry of their own.
inline bool is_profile(CostFormat format) {
  return format != CostFormat::node_csv && format != CostFormat::cleave;
}

}  // namespace cleave
