// SplitRequest: all that decides a split. Every command and the library fill one; run_split()
// (split_job.h) makes the split.
//
//   auto request = request_of({{"min_acc_module_size", 2}, {"keep_qdq", true}, {"place", "cost"},
//                              {"target", "cpu:flops=5GFLOP/s,bandwidth=10GB/s"}});
//   if (!request) return refuse(request.error());
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/link.h"
#include "core/base/result.h"
#include "core/cost/target_spec.h"
#include "core/split/options.h"
#include "formats/base/text/limits.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/run/jobs/job_fault.h"

namespace cleave {

struct ModelRequest {
  std::string path = {};  // "-": standard input
  ShapeBindings bindings = {};
  ModelLimits limits = {};
};

// What decides which nodes the accelerator takes.
struct ListsRequest {
  std::vector<std::string> paths = {};     // of support lists
  std::vector<std::string> verdicts = {};  // of files of verdicts
  std::vector<std::string> deny = {};      // ops or names of nodes, also globs
  bool all_of = false;                     // a node must be accepted by each list, not by any

  // True when nothing is named that could accept a node.
  bool accepts_nothing() const { return paths.empty() && verdicts.empty(); }
};

struct SplitRequest {
  ModelRequest model = {};
  ListsRequest lists = {};
  SplitOptions options = {};
  std::optional<Link> link = {};  // nullopt: the first link that a list names, else the default
  std::vector<TargetSpec> targets = {};   // --target: they win over the numbers in lists
  std::vector<CostSource> costs = {};     // --costs; not read where the caller has read them
  std::vector<std::string> require = {};  // nodes, globs or ops that PlaceBy::cost leaves
};

// Sets what an option of `cleave split` sets: `name` is the option's, with _ for -. It is a setting of
// the table in split_settings.h, "pcie_bw", "target", "costs" or "require"; the last three add to
// those that were given. Refuses unknown names and values that the option refuses: the error does
// not name the option.
Status<> set_in_request(SplitRequest& request, std::string_view name, const SettingValue& value);

// A request without a model and lists. Also refuses a name that is given twice, unless it adds.
using NamedValues = std::vector<std::pair<std::string, SettingValue>>;
Result<SplitRequest, JobFault> request_of(const NamedValues& values);

}  // namespace cleave
