// SplitChoices: what a program may ask of a split.
//
// Settings have the names of the options of `cleave split`, with _ for -, and of "settings" in
// manifest.json. Each may be given once. A number may also be text: "2".
//
//   setting              values                                    default
//   min_acc_module_size  number | "auto"                           1
//   skip_fusion          true | false                              false
//   allow_non_tensor     true | false                              false
//   move_non_tensor      true | false                              false
//   keep_qdq             true | false                              false
//   host_shapes          true | false                              false
//   place                "priority" | "cost"                       "priority"
//   residency            "off" | "on"                              "off"
//   start                "reference" | "cpu" | "acc" | "fewest"    "reference"
//   keep_acc_subgraphs   number | "unlimited" | "auto"             "unlimited"
//   keep_by              "flops" | "time" | "nodes" | "latency"    "flops"
//   extend               number | "none" | "all" | "auto"          "none"
//   acc_prefix           text                                      "_run_on_acc_"
//   non_acc_prefix       text                                      "_run_on_cpu_"
//
// A manifest has five settings more, of the model: "dims", "input_shapes" and "set_inputs" are
// ReadOptions::dims, input_shapes and input_values; "infer" is always "full" here, and "fold" is
// always "report".
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "formats/run/jobs/job_fault.h"

namespace cleave {

struct SplitRequest;  // formats/run/jobs/split_job.h

// {"min_acc_module_size", 2}, {"keep_qdq", true}, {"place", "cost"}
struct NamedSetting {
  std::string name;
  std::variant<bool, std::int64_t, std::string> value;
};

// Each text is what the option of `cleave split` takes.
struct SplitChoices {
  std::vector<NamedSetting> settings = {};
  // --pcie-bw: "gen4x16", "16GB/s". Empty: the link of a target, of a list, else 100 GiB/s.
  std::string link = {};
  // --costs: files of measured times, of the CPU: "profile.json", of the accelerator:
  // "acc=acc.json".
  std::vector<std::string> costs = {};
  // --target: numbers of the devices: "cpu:flops=5GFLOP/s,bandwidth=10GB/s",
  // "acc:launch=20us,flops=4TFLOP/s,bandwidth=50GB/s".
  std::vector<std::string> targets = {};
  // --require: nodes, globs or ops that {"place", "cost"} leaves on the accelerator.
  std::vector<std::string> require = {};
};

// The request of a job, without a model and lists. Refuses settings that are unknown, that are
// given twice or whose value is wrong, and texts that name no link or target.
Result<SplitRequest, JobFault> request_of(const SplitChoices& choices);

}  // namespace cleave
