// A split from files to numbers.

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/lists/support.h"
#include "core/split/split.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/onnx/index/index.h"
#include "formats/pt2/pt2.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/jobs.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- lists read ----

namespace {

constexpr std::string_view kAssigned = "assigned to ";

// "OP" of "npu:OP", for the target npu; the text itself, for any target, where none is named before
// it; nullopt where it is for another target.
std::optional<std::string> denied_for(const std::string& target, const std::string& text,
                                      std::span<const std::string> targets) {
  const std::size_t colon = text.find(':');
  const bool is_domain = colon != text.npos && text.compare(colon, 2, "::") == 0;
  const std::string named = colon == text.npos || is_domain ? "" : text.substr(0, colon);
  if (!contains(targets, named)) return text;
  return named == target ? std::optional(text.substr(colon + 1)) : std::nullopt;
}

// With one target all devices of a file mean that target.
void warn_of_several_devices(const SupportList& verdicts, Diagnostics& warnings) {
  std::vector<std::string> devices;
  for (const Rule& rule : verdicts.allow) {
    if (!rule.why.starts_with(kAssigned)) continue;
    const std::string device = rule.why.substr(kAssigned.size());
    if (!contains(devices, device)) {
      devices.push_back(device);
    }
  }
  if (devices.size() < 2) return;
  warnings.push_back({.severity = Severity::warning,
                      .file = verdicts.path,
                      .message = "names the devices " + escaped_in_quotes(devices[0]) + " and " +
                                 escaped_in_quotes(devices[1]) +
                                 ", and there is one target: both mean it",
                      .notes = {"to keep them apart give each a list: -s NAME=LIST -s NAME=LIST"}});
}

class ListsReader {
 public:
  explicit ListsReader(const ListsRequest& request)
      : request_(request), names_(request.targets()) {}

  Loaded<ListsRead> run() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::size_t first = read_.lists.size();
      read_paths(names_[i]);
      deny(names_[i]);
      read_verdicts(i);
      read_.targets.push_back(
          {.name = names_[i], .first_list = first, .end_list = read_.lists.size()});
    }
    if (faults_.empty()) return std::move(read_);
    faults_.insert(faults_.begin(), read_.warnings.begin(), read_.warnings.end());
    return std::move(faults_);
  }

 private:
  void read_paths(const std::string& target) {
    std::vector<SupportList> own;
    for (const std::string& text : request_.paths) {
      const ListSource source = list_source_of(text);
      if ((source.target.empty() ? kOnlyTarget : source.target) != target) continue;
      auto loaded = read_list(source.path);
      if (!loaded) {
        append(faults_, loaded.error());
        const std::string name = source.target.empty() ? upper_case_target(text) : "";
        if (!name.empty()) {
          faults_.back().notes.push_back("names of targets are lower-case words: write " + name +
                                         text.substr(name.size()));
        }
        continue;
      }
      append(read_.warnings, loaded->warnings);
      own.push_back(std::move(loaded->list));
      ListRole& role = own.back().role;
      if (request_.all_of && role == ListRole::any_of) role = ListRole::all_of;
      if (!request_.as) continue;
      own.back().view = *request_.as;
      own.back().is_view_given = true;
    }
    append(read_.warnings, overruled_list_warnings(own));
    append(read_.warnings, left_out_numbers(own));
    for (SupportList& list : own) read_.lists.push_back(std::move(list));
  }

  // Warns of lists whose numbers, or whose link, do not count. A target has one set of numbers and one link:
  // those of its first list that states any.
  static Diagnostics left_out_numbers(const std::vector<SupportList>& own) {
    Diagnostics warnings;
    const auto warn = [&](std::string_view what, auto numbers_of) {
      const SupportList* counts = nullptr;
      for (const SupportList& list : own) {
        const auto numbers = numbers_of(list);
        if (!numbers) continue;
        if (counts == nullptr) counts = &list;
        if (numbers == numbers_of(*counts)) continue;
        warnings.push_back(
            {.severity = Severity::warning,
             .file = list.path,
             .message = "its " + std::string(what) + " is left out: that of " +
                        escaped_in_quotes(counts->path) +
                        ", the first list of the target that has one, counts",
             .notes = {"where the lists are of two devices, name them: -s npu=LIST -s gpu=LIST"}});
      }
    };
    warn("\"target\"", list_target);
    warn("\"link\"", [](const SupportList& list) { return list.link; });
    return warnings;
  }

  // "npu" of "NPU=npu.json", as OpenVINO spells it; "" for any other text.
  static std::string upper_case_target(const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    return name.size() == text.size() ? "" : list_source_of(lower_case(name) + "=").target;
  }

  void deny(const std::string& target) {
    std::vector<std::string> denied;
    for (const std::string& text : request_.deny) {
      if (auto own = denied_for(target, text, named_targets())) denied.push_back(*std::move(own));
    }
    if (!denied.empty()) read_.lists.push_back(list_of_denials(denied));
  }

  // Those that the user named: "acc" may also be the beginning of a node's name.
  std::span<const std::string> named_targets() const {
    const auto is_named = [](const std::string& text) {
      return !list_source_of(text).target.empty();
    };
    const bool has_names = std::ranges::any_of(request_.paths, is_named);
    return has_names ? std::span<const std::string>(names_) : std::span<const std::string>();
  }

  void read_verdicts(std::size_t target) {
    for (const std::string& path : request_.verdicts) {
      auto verdicts = read_verdict_file(path, {names_, target});
      if (!verdicts) {
        if (target == 0) append(faults_, verdicts.error());
        continue;
      }
      if (names_.size() < 2) warn_of_several_devices(*verdicts, read_.warnings);
      read_.lists.push_back(*std::move(verdicts));
    }
  }

  const ListsRequest& request_;
  const std::vector<std::string> names_;
  ListsRead read_;
  Diagnostics faults_;
};

}  // namespace

Loaded<ListsRead> read_lists(const ListsRequest& request) {
  if (const auto fine = check_targets(request); !fine) {
    return Diagnostics{{.file = {}, .message = fine.error().message, .notes = fine.error().notes}};
  }
  return ListsReader(request).run();
}

namespace {

// Warnings about items of --deny that are neither an op nor the name of a node of the model.
Diagnostics idle_denial_warnings(const Graph& graph, std::span<const SupportList> lists) {
  Diagnostics warnings;
  for (const SupportList& list : lists) {
    if (!is_list_of_denials(list)) continue;
    for (const std::string& what : idle_denials(graph, list)) {
      warnings.push_back(
          {.severity = Severity::warning,
           .file = list.path,
           .message = escaped_in_quotes(what) +
                      " is no op of the model and the name of no node: it denies nothing"});
    }
  }
  return warnings;
}

}  // namespace

// ---- model ties ----

NodeTies model_ties(const LoadedModel& model) {
  if (model.tflite() != nullptr) return tflite_ties(*model.tflite());
  if (model.pt2() != nullptr) return pt2_ties(*model.pt2());
  if (model.onnx() == nullptr) return {};
  NodeTies ties{.order = {},
                .whole = nodes_of_contexts(*model.onnx(), model.graph),
                .way_out = "",
                .causes = {}};
  ties.causes.assign(ties.whole.size(), "nodes that share a compiled context");
  return ties;
}

// ---- split job ----
//
// Steps:
// 1. read the lists, the model, and the files of costs;
// 2. warn of rules and lists without effect;
// 3. run the passes;
// 4. count what crosses the link, and the time of an inference;
// 5. add notes that answer likely questions of the report's reader.

namespace {

Machine with_lists(Machine machine, const std::vector<SupportList>& lists) {
  const auto target = first_list_target(lists);
  return target ? with_target(std::move(machine), *target) : machine;
}

// The link of a target, the first of these that is given: link= of --target, --pcie-bw, that of its lists, the
// default.
Link link_of(const SplitRequest& request, const std::string& target,
             const std::vector<SupportList>& lists) {
  if (const TargetSpec* const spec = link_spec_of(request, target)) return *spec->link;
  if (request.link) return *request.link;
  for (const SupportList& list : lists) {
    if (list.link) return *list.link;
    const auto numbers = list_target(list);
    if (numbers && numbers->link) return *numbers->link;
  }
  return default_link();
}

Error no_such_target(std::string_view option, const std::string& name,
                     std::span<const Target> targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.name);
  return cleave::no_such_target(option, name, names);
}

// The target of that name; null when there is none.
Target* find_target(std::span<Target> targets, const std::string& name) {
  const auto found = std::ranges::find(targets, name, &Target::name);
  return found == targets.end() ? nullptr : &*found;
}

Error for_several(const std::string& option) {
  return {option + " is for several targets, and there is one",
          std::nullopt,
          {"name them with their lists: -s npu=LIST -s gpu=LIST"}};
}

// Applies one setting to one target.
void set_for_target(const TargetSetting& given, Target& target) {
  SplitOptions set;
  find_option(given.name, of::split)->more.setting.set(set, given.value);
  if (given.name == "--keep-acc-subgraphs") {
    target.most_kept = set.most_kept;
  } else {
    target.min_acc_size = set.min_acc_size;
  }
}

// Refuses a name of --extend that only ends like that of an accelerator subgraph: "2,4", _run_on_cpu_2.
Status<> check_extended_name(const SplitRequest& request, const SplitOptions& options) {
  if (options.extend.which != ExtendOptions::Which::one) return Done{};
  const std::string number = std::to_string(options.extend.subgraph);
  for (const TargetSetting& given : request.target_settings) {
    const bool is_of_other = !given.target.empty() || !given.value.ends_with(number);
    if (is_of_other || given.value == options.acc_prefix + number) continue;
    return Error{"--extend: " + escaped_in_quotes(given.value) +
                     " is not the number or name of one accelerator subgraph",
                 std::nullopt,
                 {"give one, such as " + number + " or " + escaped(options.acc_prefix + number) +
                  ", or all, or auto"}};
  }
  return Done{};
}

// The targets with their settings. One target has those of `options`, as if it had no name.
Result<std::vector<Target>> targets_of(const SplitRequest& request, std::vector<Target> targets,
                                       SplitOptions& options) {
  const bool is_one = targets.size() < 2;
  for (Target& target : targets) {
    target.min_acc_size = options.min_acc_size;
    target.most_kept = options.most_kept;
    if (!is_one) options.target_prefixes.push_back("_run_on_" + target.name + "_");
  }
  for (const TargetSetting& given : request.target_settings) {
    if (given.target.empty()) continue;  // the name of a subgraph
    const Option* const option = find_option(given.name, of::split);
    Target* const target = find_target(targets, given.target);
    if (target == nullptr) return no_such_target(given.name, given.target, targets);
    if (!option->is_setting()) {  // --prefix
      const auto at = static_cast<std::size_t>(target - targets.data());
      (is_one ? options.acc_prefix : options.target_prefixes[at]) = given.value;
    } else if (is_one) {
      option->more.setting.set(options, given.value);
    } else {
      set_for_target(given, *target);
    }
  }
  if (const auto fine = check_extended_name(request, options); !fine) return fine.error();
  for (const TargetSpec& spec : request.targets) {
    const bool is_known = spec.target == TargetName::cpu || spec.name == kOnlyTarget ||
                          find_target(targets, spec.name) != nullptr;
    if (!is_known) return no_such_target("--target", spec.name, targets);
  }
  if (!is_one && options.acc_prefix != SplitOptions{}.acc_prefix) {
    return Error{"--prefix " + escaped(options.acc_prefix) + " names none of several targets",
                 std::nullopt,
                 {"write --prefix " + targets.front().name + "=" + escaped(options.acc_prefix)}};
  }
  if (is_one && request.overlap) return for_several("--overlap");
  if (is_one && options.place_goal == PlaceGoal::energy) return for_several("--place energy");
  if (const auto fine = check_cost_targets(request); !fine) return fine.error();
  for (const LinkSpec& link : request.links) {
    const Target* const one = find_target(targets, link.one);
    const Target* const other = find_target(targets, link.other);
    if (one == nullptr) return no_such_target("--link", link.one, targets);
    if (other == nullptr) return no_such_target("--link", link.other, targets);
    if (one == other) return Error{"--link: " + in_quotes(link.one) + " has no link to itself"};
    const auto from = static_cast<DeviceIndex>(one - targets.data());
    const auto to = static_cast<DeviceIndex>(other - targets.data());
    const double us_of_byte = 1e6 / link.bytes_per_second;
    options.links.push_back({from, to, us_of_byte});
    options.links.push_back({to, from, us_of_byte});
  }
  return targets;
}

}  // namespace

// Fills a job step by step.
class SplitJobMaker {
 public:
  SplitJobMaker(const SplitRequest& request, const Progress& progress, const InputsRead& read)
      : request_(request), progress_(progress), read_(read) {
    job_.request_ = request;
    if (read.placed != nullptr) job_.found_placements_->put(*read.placed);
  }

  Result<SplitJob, Fault> make() {
    if (!request_.phases.empty()) {
      return fault_of(FaultCause::request, "--phase makes several splits, and this is one",
                      {"give its sizes as --dim, or run cleave split --phase"});
    }
    if (request_.range) {
      return fault_of(FaultCause::request, "--dim: a range of sizes makes several splits",
                      {"give one size, or run cleave preview"});
    }
    return read_.model == nullptr ? with_own_model() : with_model_read();
  }

 private:
  Loaded<ListsRead> lists() const {
    return read_.lists != nullptr ? *read_.lists : read_lists(request_.lists);
  }

  Result<SplitJob, Fault> with_own_model() {
    auto lists = this->lists();
    auto model =
        read_model(request_.model.path, request_.model.bindings, request_.model.limits, progress_);
    if (!lists || !model) return input_fault_of(lists, model);
    if (auto done = take(*std::move(lists)); !done) return std::move(done).error();
    if (read_.check) {
      if (auto fit = read_.check(*model); !fit) return std::move(fit).error();
    }
    append(job_.warnings_, model->warnings);
    append(job_.warnings_, idle_option_warnings(*model));
    job_.own_model_ = std::make_unique<LoadedModel>(*std::move(model));
    job_.model_ = job_.own_model_.get();
    auto costs = read_costs_and_shapes(costs_of(request_), *job_.own_model_);
    if (!costs) {
      Diagnostics faults = std::move(job_.warnings_);
      append(faults, costs.error());
      return input_fault(std::move(faults));
    }
    job_.own_costs_ = *std::move(costs);
    append(job_.warnings_, job_.own_costs_.warnings);
    return compute();
  }

  Result<SplitJob, Fault> with_model_read() {
    auto lists = this->lists();
    if (!lists) return input_fault(std::move(lists).error());
    if (auto done = take(*std::move(lists)); !done) return std::move(done).error();
    job_.model_ = read_.model;
    job_.costs_ = read_.costs;
    return compute();
  }

  // Both are read before either is refused, so that one run shows all faults.
  static Fault input_fault_of(const Loaded<ListsRead>& lists, const Loaded<LoadedModel>& model) {
    Diagnostics faults = lists ? lists->warnings : lists.error();
    append(faults, model ? model->warnings : model.error());
    return input_fault(std::move(faults));
  }

  Status<Fault> take(ListsRead lists) {
    job_.lists_ = std::move(lists.lists);
    job_.warnings_ = std::move(lists.warnings);
    job_.options_ = request_.options;
    if (lists.targets.empty()) {
      lists.targets = {{.name = request_.lists.targets().front(),
                        .first_list = 0,
                        .end_list = job_.lists_.size()}};
    }
    if (auto fine = check_placement(request_.options); !fine) return std::move(fine).error();
    auto targets = targets_of(request_, std::move(lists.targets), job_.options_);
    if (!targets) return fault_of(FaultCause::request, targets.error());
    job_.targets_ = *std::move(targets);
    return Done{};
  }

  static Status<Fault> check_placement(const SplitOptions& options) {
    if (!options.min_gain || options.place == PlaceBy::cost) return Done{};
    return fault_of(FaultCause::request, "--min-gain is for placement by cost",
                    {"give --place cost, too, or leave --min-gain out"});
  }

  bool has_targets() const { return job_.targets_.size() > 1; }

  // Of each target's lists, as if it were the only one. A file that several targets read is warned of
  // once.
  void warn_of_lists(const SplitInput& input) {
    Diagnostics warnings;
    const auto warn = [&](const SplitInput& of_target) {
      append(warnings, idle_list_warnings(of_target));
      append(warnings, near_miss_warnings(of_target));
      append(warnings, idle_denial_warnings(of_target.graph, of_target.lists));
      append(warnings, idle_verdict_warnings(of_target));
    };
    if (!has_targets()) warn(input);
    for (const Target& target : input.targets) {
      SplitInput own = input;
      own.lists = input.lists.subspan(target.first_list, target.end_list - target.first_list);
      warn(own);
    }
    for (Diagnostic& warning : warnings) {
      const auto is_same = [&](const Diagnostic& other) {
        return other.file == warning.file && other.line == warning.line &&
               other.message == warning.message;
      };
      if (has_targets() && std::ranges::any_of(job_.warnings_, is_same)) {
        continue;
      }
      job_.warnings_.push_back(std::move(warning));
    }
  }

  Result<SplitJob, Fault> compute() {
    job_.facts_ = op_facts(*job_.model_);
    const CostSet& costs = job_.costs();
    job_.graph_ = job_.model_->graph.with_shapes(observed_shapes(costs));
    job_.options_ = with_devices(job_.options_, job_.lists_, request_.targets, costs);
    if (has_targets()) set_machines(costs);
    const Link link = has_targets() ? job_.targets_.front().link
                                    : link_of(request_, job_.targets_.front().name, job_.lists_);
    const Machine machine = machine_of(job_.options_, link);
    MeasuredTargets measured = measured_targets(job_.graph(), machine, costs, job_.options_.later);
    TimeBasis basis{.times = std::move(measured.times),
                    .machine = machine,
                    .later = job_.options_.later,
                    .cpu_unmatched = measured.cpu_unmatched,
                    .acc_unmatched = measured.acc_unmatched};
    basis.links = job_.options_.links;
    if (has_targets()) {
      for (const Target& target : job_.targets_) basis.target_names.push_back(target.name);
    }
    job_.required_ = required_set();
    // A caller that gives lists which are read already has reported their warnings, or checks them by gates.
    if (read_.lists == nullptr) append(job_.warnings_, idle_request_warnings(request_));
    if (!read_.are_requirements_told) warn_of_requirements();
    for (SupportList& list : job_.lists_) {
      if (list.role != ListRole::verdicts) continue;
      const auto overruled = settle_verdicts(job_.graph(), list);
      if (overruled.empty()) continue;
      job_.warnings_.push_back(
          {.severity = Severity::warning,
           .file = list.path,
           .message = counted(overruled.size(), "verdict decides", "verdicts decide") +
                      " nothing, since later ones fit the same nodes: " +
                      capped_list(overruled, 3, escaped_in_quotes, " ..."),
           .notes = {"the last that fits a node decides on it: wide ones come first"}});
    }
    const SplitInput input{.graph = job_.graph(),
                           .lists = job_.lists_,
                           .facts = job_.facts_,
                           .link = link,
                           .times = &basis.times,
                           .required = job_.required(),
                           .targets = has_targets() ? std::span<const Target>(job_.targets_)
                                                    : std::span<const Target>(),
                           .found = job_.found_placements(),
                           .required_on = required_on_};
    warn_of_lists(input);
    warn_of_view();
    auto split = split_graph(input, job_.options_, progress_);
    auto open = open_times_fault(*job_.model_, input.graph, split ? &*split : nullptr,
                                 job_.options_, basis.times);
    if (!split && (!open || !have_all_rates(basis))) {
      return after(job_.warnings_, fault_of(FaultCause::request, split.error()));
    }
    if (open) {
      return after(job_.warnings_, *std::move(open));
    }
    if (split->cap.subgraphs > 0) {
      auto unknown = open_worth_fault(*job_.model_, input.graph, *split, job_.options_);
      if (unknown) return after(job_.warnings_, *std::move(unknown));
    }
    if (split->unfit) {
      return after(job_.warnings_,
                   fault_of(FaultCause::infeasible, does_not_fit(*split->unfit, job_.options_)));
    }
    job_.split_ = *std::move(split);
    job_.options_.min_acc_size = job_.split_->min_acc_size;
    for (std::size_t i = 0; i < job_.split_->targets.size(); ++i) {
      job_.targets_[i].min_acc_size = job_.split_->targets[i].min_acc_size;
    }
    job_.preview_ = preview_split(input.graph, job_.split_->partition, job_.split_->boundaries,
                                  input.link, input.targets);
    job_.time_ = inference_time(input.graph, *job_.split_, job_.options_, std::move(basis),
                                job_.found_placements());
    job_.time_->is_overlap_asked = request_.overlap;
    if (!read_.are_requirements_told) warn_of_unmet_requirements();
    add_notes();
    return std::move(job_);
  }

  void add_notes() {
    job_.notes_ = job_.model_->notes;
    const Split& split = *job_.split_;
    std::vector<std::string> notes = {
        start_note(split), gain_note(split), host_shapes_note(split, job_.options_),
        constants_note(),  duplex_note(),    form_note(split)};
    append(notes, job_.limit_notes());
    for (std::string& note : notes) {
      if (!note.empty()) job_.notes_.push_back(std::move(note));
    }
  }

  // Where lists may take the model in another form: with the bodies of its functions, or decomposed.
  std::string form_note(const Split& split) const {
    std::set<std::pair<std::string_view, std::string_view>> functions;
    if (const OnnxModel* const onnx = job_.model_->onnx()) {
      for (const OnnxFunction& one : onnx->functions) functions.emplace(one.domain, one.name);
    }
    const Graph& graph = job_.graph();
    std::size_t refused = 0, calls = 0;
    for (const NodeId node : graph.nodes()) {
      if (split.reasons[node].code != ReasonCode::no_rule) continue;
      ++refused;
      if (functions.contains({graph.domain(node), graph.op(node)})) ++calls;
    }
    if (calls > 0) {
      return counted(calls, "node calls a function", "nodes call functions") +
             " of the model, judged by name: cleave convert -s LIST -o FILE writes out the bodies";
    }
    const bool is_core =
        job_.model_->format() == ModelFormat::pt2 && std::ranges::any_of(job_.lists_, is_core_aten);
    return is_core && refused > 0 ? core_aten_text(refused) : std::string();
  }

  // A compiler gets what computes the constants of a partition, too.
  std::string constants_note() const {
    const Graph& graph = job_.graph();
    const Split& split = *job_.split_;
    const std::vector<NodeId> refused = refused_constants(graph, job_.lists_, job_.facts_);
    if (refused.empty()) return {};
    std::set<NodeId> met;
    NeededConstants needed(graph, split.boundaries);
    for (const PartId part : split.partition.parts()) {
      if (!split.partition.is_acc(part)) continue;
      for (const NodeId node : needed.of(part)) {
        if (std::ranges::binary_search(refused, node)) met.insert(node);
      }
    }
    if (met.empty()) return {};
    std::vector<std::string> ops;
    for (const NodeId node : met) {
      const std::string op = op_text(graph.domain(node), graph.op(node));
      if (!contains(ops, op)) ops.push_back(op);
    }
    const auto as_is = [](const std::string& op) { return escaped(op); };
    return counted(met.size(), "constant in accelerator partitions is computed by an operator",
                   "constants in accelerator partitions are computed by operators") +
           " that the lists refuse: " + capped_list(ops, 5, as_is) +
           "; --fold off keeps what computes them as nodes, on the CPU";
  }

  // QPS always assumes a full-duplex link; say so where the user stated half duplex.
  std::string duplex_note() const {
    const auto is_half = [](const TargetSpec& spec) { return spec.duplex == Duplex::half; };
    const auto& lists = job_.lists_;
    const bool is_stated = std::ranges::any_of(request_.targets, is_half) ||
                           std::ranges::any_of(lists, [&](const SupportList& list) {
                             const auto target = list_target(list);
                             return target && is_half(*target);
                           });
    if (!is_stated || !job_.preview_->bound) return {};
    return "QPS is for a link that carries both directions at once: duplex=half counts for times "
           "and placement only" +
           std::string(has_targets() || job_.preview_->link.is_assumed
                           ? ""
                           : "; \"half duplex\" has the rate with it");
  }

  Error does_not_fit(const CapacityExceeded& unfit, const SplitOptions& options) const {
    std::string needs;
    for (std::size_t i = 0; i < job_.targets_.size(); ++i) {
      const Machine& machine = i == 0 ? options.machine : options.later[i - 1];
      const auto add = [&](const std::string& least, const std::string& most) {
        needs += (needs.empty() ? "" : "; ") + job_.targets_[i].name + " needs " + least +
                 " and has " + most;
      };
      if (machine.acc_memory && unfit.bytes[i] > *machine.acc_memory) {
        add(bytes_text(unfit.bytes[i]) + " (" + count_text(unfit.bytes[i]) + " bytes)",
            bytes_text(*machine.acc_memory));
      }
      const std::size_t most = std::min(machine.most_acc_parts.value_or(SplitOptions::kUnlimited),
                                        job_.targets_[i].most_kept);
      if (unfit.parts[i] > most) {
        add(counted(unfit.parts[i], "partition"), count_text(most));
      }
    }
    return {"no placement keeps to what the targets can hold: " + needs,
            std::nullopt,
            {"this is what nodes of --require, and partitions that moved because they are small or "
             "beyond a list's limits, take at least: raise memory= or max-subgraphs= of --target, "
             "or let them go to the CPU"}};
  }

  // The machine of each of several targets: the numbers of its own lists, then those of --target.
  void set_machines(const CostSet& costs) {
    SplitOptions& options = job_.options_;
    const Machine given = request_.options.machine;
    for (std::size_t i = 0; i < job_.targets_.size(); ++i) {
      Target& target = job_.targets_[i];
      const auto first = job_.lists_.begin() + static_cast<std::ptrdiff_t>(target.first_list);
      const std::vector<SupportList> own(
          first, first + static_cast<std::ptrdiff_t>(target.end_list - target.first_list));
      target.link = link_of(request_, target.name, own);
      Machine machine = with_lists(given, own);
      for (const TargetSpec& spec : request_.targets) {
        const bool is_own = spec.name == target.name || spec.name == kOnlyTarget;
        if (spec.target == TargetName::acc && !is_own) continue;
        machine = with_target(std::move(machine), spec);
      }
      machine.link_bytes_per_second = target.link.bytes_per_second;
      machine.cpu.calibrated = costs.cpu_ops;
      if (i == 0) {
        machine.acc.calibrated = costs.acc_ops;
        options.machine = machine;
      } else {
        if (i <= costs.later.size()) machine.acc.calibrated = costs.later[i - 1].ops;
        options.later.push_back(machine);
      }
    }
  }

  // The nodes that must be on any target; required_on_ has those of one.
  NodeSet required_set() {
    NodeSet required(job_.graph().node_count());
    required_on_.assign(job_.targets_.size(), {});
    if (request_.require.empty()) return required;
    const RequiredNodes nodes(job_.graph());
    for (const std::string& text : request_.require) {
      Target* const target = has_own_names() ? target_of_requirement(text) : nullptr;
      const std::string pattern = target == nullptr ? text : text.substr(target->name.size() + 1);
      const std::vector<NodeId> found = nodes.of(pattern);
      if (found.empty()) required_in_vain_.push_back(text);
      requirements_.push_back({text, target, found});
      if (target == nullptr || !has_targets()) {
        for (const NodeId node : found) required.insert(node);
      } else {
        append(required_on_[static_cast<std::size_t>(target - job_.targets_.data())], found);
      }
    }
    return required;
  }

  bool has_own_names() const {
    const auto& paths = request_.lists.paths;
    return std::ranges::any_of(
        paths, [](const std::string& text) { return !list_source_of(text).target.empty(); });
  }

  // The target that a requirement such as "npu:Conv" names; null when it names none.
  Target* target_of_requirement(const std::string& text) {
    const std::size_t colon = text.find(':');
    const bool is_domain = colon != text.npos && text.compare(colon, 2, "::") == 0;
    if (colon == text.npos || is_domain) return nullptr;
    return find_target(job_.targets_, text.substr(0, colon));
  }

  // Where they have, times can be missing only because sizes are.
  static bool have_all_rates(const TimeBasis& basis) {
    const auto& later = basis.later;
    return has_rates(basis.machine.cpu) && has_rates(basis.machine.acc) &&
           std::ranges::all_of(later,
                               [](const Machine& machine) { return has_rates(machine.acc); });
  }

  // Only ONNX Runtime makes another graph of a model.
  void warn_of_view() {
    if (request_.lists.as != GraphView::onnxruntime) return;
    const std::string misfit = option_misfit("--as onnxruntime", job_.model_->format());
    if (misfit.empty()) return;
    job_.warnings_.push_back({.severity = Severity::warning,
                              .file = job_.model_->source.path(),
                              .message = misfit + ": it does nothing here"});
  }

  void warn_of_requirements() {
    if (!request_.require.empty() && job_.options_.place != PlaceBy::cost) {
      job_.warnings_.push_back({.severity = Severity::warning,
                                .file = "--require",
                                .message = "requires nothing without --place cost: nodes go to the "
                                           "accelerator wherever the lists allow it"});
    }
    for (const std::string& text : required_in_vain_) {
      job_.warnings_.push_back(
          {.severity = Severity::warning,
           .file = "--require",
           .message = escaped_in_quotes(text) +
                      " is no op of the model and the name of no node: it requires nothing"});
    }
  }

  // The placement by cost leaves nodes where they may be: it puts none where the lists do not allow it,
  // and limits on partitions are kept after it.
  void warn_of_unmet_requirements() {
    if (job_.options_.place != PlaceBy::cost) return;
    const Report report = job_.report();
    for (const Requirement& requirement : requirements_) {
      const TargetId wanted = requirement.target == nullptr || !has_targets()
                                  ? kNone<TargetId>
                                  : id_at<TargetId>(static_cast<std::size_t>(requirement.target -
                                                                             job_.targets_.data()));
      std::vector<NodeId> unmet;
      std::ranges::copy_if(requirement.nodes, std::back_inserter(unmet), [&](NodeId node) {
        return !is_on(report.split.partition, node, wanted);
      });
      if (unmet.empty()) continue;
      const std::string where = wanted == kNone<TargetId>
                                    ? has_targets() ? "any target" : "the accelerator"
                                    : requirement.target->name;
      std::string message =
          escaped_in_quotes(requirement.text) + " is not met: " +
          (requirement.nodes.size() == 1
               ? std::string("the node is")
               : count_text(unmet.size()) + " of " + counted(requirement.nodes.size(), "node") +
                     (unmet.size() == 1 ? " is" : " are")) +
          " not on " + where;
      Diagnostic warning{
          .severity = Severity::warning, .file = "--require", .message = std::move(message)};
      CappedList list(kMostUnmet);
      for (const NodeId node : unmet) {
        if (list.shows_next()) {
          warning.notes.push_back(escaped(report.graph.node(node).name) + ": " +
                                  why_not_on(report, node, wanted));
        }
      }
      if (list.left_out() > 0) warning.notes.push_back(list.rest("and # more: see cleave explain"));
      job_.warnings_.push_back(std::move(warning));
    }
  }

  // Whether the node is on that target; for kNone, on any.
  static bool is_on(const Partition& partition, NodeId node, TargetId wanted) {
    const PartId part = partition.part_of[node];
    return wanted == kNone<TargetId> ? partition.is_acc(part) : partition.target(part) == wanted;
  }

  // The reason of the wanted target; where any would do, of each: "npu: ...; gpu: ...".
  static std::string why_not_on(const Report& report, NodeId node, TargetId wanted) {
    if (report.targets.empty()) {
      return reason_text(reason_context(report), node, report.split.reasons[node]);
    }
    std::string text;
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
      const auto target = id_at<TargetId>(i);
      if (wanted != kNone<TargetId> && target != wanted) continue;
      const Reason& reason = report.split.targets[i].reasons[node];
      text += (text.empty() ? "" : "; ") + report.targets[i].name + ": " +
              reason_text(reason_context(report, target), node, reason);
    }
    return text;
  }

  static constexpr std::size_t kMostUnmet = 3;  // nodes that a warning names

  // One --require: its text, the target that it names or null, and the nodes that it matches.
  struct Requirement {
    std::string text;
    const Target* target;
    std::vector<NodeId> nodes;
  };

  const SplitRequest& request_;
  const Progress& progress_;
  const InputsRead& read_;
  SplitJob job_;
  std::vector<Requirement> requirements_;
  std::vector<std::string> required_in_vain_;     // that match no node
  std::vector<std::vector<NodeId>> required_on_;  // by target
};

Report SplitJob::report(std::vector<std::string> more_notes) const {
  std::vector<std::string> notes = notes_;
  append(notes, more_notes);
  return {.model = *model_,
          .graph = graph(),
          .lists = lists_,
          .facts = facts_,
          .options = options_,
          .split = *split_,
          .preview = *preview_,
          .notes = std::move(notes),
          .costs = &costs(),
          .time = &*time_,
          .targets =
              targets_.size() > 1 ? std::span<const Target>(targets_) : std::span<const Target>(),
          .only_target = targets_.front().name};
}

std::vector<std::string> SplitJob::limit_notes() const {
  if (targets_.size() > 1) return target_notes(*model_, graph(), targets_, *preview_, *time_);
  const Machine machine = machine_of(options_, link());
  return {memory_note(*preview_, machine),
          part_count_note(*split_, machine, options_, required() != nullptr)};
}

std::string SplitJob::why_on_cpu(NodeId node) const {
  if (split_->partition.is_acc(split_->partition.part_of[node])) return {};
  const ReasonContext context{graph(), lists_, facts_, options_.min_acc_size, &split_->support};
  return reason_text(context, node, split_->reasons[node]);
}

Result<SplitJob, Fault> run_split(const SplitRequest& request, const Progress& progress,
                                  const InputsRead& read) {
  return SplitJobMaker(request, progress, read).make();
}

SplitOptions with_devices(SplitOptions options, const std::vector<SupportList>& lists,
                          const std::vector<TargetSpec>& targets, const CostSet& costs) {
  Machine& machine = options.machine;
  machine = with_lists(std::move(machine), lists);
  for (const TargetSpec& target : targets) machine = with_target(std::move(machine), target);
  machine.cpu.calibrated = costs.cpu_ops;
  machine.acc.calibrated = costs.acc_ops;
  return options;
}

Diagnostics limit_warnings(const SplitJob& job) {
  Diagnostics warnings;
  for (std::string& note : job.limit_notes()) {
    if (note.empty()) continue;
    warnings.push_back({.severity = Severity::warning,
                        .file = job.model().source.path(),
                        .message = std::move(note)});
  }
  return warnings;
}

}  // namespace cleave
