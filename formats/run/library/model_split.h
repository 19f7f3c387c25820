// ModelSplit: the partitions of a model, for programs that use cleave as a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/run/jobs/jobs.h"
#include "formats/run/library/model.h"
#include "formats/run/library/support_lists.h"

namespace cleave {

class SplitJob;  // formats/run/jobs/jobs.h
struct MeasuredModel;

struct PartitionInfo {
  std::string name;
  bool is_acc = false;              // on the accelerator
  std::vector<std::string> nodes;   // in model order
  std::vector<std::string> inputs;  // values that cross, in the order of the partition's file
  std::vector<std::string> outputs;
  std::optional<std::uint64_t> input_bytes;  // nullopt: the size of a tensor is unknown
  std::optional<std::uint64_t> output_bytes;
  std::uint64_t parameter_bytes = 0;
  std::optional<double> flops;  // nullopt: those of a node are unknown
  // Inferences per second that the link allows. nullopt: nothing crosses the link here, or the size
  // of a tensor that crosses is unknown.
  std::optional<double> qps;
};

// A node on the CPU, and why it is there.
struct CpuNode {
  std::string name;
  std::string op;
  std::string partition;
  std::string code;    // "no_rule", "rule_failed", ...: `cleave help` has a page on each
  std::string reason;  // one line, lower case
};

struct SplitNumbers {
  std::size_t nodes = 0;
  std::size_t acc_nodes = 0;
  std::size_t partitions = 0;
  std::size_t acc_partitions = 0;
  double flops = 0;                    // of the nodes whose FLOPs are known
  double acc_flops = 0;                // of those on the accelerator
  std::size_t unknown_flops = 0;       // nodes whose FLOPs are unknown
  std::optional<double> max_qps;       // the least qps of a partition; nullopt as there
  std::optional<double> inference_us;  // known where the request has costs or targets of both
                                       // devices, or files have their times or rates
};

struct WriteChoices {
  bool force = false;  // replace a folder that cleave wrote
};

struct WrittenSplit {
  std::vector<std::string> part_files;  // by partition: names within the folder
  std::vector<std::string> notes;       // what a reader of the report should know
};

// Refers to the model, which must outlive it; the lists need not. Can be moved.
class ModelSplit {
 public:
  ModelSplit(std::unique_ptr<MeasuredModel> measured, std::unique_ptr<SplitJob> job,
             Diagnostics warnings);
  ModelSplit(ModelSplit&&) noexcept;
  ModelSplit& operator=(ModelSplit&&) noexcept;
  ~ModelSplit();

  SplitNumbers numbers() const;
  std::vector<PartitionInfo> partitions() const;  // in call order; linear in the model
  std::vector<CpuNode> cpu_nodes() const;         // in model order
  // All: those of the lists, the model and the costs, then those about likely mistakes.
  const Diagnostics& warnings() const;
  std::string report() const;  // what `cleave preview` prints
  std::string json() const;    // what `cleave preview --json` prints: cleave.report, version 1

  // Writes what `cleave split --drawings none` writes: each partition, the root, report.txt, plans and
  // manifest.json. The folder appears complete or not at all.
  Result<WrittenSplit, Fault> write(const std::string& folder,
                                    const WriteChoices& choices = {}) const;

  // For programs that also use cleave's other headers, which may change in any version.
  const SplitJob& job() const { return *job_; }

 private:
  std::unique_ptr<MeasuredModel> measured_;  // null without costs
  std::unique_ptr<SplitJob> job_;
  Diagnostics warnings_;
};

// `request` names neither model nor lists: these were read. On error: the request cannot be met, or
// the costs cannot be read. With costs the model's
// file is read once more.
Result<ModelSplit, Fault> split_model(const Model& model, const SupportLists& lists,
                                      const SplitRequest& request = {});
Result<ModelSplit, Fault> split_model(const Model&& model, const SupportLists& lists,
                                      const SplitRequest& request = {}) = delete;

}  // namespace cleave
