// The report for people: the result, the partitions, the reasons, then possible problems.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/measures/measures.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

namespace {

constexpr std::size_t kMostPartitions = 20;
constexpr std::size_t kWidestName = 24;  // of a partition, in the table
constexpr std::size_t kMostCauses = 10;
constexpr std::size_t kMostHazards = 10;
constexpr std::size_t kMostExtensions = 3;  // that were left out

class TextReport {
 public:
  explicit TextReport(const Report& report)
      : report_(report),
        graph_(report.graph),
        split_(report.split),
        partition_(report.split.partition),
        preview_(report.preview),
        has_times_(report.time != nullptr && has_times(*report.time)),
        reasons_(reason_context(report)) {}

  std::string write() {
    write_headline();
    write_bottleneck();
    if (is_asked_on_cpu()) {
      page_.line("on the CPU, as its on=cpu asks");
    } else if (const std::string verdict = worth_text(report_); !verdict.empty()) {
      page_.line(verdict);
    }
    page_.blank();
    write_facts();
    write_partitions();
    write_devices();
    write_causes();
    write_unchecked();
    write_hazards();
    if (report_.open_sizes == nullptr) write_unknown();
    page_.add(notes_text(report_.notes));
    return page_.take();
  }

 private:
  std::size_t acc_count() const {
    const auto& devices = partition_.devices;
    return static_cast<std::size_t>(std::ranges::count(devices, Device::acc));
  }

  bool has_targets() const { return !report_.targets.empty(); }

  // "3 npu, 2 gpu"
  template <class Parts>
  std::string parts_by_target(const Parts& parts) const {
    std::string text;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      const auto count = std::ranges::count(parts.targets, id_at<TargetId>(i));
      text += (text.empty() ? "" : ", ") + count_text(static_cast<std::size_t>(count)) + " " +
              report_.targets[i].name;
    }
    return text;
  }

  // ---- the conclusion ----

  void write_headline() {
    if (has_times_) page_.line(latency_headline(graph_, *report_.time));
    const std::string coverage = report_.open_sizes == nullptr
                                     ? coverage_text(preview_.coverage, "on the accelerator")
                                     : open_coverage_text(*report_.open_sizes);
    std::string line = model_name(report_.model) + ": " + coverage;
    if (acc_count() > 0) {
      const std::size_t cpu = partition_.count() - acc_count();
      line += ", in " + counted(acc_count(), "accelerator partition");
      if (has_targets()) line += " (" + parts_by_target(partition_) + ")";
      if (cpu > 0) line += ", with " + counted(cpu, "partition") + " on the CPU";
    }
    page_.line(line + unknown_text());
  }

  // `19 of 24 nodes (79.2%) and 99.3% of 2.33 MFLOP x N on the accelerator`
  std::string open_coverage_text(const OpenSizes& sizes) const {
    std::string text = coverage_text(preview_.coverage, "");
    text = text.substr(0, text.find(')') + 1);
    if (sizes.flops.at_first > 0) {
      const double share = sizes.acc_flops.at_first / sizes.flops.at_first;
      text += " and " + percent_text(share) +
              (is_same_share(sizes) ? "" : " (at " + first_sizes_text(sizes) + ")") + " of " +
              open_flops_text(sizes, sizes.flops);
    }
    return text + " on the accelerator";
  }

  // Whether the share of the work is the same for all sizes.
  static bool is_same_share(const OpenSizes& sizes) {
    if (!sizes.flops.exact || !sizes.acc_flops.exact) return false;
    constexpr double kRounding = 1e-6;
    const auto far = sizes.grid.values_at(std::vector<std::int64_t>(sizes.names.size(), 9));
    const double there = sizes.acc_flops.exact->at(far) / sizes.flops.exact->at(far);
    return std::abs(there - sizes.acc_flops.at_first / sizes.flops.at_first) < kRounding;
  }

  // What is missing from the numbers, and the option that provides it: "; not known: bytes of 3
  // values between partitions and FLOPs of 60 nodes (give --dim N=SIZE)".
  std::string unknown_text() const {
    if (report_.open_sizes != nullptr) {
      std::vector<std::string> names;
      for (const auto& [pinned, size] : report_.open_sizes->pinned) names.push_back(pinned);
      names.insert(names.end(), report_.open_sizes->names.begin(), report_.open_sizes->names.end());
      const auto name = [](const std::string& own) { return escaped(own); };
      return "; open: " + capped_list(names, names.size(), name) + " (give " +
             size_options_text(report_.model, graph_, report_.open_sizes) + ")";
    }
    const std::size_t values = values_of_unknown_size().size();
    std::string text;
    if (values > 0) text = "bytes of " + counted(values, "value") + " between partitions";
    if (!preview_.coverage.flops.are_known()) {
      text += (text.empty() ? "" : " and ") + std::string("FLOPs of ") +
              counted(preview_.coverage.flops.unknown, "node");
    }
    if (text.empty()) return text;
    const std::string dims = size_options_text(report_.model, graph_, report_.open_sizes);
    return "; not known: " + text + (dims.empty() ? "" : " (give " + dims + ")");
  }

  // Nothing where nobody chose a link.
  void write_bottleneck() {
    if (acc_count() == 0 || preview_.link.is_assumed) return;
    if (has_unknown_bytes(preview_)) {
      page_.line("the rate that the link allows is unknown, because the bytes that cross it are");
      return;
    }
    if (!preview_.bound) {
      page_.line("no tensor crosses the link, so it sets no bound");
      return;
    }
    if (has_targets()) return write_target_links();
    const LinkBound& bound = *preview_.bound;
    std::string line = "link " + link_text(preview_.link) + " allows " +
                       rate_text(bound.shared_qps) + " inferences/s (slowest partition " +
                       escaped(partition_.name(bound.bottleneck));
    if (bound.shared_qps < bound.max_qps) line += " alone: " + rate_text(bound.max_qps);
    page_.line(line + ")");
  }

  // "links allow 4,903 inferences/s (gpu: gen4x8 (15.8 GB/s))": the target whose link allows least.
  void write_target_links() {
    const auto& devices = preview_.by_device.devices;
    const std::size_t count = report_.targets.size();
    std::size_t least = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (!devices[i].qps || (least < count && *devices[i].qps >= *devices[least].qps)) continue;
      least = i;
    }
    if (least == count) return;
    page_.line("links allow " + rate_text(*devices[least].qps) + " inferences/s (" +
               report_.targets[least].name + ": " + link_text(report_.targets[least].link) + ")");
  }

  // ---- facts, one a line ----

  void add_fact(std::string_view label, std::string_view fact) { page_.fact(label, fact, 16); }

  void write_facts() {
    for (std::size_t i = 0; i < report_.lists.size(); ++i) {
      const SupportList& list = report_.lists[i];
      add_fact(list_label(i), escaped(list.name) + " (" + escaped(list.path) + ")");
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(report_.targets.size(), 1); ++i) {
      const auto groups = runtime_groups_of(report_, i);
      if (!groups) continue;
      add_fact("ONNX Runtime", (has_targets() ? report_.targets[i].name + ": " : "") + "makes " +
                                   counted(groups->partitions, "partition") + " of " +
                                   count_text(groups->accepted) + " of its " +
                                   counted(groups->nodes, "node"));
    }
    write_subgraphs();
    write_cap();
    write_limit_cuts();
    write_same_shapes();
    if (split_.fusions.group_count() > 0) {
      add_fact("fusion groups",
               count_text(split_.fusions.group_count()) +
                   ", of nodes that stay together as they exchange other data than tensors");
    }
    if (split_.qdq_groups.count() > 0) {
      add_fact("Q/DQ groups", count_text(split_.qdq_groups.count()) +
                                  ", of quantised operators that stay whole; those on the "
                                  "accelerator count as fusion groups");
    }
    if (split_.support.patterns.count() > 0) {
      add_fact("patterns", "matched: " + pattern_counts_text(reasons_, split_.support.patterns));
    }
    write_extension();
    const Coverage& parameters = preview_.coverage.parameter_bytes;
    if (parameters.total > 0) {
      add_fact("parameters", bytes_text(preview_.coverage.model_parameter_bytes) + ", " +
                                 percent_text(parameters.ratio()) +
                                 " of them read on the accelerator");
    }
    write_times();
    const std::vector<std::string> assumed = assumed_links(report_);
    if (has_targets()) {  // their rows have the rates of their links
      if (!assumed.empty()) {
        add_fact("link", default_link().name + " of " + joined(assumed, " and ") +
                             " is assumed, as none was given: --pcie-bw states yours");
      }
    } else if (acc_count() > 0 && preview_.link.is_none) {
      add_fact("link", "none of its own, the list says, so there are no rates" +
                           (assumed.empty() ? "" : "; times assume " + default_link().name) +
                           " (--pcie-bw states one)");
    } else if (acc_count() > 0 && preview_.link.is_assumed) {
      add_fact("link",
               preview_.link.name + " is assumed, as none was given: --pcie-bw states yours");
    } else if (const auto bound = known_bound(preview_)) {
      add_fact("half duplex", rate_text(bound->shared_qps_half_duplex) +
                                  " inferences/s (slowest partition alone: " +
                                  rate_text(bound->max_qps_half_duplex) + ")");
    }
  }

  // "npu list"
  std::string list_label(std::size_t list) const {
    for (const Target& target : report_.targets) {
      if (list >= target.first_list && list < target.end_list) return target.name + " list";
    }
    return "support list";
  }

  void write_times() {
    if (report_.time == nullptr) return;
    const InferenceTime& time = *report_.time;
    if (has_times_) {
      add_fact("times", times_text(graph_, time));
      for (const auto& [name, files] : cost_files()) {
        for (const ModelCosts& costs : *files) add_fact(name, costs_text(costs));
      }
      write_unmatched();
    } else if (const std::string missing = missing_number_text(graph_, time); !missing.empty()) {
      add_fact("latency", "not known: " + missing);
    }
    write_state(time);
    const std::string overlap = overlap_text(time, partition_);
    if (!overlap.empty()) add_fact("overlap", overlap);
    const std::string energy = energy_text(time);
    if (!energy.empty()) add_fact("energy", energy);
    const std::string residency = residency_text(time, !preview_.link.is_assumed);
    if (!residency.empty()) add_fact("residency", residency);
  }

  // What writes a state that grows copies all of it.
  void write_state(const InferenceTime& time) {
    double us = 0;
    for (const StatePair& pair : graph_.state().pairs) {
      if (pair.kind != StateKind::grows || !is_written(graph_, pair)) continue;
      const NodeId writer = graph_.value(pair.output).producer;
      const TargetId target = partition_.target(partition_.part_of[writer]);
      const TargetTimes& times = time.basis.times;
      const DeviceTimes& own =
          target == kNone<TargetId> ? times.cpu : times.on_target(index(target));
      us += own.of(writer).value_or(0);
    }
    std::string text = kept_state_text(report_);
    if (has_times_ && us > 0) {
      text += "; its old part is copied in each step: what writes it takes " + duration_text(us) +
              " of the time";
    }
    if (!text.empty()) add_fact("state", text);
  }

  struct CostFiles {
    std::string name;
    const std::vector<ModelCosts>* files;
  };
  std::vector<CostFiles> cost_files() const {
    if (report_.costs == nullptr) return {};
    const std::string first = has_targets() ? report_.targets.front().name : "acc";
    std::vector<CostFiles> files = {{"CPU costs", &report_.costs->cpu},
                                    {first + " costs", &report_.costs->acc}};
    for (std::size_t i = 0; i < report_.costs->later.size(); ++i) {
      files.push_back({report_.targets[i + 1].name + " costs", &report_.costs->later[i].files});
    }
    return files;
  }

  void write_unmatched() {
    for (const auto& [name, files] : cost_files()) {
      for (const ModelCosts& costs : *files) {
        const std::string left = unmatched_text(costs);
        if (!left.empty()) add_fact("unmatched", left);
      }
    }
  }

  template <class Parts>
  std::string subgraphs_text(const Parts& parts) const {
    const std::vector<Device>& devices = parts.devices;
    const auto acc = std::ranges::count(devices, Device::acc);
    const auto on_acc = static_cast<std::size_t>(acc);
    return count_text(devices.size()) + " (" +
           (has_targets() ? parts_by_target(parts) : count_text(on_acc) + " accelerator") + ", " +
           count_text(devices.size() - on_acc) + " CPU)";
  }

  void write_subgraphs() {
    const auto& before = split_.found.subgraphs.devices;
    std::string fact = subgraphs_text(split_.found.subgraphs);
    if (before.size() != partition_.count() ||
        split_.found.subgraphs.devices != partition_.devices) {
      const std::size_t least = report_.options.min_acc_size;
      fact += "; " + subgraphs_text(partition_);
      fact += split_.cap.subgraphs > 0          ? " under the cap"
              : split_.limit_cuts.subgraphs > 0 ? " within the lists' limits on a partition"
              : least > 1 ? " after merging those below " + counted(least, "node")
                          : " after the extension";
    }
    if (split_.least_acc_parts > 0 && split_.limit_cuts.subgraphs == 0) {
      fact += acc_count() == split_.least_acc_parts
                  ? "; no order of this placement has fewer on the targets"
                  : "; no order of this placement has fewer than " +
                        count_text(split_.least_acc_parts) + " on the targets";
    }
    add_fact("subgraphs", fact);
  }

  void write_cap() {
    const CapCost& cap = split_.cap;
    if (cap.subgraphs == 0) return;
    add_fact("cap", counted(cap.kept, "accelerator subgraph") + " kept by " + keep_by_text() +
                        "; " + count_text(cap.subgraphs) + " with " + counted(cap.nodes, "node") +
                        " and " + flops_text(cap.flops) + " go to the CPU, and " +
                        bytes_text(cap.link_bytes) + " no longer cross the link");
  }

  void write_limit_cuts() {
    const LimitCuts& cuts = split_.limit_cuts;
    if (cuts.subgraphs == 0) return;
    std::string fact = counted(cuts.subgraphs, "accelerator subgraph") +
                       " beyond the lists' limits cut into " + count_text(cuts.pieces);
    if (cuts.nodes > 0) fact += "; " + counted(cuts.nodes, "node goes", "nodes go") + " to the CPU";
    add_fact("part limits", fact);
  }

  void write_extension() {
    const auto& left_out = split_.extensions_left_out;
    if (split_.extended.empty() && left_out.empty()) return;
    std::string fact = counted(split_.extended.size(), "node") + " moved";
    const auto text_of = [&](const ExtensionLeftOut& left) {
      return escaped(acc_name(left.subgraph, report_.options)) + " (" +
             std::string(part_limit_name(left.limit)) + ")";
    };
    if (!left_out.empty()) {
      fact +=
          "; " + counted(left_out.size(), "extension") +
          " left out, beyond the lists' limits: " + capped_list(left_out, kMostExtensions, text_of);
    }
    add_fact("extension", fact);
  }

  std::string keep_by_text() const {
    const KeepBy by = report_.options.keep_by;
    const bool is_partly_known = by == KeepBy::flops && preview_.coverage.flops.unknown > 0;
    return (is_partly_known ? "known " : "") + std::string(keep_by_name(by));
  }

  // "compile 3 of 24: the others are equal up to names and weights (_run_on_acc_1 20 times, ...)"
  void write_same_shapes() {
    const SameShapes& shapes = report_.same_shapes();
    if (shapes.distinct == shapes.acc_parts) return;
    PerPart<std::size_t> times(partition_.count(), 0);
    for (const PartId first : shapes.like) ++times[first];
    std::vector<std::string> repeated;
    for (const PartId part : partition_.parts()) {
      if (times[part] < 2) continue;
      repeated.push_back(escaped(partition_.name(part)) + " " + count_text(times[part]) + " times");
    }
    add_fact("same shape",
             "compile " + count_text(shapes.distinct) + " of " + count_text(shapes.acc_parts) +
                 ": the others are equal up to names and weights (" + some_of(repeated, 150) + ")");
  }

  // ---- partitions ----

  void write_partitions() {
    if (partition_.count() == 0) return;
    std::vector<std::string> headings = {"partition", "on",         "nodes", "in",
                                         "out",       "parameters", "work"};
    const std::string rate = rate_heading(report_);
    if (!rate.empty()) headings.push_back(rate);
    if (has_times_) headings.emplace_back("time");
    std::vector<Align> aligns(headings.size(), Align::right);
    aligns[0] = aligns[1] = Align::left;
    TextTable table(std::move(headings), std::move(aligns));
    table.limit_first(kWidestName);
    CappedList list(kMostPartitions);
    for (const PartId part : partition_.parts()) {
      if (!list.shows_next()) continue;
      const PartCells cells = part_cells(report_, part, has_times_);
      std::vector<std::string> row = {cells.name,        cells.device,     count_text(cells.nodes),
                                      cells.in.second,   cells.out.second, cells.parameters.second,
                                      cells.flops.second};
      if (!rate.empty()) row.push_back(cells.qps.second);
      if (cells.time) row.push_back(cells.time->second);
      table.add_row(std::move(row));
    }
    page_.table(table);
    page_.rest(list, "... and # more (see --json)");
    if (report_.open_sizes == nullptr) return;
    if (table.text().find(" @") != std::string::npos) {
      page_.line("@: at " + first_sizes_text(*report_.open_sizes) +
                 "; --json has more of it as expressions");
    }
    const std::string steps = steps_text(*report_.open_sizes);
    if (!steps.empty()) page_.line("products are for " + steps);
  }

  // ---- several targets ----

  void write_devices() {
    if (!has_targets()) return;
    page_.heading("devices, in the order in which they are asked");
    std::vector<std::string> headings = {"device",     "nodes",   "work",
                                         "partitions", "weights", "peak"};
    const std::string rate = rate_heading(report_);
    if (!rate.empty()) headings.push_back(rate);
    if (has_times_) headings.insert(headings.end(), {"compute", "link", "launches"});
    TextTable table(std::move(headings));
    const std::vector<DeviceCells> devices = device_cells(report_, has_times_);
    const auto text = [](const std::optional<Amount>& cell) { return cell ? cell->second : "-"; };
    std::vector<std::string> to = {"bytes from"};  // a column for each device
    for (const DeviceCells& device : devices) {
      std::vector<std::string> row = {device.name,           count_text(device.nodes),
                                      device.work,           count_text(device.parts),
                                      device.weights.second, text(device.peak)};
      if (!rate.empty()) row.push_back(device.qps);
      if (has_times_) {
        row.insert(row.end(), {text(device.compute), text(device.link), text(device.launches)});
      }
      table.add_row(std::move(row));
      to.push_back("to " + device.name);
    }
    page_.table(table);
    TextTable crossings(std::move(to));
    for (const DeviceCells& device : devices) {
      std::vector<std::string> row = {device.name};
      for (const auto& [bytes, cell] : device.to) row.push_back(cell);
      crossings.add_row(std::move(row));
    }
    page_.table(crossings);
  }

  // The reasons of a target for the nodes that it was asked for and did not take.
  void write_causes_of(TargetId target) {
    const PerNode<Reason>& reasons = split_.targets[index(target)].reasons;
    const ReasonContext context = reason_context(report_, target);
    write_causes(context, reasons, "not on " + report_.targets[index(target)].name);
  }

  // ---- why nodes are on the CPU ----

  std::string names_of(const std::vector<NodeId>& nodes, std::size_t columns) const {
    return some_of(nodes, columns, [&](NodeId node) { return escaped(graph_.node(node).name); });
  }

  void write_cause(const ReasonContext& context, const PerNode<Reason>& reasons, const Cause& cause,
                   std::size_t width) {
    const std::size_t indent = width + 4;
    page_.counted_fact(cause.nodes.size(), cause.text, width);
    const NodeId first = cause.nodes.front();
    const std::string detail = detail_text(context, first, reasons[first]);
    if (detail.empty()) {
      page_.fact("", names_of(cause.nodes, kTextColumns - indent), indent);
      return;
    }
    const std::string name = escaped(graph_.node(first).name);
    page_.line(name + ": " + fitted(detail, 300), indent);
    if (cause.nodes.size() == 1) return;
    const std::vector<NodeId> others(cause.nodes.begin() + 1, cause.nodes.end());
    page_.fact("", "also " + names_of(others, kTextColumns - indent - 5), indent);
  }

  // A phase that may use no target: no verdict on a split, and no reason of a node, says more.
  bool is_asked_on_cpu() const {
    return report_.phase != nullptr &&
           report_.phase->spec.targets == std::vector<std::string>{"cpu"};
  }

  void write_causes() {
    if (is_asked_on_cpu()) return;
    if (!has_targets()) return write_causes(reasons_, split_.reasons, "on the CPU");
    for (std::size_t i = 0; i < report_.targets.size(); ++i) write_causes_of(id_at<TargetId>(i));
  }

  void write_causes(const ReasonContext& context, const PerNode<Reason>& reasons,
                    const std::string& where) {
    const std::vector<Cause> causes = group_by_cause(context, reasons);
    if (causes.empty()) return;
    std::size_t total = 0;
    for (const Cause& cause : causes) total += cause.nodes.size();
    page_.heading("why " + counted(total, "node is", "nodes are") + " " + where);
    const std::size_t width = count_text(causes.front().nodes.size()).size();
    CappedList list(kMostCauses);
    for (const Cause& cause : causes) {
      if (list.shows_next()) write_cause(context, reasons, cause, width);
    }
    page_.rest(list, "... and # more cause (see --json, or cleave explain)",
               "... and # more causes (see --json, or cleave explain)");
  }

  // ---- nodes that are accepted unchecked ----

  void write_unchecked() {
    const auto& nodes = split_.support.unchecked;
    if (nodes.empty()) return;
    page_.heading(counted(nodes.size(), "node is", "nodes are") +
                  " accepted on trust: the vendor also asks for what no rule checks");
    const std::vector<UncheckedRule> rules = unchecked_rules(split_.support);
    const std::size_t width = count_text(rules.front().nodes.size()).size();
    CappedList list(kMostCauses);
    for (const UncheckedRule& rule : rules) {
      if (list.shows_next()) {
        page_.counted_fact(rule.nodes.size(), unchecked_text(report_.lists, rule), width);
      }
    }
    page_.rest(list, "... and by # more rule", "... and by # more rules");
  }

  // ---- possible problems ----

  void write_hazards() {
    CappedList list(kMostHazards);
    for (const PartId part : partition_.parts()) {
      for (const Hazard& hazard : preview_.parts[part].hazards) {
        if (hazard.kind == Hazard::Kind::unknown_bytes || !list.shows_next()) continue;
        if (list.shown() == 1) page_.heading("hazards");
        page_.line(escaped(partition_.name(part)) + ": " + hazard_text(graph_, hazard), 2);
      }
    }
    page_.rest(list, "  ... and # more (see --json)");
  }

  // Values that enter or leave accelerator partitions, each once.
  std::vector<ValueId> values_of_unknown_size() const {
    ValueSet seen(graph_.value_count());
    std::vector<ValueId> values;
    for (const PartId part : partition_.parts()) {
      for (const Hazard& hazard : preview_.parts[part].hazards) {
        if (hazard.kind != Hazard::Kind::unknown_bytes) continue;
        if (seen.insert(hazard.value)) values.push_back(hazard.value);
      }
    }
    return values;
  }

  void write_unknown() {
    const Coverages& coverage = preview_.coverage;
    const std::vector<ValueId> values = values_of_unknown_size();
    if (coverage.flops.unknown == 0 && values.empty()) return;
    page_.heading("not known");
    const auto value_name = [&](ValueId value) {
      return escaped(graph_.value(value).name) + " " + type_text(graph_, value);
    };
    const auto op_name = [&](NodeId node) { return escaped(graph_.op(node)); };
    if (!values.empty()) {
      page_.line("bytes of " + counted(values.size(), "value") +
                     " that cross the link: " + some_of(values, 150, value_name),
                 2);
    }
    if (coverage.flops.unknown > 0) {
      page_.line("FLOPs of " + counted(coverage.flops.unknown, "node") + ": " +
                     some_of(coverage.unknown_flops_ops, 150, op_name),
                 2);
    }
    const std::string dims = size_options_text(report_.model, graph_, report_.open_sizes);
    if (!dims.empty()) page_.line("to know more give " + dims, 2);
  }

  const Report& report_;
  const Graph& graph_;
  const Split& split_;
  const Partition& partition_;
  const Preview& preview_;
  bool has_times_;
  ReasonContext reasons_;
  Page page_;
};

}  // namespace

std::string report_text(const Report& report) { return TextReport(report).write(); }

}  // namespace cleave
