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
#include "core/support/support_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/fault.h"
#include "formats/base/text/limits.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/models/bind/shape_bindings.h"

namespace cleave {

struct ModelRequest {
  std::string path = {};  // "-": standard input
  ShapeBindings bindings = {};
  ModelLimits limits = {};
};

// -s [NAME=]LIST: a list of a target. Targets stand in the order in which their names first appear.
struct ListSource {
  std::string target;  // a lower-case word; "": none was named, and the target is "acc"
  std::string path;
};

// Parses "npu=npu.json" or "npu.json". If the part before "=" is no lower-case word, as in
// "./a=b.json", the whole text is a path.
ListSource list_source_of(std::string_view text);

// What decides which nodes the accelerator takes, or each of several.
struct ListsRequest {
  std::vector<std::string> paths = {};     // of support lists, each perhaps as NAME=PATH
  std::vector<std::string> verdicts = {};  // of files of verdicts
  // Ops or names of nodes, also globs; NAME:OP where NAME is a target that `paths` name.
  std::vector<std::string> deny = {};
  bool all_of = false;               // a node must be accepted by each list, not by any
  std::optional<GraphView> as = {};  // the graph that they are about; nullopt: as each says

  // True when nothing is named that could accept a node.
  bool accepts_nothing() const { return paths.empty() && verdicts.empty(); }
  // The names of the targets; "acc" where none is named.
  std::vector<std::string> targets() const;
};

// That the option names a target that there is not.
Error no_such_target(std::string_view option, std::string_view name,
                     const std::vector<std::string>& targets);

// Refuses a target named "cpu", and too many targets.
Status<> check_targets(const ListsRequest& request);

// A setting for one of several targets: --min-acc-module-size npu=3.
struct TargetSetting {
  std::string target;
  std::string_view name;  // of the setting
  std::string value;
};

// --link npu-gpu=16GB/s: a link between two targets, both ways.
struct LinkSpec {
  std::string one, other;
  double bytes_per_second = 0;  // infinite: they share their memory
};

struct SplitRequest {
  ModelRequest model = {};
  ListsRequest lists = {};
  SplitOptions options = {};
  std::optional<Link> link = {};          // --pcie-bw: of targets that `targets` give no link
  std::vector<TargetSpec> targets = {};   // --target: they win over the numbers in lists
  std::vector<CostSource> costs = {};     // --costs; not read where the caller has read them
  std::vector<std::string> require = {};  // nodes, globs or ops that PlaceBy::cost leaves
  std::vector<TargetSetting> target_settings = {};
  std::vector<LinkSpec> links = {};
  bool overlap = false;  // the report has the time in which parts of different devices overlap
};

// The files of --costs: NAME=FILE is of the target NAME where the lists name one.
std::vector<CostSource> costs_of(const SplitRequest& request);

// The last --target with a link for the target: one that names it before one for all (acc:link=). Null: none.
const TargetSpec* link_spec_of(const SplitRequest& request, std::string_view target);

// Warnings about options of the request that do nothing beside others: --pcie-bw beside a link= of --target, and
// energy= of a single target. They are the same for every model.
Diagnostics idle_request_warnings(const SplitRequest& request);

// What set_in_request() sets: the settings of the table in split_settings.h, then "pcie_bw", "target", "costs",
// "require", "prefix", "link" and "overlap".
std::vector<std::string_view> request_settings();

// Sets what an option of `cleave split` sets: `name` is the option's, with _ for -. "target", "costs", "require",
// "prefix" and "link" add to those that were given. Settings that hold for each target also take NAME=VALUE for one.
// Refuses unknown names and values that the option refuses: the error does not name the option.
Status<> set_in_request(SplitRequest& request, std::string_view name, const SettingValue& value);

// A request without a model and lists. Also refuses a name that is given twice, unless it adds.
using NamedValues = std::vector<std::pair<std::string, SettingValue>>;
Result<SplitRequest, Fault> request_of(const NamedValues& values);

}  // namespace cleave
