#include "formats/report/words/report.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/words/words.h"

namespace cleave {

std::optional<RuntimeGroups> runtime_groups_of(const Report& report, std::size_t target) {
  const Split& split = report.split;
  if (report.targets.empty()) {
    return runtime_groups(report.graph, split.support.supported, report.lists, report.facts);
  }
  NodeSet taken = split.targets[target].support.supported;
  for (const NodeId node : report.graph.nodes()) {
    const TargetId at = split.partition.target(split.partition.part_of[node]);
    if (at != kNone<TargetId> && index(at) != target) taken.erase(node);
  }
  const Target& one = report.targets[target];
  const auto lists = std::span(report.lists).subspan(one.first_list, one.end_list - one.first_list);
  return runtime_groups(report.graph, taken, lists, report.facts);
}

std::string support_name(const std::vector<SupportList>& lists) {
  return joined(lists, " + ", [&](const SupportList& list) { return list.name; });
}

std::string model_name(const LoadedModel& model) {
  std::string_view name = model.source.path();
  if (name == "<stdin>" && !model.graph.name().empty()) return escaped(model.graph.name());
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  for (const std::string_view extension : {".json", ".onnx", ".pt2", ".tflite"}) {
    if (name.size() > extension.size() && name.ends_with(extension)) {
      name.remove_suffix(extension.size());
    }
  }
  return escaped(name);
}

namespace {

bool has_unknown_size(const Graph& graph, std::span<const ValueId> values) {
  return std::ranges::any_of(values, [&](ValueId value) {
    return graph.value(value).is_tensor() && !value_bytes(graph, value);
  });
}

std::optional<std::string_view> known_dtype(DType dtype) {
  return when(dtype != DType::unknown, dtype_name(dtype));
}

}  // namespace

std::size_t count_given_parameters(const Graph& graph) {
  const auto& parameters = graph.parameters();
  return static_cast<std::size_t>(std::ranges::count_if(parameters, [&](ValueId parameter) {
    return graph.value(parameter).producer == kNone<NodeId>;
  }));
}

const Fields<StateSaid> kStateFields = {
    kOneLine,
    {{"input", [](auto& said) { return said.graph.value(said.pair.input).name; }},
     {"output",
      [](auto& said) {
        const ValueId output = said.pair.output;
        return output == kNone<ValueId> ? std::nullopt
                                        : std::optional(said.graph.value(output).name);
      },
      "null: no output changes the input."},
     {"kind", [](auto& said) { return state_kind_name(said.pair.kind); },
      words(all_up_to<state_kind_name, StateKind::constant>)},
     {"axis",
      [](auto& said) {
        const StateKind kind = said.pair.kind;
        return when(kind == StateKind::grows || kind == StateKind::appended,
                    std::uint64_t{said.pair.axis});
      },
      "On which the output is longer, or has what is new alone.", kLeftOut},
     {"partition", the<&StateSaid::partition>, "That writes the output.", kLeftOut},
     {"device", the<&StateSaid::device>, "On which it is kept: of that partition.", kLeftOut},
     {"bytes", [](auto& said) { return state_bytes(said.graph, said.pair); },
      "Of what one step hands to the next; null: unknown."}},
    "state"};

std::vector<StateSaid> state_of(const Graph& graph, const Partition* partition,
                                const Report* report) {
  return each(graph.state().pairs, [&](const StatePair& pair) {
    StateSaid said{.graph = graph, .pair = pair};
    if (partition == nullptr || !is_written(graph, pair)) return said;
    const PartId part = partition->part_of[graph.value(pair.output).producer];
    const TargetId target = partition->target(part);
    said.partition = partition->name(part);
    if (report == nullptr) return said;
    said.device = target == kNone<TargetId> ? "cpu"
                  : report->targets.empty() ? report->only_target
                                            : std::string_view(report->targets[index(target)].name);
    return said;
  });
}

std::string kept_state_text(const Report& report) {
  std::map<std::string_view, std::size_t> counts;
  std::size_t written = 0;
  for (const StateSaid& said : state_of(report.graph, &report.split.partition, &report)) {
    if (!said.device) continue;
    ++counts[*said.device];
    ++written;
  }
  std::vector<std::string> places;
  for (const auto& [device, count] : counts) {
    places.push_back(
        std::string(device) +
        (counts.size() == 1 ? "" : " (" + count_text(count) + " of " + count_text(written) + ")"));
  }
  return places.empty() ? "" : "kept on " + joined(places, " and ");
}

const Fields<ModelSaid> kModelFields = {
    kLines,
    {{"path", [](auto& said) { return said.model.source.path(); }},
     {"format", [](auto& said) { return model_format_name(said.model.format()); },
      words("json onnx pt2 tflite")},
     {"name", [](auto& said) { return said.graph.name(); }},
     {"nodes", [](auto& said) { return said.graph.node_count(); }},
     {"values", [](auto& said) { return said.graph.value_count(); }},
     {"parameters", [](auto& said) { return count_given_parameters(said.graph); }},
     {"parameter_bytes", the<&ModelSaid::parameter_bytes>},
     {"fingerprint", [](auto& said) { return fingerprint_text(fingerprint(said.graph)); },
      "Equal for models that have the same split under the same list and settings: 16 digits."}}};

const Fields<ValueSaid> kValueFields = {
    kOneLine,
    {{"name", [](auto& said) { return said.graph.value(said.id).name; }},
     {"type", [](auto& said) { return value_type_name(said.graph.value(said.id).type); },
      words("tensor tuple list scalar sequence map optional none unknown")},
     {"dtype", [](auto& said) { return known_dtype(said.graph.value(said.id).dtype); }},
     {"shape",
      [](JsonText& json, const ValueSaid& said) {
        const Graph& graph = said.graph;
        if (!graph.value(said.id).is_tensor() || !graph.has_rank(said.id)) return json.null();
        json.begin_list();
        for (const Dim dim : graph.shape(said.id)) {
          dim.is_fixed()    ? json.number(dim.size())
          : dim.is_symbol() ? json.text(graph.text(dim.name()))
                            : json.null();
        }
        json.end_list();
      },
      FieldForm{.schema =
                    [] {
                      return std::string(R"({
"description": "null: not a tensor, or of unknown rank. Of a dim: a size, a symbol, or null.",
"type": ["array", "null"],
"items": {"type": ["integer", "string", "null"]}
})");
                    }}},
     {"bytes", [](auto& said) { return value_bytes(said.graph, said.id); },
      "null: not a tensor, or unknown."}},
    "value"};

const Fields<Signature> kSignatureFields = {
    kOneLine,
    {{"args", [](auto& one) { return each(one.args, known_dtype); },
      "By position; without nulls at the end. null: not a tensor, or a literal."},
     {"kwargs", [](auto& one) {
        Entries<std::optional<std::string_view>> dtypes;
        for (const auto& [name, dtype] : one.kwargs) {
          dtypes.list.emplace_back(name, known_dtype(dtype));
        }
        return dtypes;
      }}}};

std::vector<ValueSaid> values_of(const Graph& graph, std::span<const ValueId> values) {
  return each(values, [&](ValueId value) { return ValueSaid{graph, value}; });
}

std::optional<std::string_view> file_of(std::span<const std::string> files, PartId part) {
  if (files.empty() || files[index(part)].empty()) return std::nullopt;
  return files[index(part)];
}

std::string known_bytes_text(std::uint64_t bytes, bool is_all_known) {
  if (is_all_known) return bytes_text(bytes);
  return bytes == 0 ? "?" : bytes_text(bytes) + "+";
}

std::string crossing_text(const Graph& graph, std::span<const ValueId> values,
                          std::uint64_t bytes) {
  return known_bytes_text(bytes, !has_unknown_size(graph, values));
}

std::string crossing_words(const Graph& graph, std::span<const ValueId> values,
                           std::uint64_t bytes) {
  if (!has_unknown_size(graph, values)) return bytes_text(bytes);
  return bytes == 0 ? "an unknown size" : "at least " + bytes_text(bytes);
}

bool has_unknown_bytes(const Preview& preview) {
  return std::ranges::any_of(preview.parts,
                             [](const PartNumbers& numbers) { return has_unknown_bytes(numbers); });
}

std::string part_qps_text(const PartNumbers& numbers) {
  if (has_unknown_bytes(numbers)) return "?";
  return numbers.qps ? rate_text(*numbers.qps) : "-";
}

std::string rate_heading(const Link& link) {
  return link.is_none ? "" : link.is_assumed ? "QPS at " + link.name : "QPS";
}

std::string rate_heading(const Report& report) {
  if (report.targets.empty()) return rate_heading(report.preview.link);
  const auto has_none = [](const Target& target) { return target.link.is_none; };
  return std::ranges::all_of(report.targets, has_none) ? "" : "QPS";
}

std::optional<double> known_qps(const PartNumbers& numbers) {
  return has_unknown_bytes(numbers) ? std::nullopt : numbers.qps;
}

std::optional<LinkBound> known_bound(const Preview& preview) {
  return has_unknown_bytes(preview) ? std::nullopt : preview.bound;
}

std::string work_text(const PartNumbers& numbers) {
  if (numbers.flops == 0 && numbers.unknown_flops > 0) return "?";
  return flops_text(numbers.flops) + (numbers.unknown_flops > 0 ? "+" : "");
}

PartCells part_cells(const Report& report, PartId part, bool has_times) {
  const PartNumbers& numbers = report.preview.parts[part];
  const Boundaries& boundaries = report.split.boundaries;
  const OpenSizes* const sizes = report.open_sizes;
  const OpenPart* const open = sizes == nullptr ? nullptr : &(*sizes->parts)[part];
  const auto crossing = [&](const auto& values, std::uint64_t bytes, OpenNumber OpenPart::*which) {
    return Amount(static_cast<double>(bytes), open != nullptr
                                                  ? open_bytes_cell(open->*which, *sizes)
                                                  : crossing_text(report.graph, values, bytes));
  };
  PartCells cells{
      .name = escaped(report.split.partition.name(part)),
      .device = device_name(report, part),
      .nodes = report.split.partition.nodes(part).size(),
      .in = crossing(boundaries.inputs[part], numbers.input_bytes, &OpenPart::input_bytes),
      .out = crossing(boundaries.outputs[part], numbers.output_bytes, &OpenPart::output_bytes),
      .parameters = {static_cast<double>(numbers.parameter_bytes),
                     bytes_text(numbers.parameter_bytes)},
      .flops = {numbers.flops,
                open != nullptr ? open_flops_cell(open->flops, *sizes) : work_text(numbers)},
      .qps = {known_qps(numbers).value_or(-1), part_qps_text(numbers)},
      .time = {}};
  if (has_times) {
    const PartLatency& time = report.time->asked().parts[part];
    const bool is_known = time.compute_us && time.link_us && time.launch_us;
    cells.time = {is_known ? *time.compute_us + *time.link_us + *time.launch_us : -1,
                  part_time_text(time)};
  }
  return cells;
}

std::vector<DeviceCells> device_cells(const Report& report, bool has_times) {
  const DevicesOfSplit& all = report.preview.by_device;
  const auto time_of = [&](const std::optional<double>& us) {
    return Amount(us.value_or(-1), us ? duration_text(*us) : std::string("?"));
  };
  std::vector<DeviceCells> rows;
  for (std::size_t i = 0; i < all.devices.size(); ++i) {
    const bool is_host = i == report.targets.size();
    const DeviceNumbersOfSplit& numbers = all.devices[i];
    PartNumbers work;
    work.flops = numbers.flops;
    work.unknown_flops = numbers.unknown_flops;
    DeviceCells& row =
        rows.emplace_back(DeviceCells{.name = is_host ? "CPU" : report.targets[i].name,
                                      .target = is_host ? std::nullopt : std::optional(i),
                                      .nodes = numbers.nodes,
                                      .parts = numbers.parts,
                                      .work = work_text(work),
                                      .weights = {static_cast<double>(numbers.parameter_bytes),
                                                  bytes_text(numbers.parameter_bytes)},
                                      .peak = {},
                                      .compute = {},
                                      .link = {},
                                      .launches = {},
                                      .qps = numbers.has_unknown_bytes ? "?"
                                             : numbers.qps             ? rate_text(*numbers.qps)
                                                                       : "-",
                                      .to = {}});
    if (!is_host && report.time != nullptr) {  // "18.1 MiB of 20 MiB"
      const std::uint64_t peak = report.time->use->peak_bytes[i];
      const auto memory = report.time->basis.machine_with(i).acc_memory;
      row.peak = {static_cast<double>(peak),
                  known_bytes_text(peak, report.time->use->is_peak_known[i]) +
                      (memory ? " of " + bytes_text(*memory) : std::string())};
    }
    if (has_times) {
      const Latency& latency = report.time->asked();
      row.compute = time_of(is_host ? latency.cpu_us : latency.targets[i].compute_us);
      if (!is_host) row.link = time_of(latency.targets[i].link_us);
      if (!is_host) row.launches = time_of(latency.targets[i].launch_us);
    }
    for (std::size_t to = 0; to < all.devices.size(); ++to) {
      const std::uint64_t bytes = all.bytes_between(i, to);
      const bool is_known = all.are_bytes_known(i, to);
      row.to.emplace_back(bytes, bytes == 0 && is_known ? "-" : known_bytes_text(bytes, is_known));
    }
  }
  return rows;
}

std::string share_text(const Coverage& coverage) {
  return coverage.total > 0 ? percent_text(coverage.ratio()) : "-";
}

std::string coverage_text(const Coverages& coverage, std::string_view where) {
  const auto count = [](double number) { return count_text(static_cast<std::uint64_t>(number)); };
  const std::string at(where);
  if (coverage.nodes.total == 0) return "no nodes";
  std::string text = count(coverage.nodes.acc) + " of " +
                     counted(static_cast<std::uint64_t>(coverage.nodes.total), "node") + " (" +
                     percent_text(coverage.nodes.ratio()) + ")";
  if (coverage.flops.have_share()) {
    text += " and " + percent_text(coverage.flops.ratio()) + " of " +
            (coverage.flops.unknown > 0 ? "the known " : "") + flops_text(coverage.flops.total);
  }
  return text + " " + at;
}

namespace {

const Fields<Coverage> kShareFields = {
    kOneLine,
    {{"acc", the<&Coverage::acc>},
     {"total", the<&Coverage::total>},
     {"ratio", [](auto& one) { return one.ratio(); }, "1 where the total is 0."}},
    "share"};

const Fields<Coverages> kFlopsShareFields = {
    kOneLine,
    {{"acc", the<&Coverages::flops, &FlopsCoverage::acc>},
     {"total", the<&Coverages::flops, &FlopsCoverage::total>},
     {"ratio", [](auto& all) { return when(all.flops.are_known(), all.flops.ratio()); },
      "1 where the total is 0; null where most FLOPs are not known."},
     {"unknown_ops", [](auto& all) { return all.unknown_flops_ops.size(); },
      "Op types without known FLOPs."},
     {"unknown_nodes", the<&Coverages::flops, &FlopsCoverage::unknown>}}};

}  // namespace

const Fields<Coverages> kCoverageFields = {
    kLines,
    {{"nodes", the<&Coverages::nodes>, kShareFields},
     {"flops", Itself{}, "Of nodes whose FLOPs are known.", kFlopsShareFields},
     {"parameter_bytes", the<&Coverages::parameter_bytes>,
      "acc: read by the partitions or nodes that are there, perhaps also by others.",
      kShareFields}}};

std::string notes_text(std::span<const std::string> notes) {
  std::string text;
  for (const std::string& note : notes) {
    text += (text.empty() ? "\n" : "") + as_line("note: " + escaped(note));
  }
  return text;
}

std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

std::string gain_note(const Split& split) {
  if (!split.placement || !split.placement->is_too_little) return {};
  return "no node moved to the CPU: the best placement would take " +
         percent_text(split.placement->gain) + " less time, and --min-gain asks for more";
}

std::string host_shapes_note(const Split& split, const SplitOptions& options) {
  if (!options.host_shapes) return {};
  const std::size_t with = split.merged_count;
  const std::size_t without = split.count_without_host_shapes;
  const bool is_less = with <= without;
  const std::size_t change = is_less ? without - with : with - without;
  return "host shapes: " + counted(split.host_shapes.nodes.count(), "node") + ", " +
         (change == 0 ? "as many subgraphs as without"
                      : counted(change, is_less ? "fewer subgraph" : "more subgraph",
                                is_less ? "fewer subgraphs" : "more subgraphs"));
}

std::string memory_note(const Preview& preview, const Machine& machine) {
  const auto used = static_cast<std::uint64_t>(preview.coverage.parameter_bytes.acc);
  if (!machine.acc_memory || used <= *machine.acc_memory) return {};
  return "the accelerator's memory is " + bytes_text(*machine.acc_memory) +
         ", and the parameters read there are " + bytes_text(used) + ", " +
         bytes_text(used - *machine.acc_memory) + " more: --place cost keeps to it";
}

std::string part_count_note(const Split& split, const Machine& machine, const SplitOptions& options,
                            bool has_requirements) {
  const auto& devices = split.partition.devices;
  const auto count = static_cast<std::size_t>(std::ranges::count(devices, Device::acc));
  if (!machine.most_acc_parts || count <= *machine.most_acc_parts) return {};
  const std::string most = count_text(*machine.most_acc_parts);
  return counted(count, "partition is", "partitions are") + " on the accelerator, " +
         count_text(count - *machine.most_acc_parts) + " more than max-subgraphs=" + most +
         (options.place != PlaceBy::cost
              ? ": --keep-acc-subgraphs " + most + " or --place cost keeps to it"
          : has_requirements
              ? ": nodes of --require take them; without them --place cost keeps to it"
              : ": --keep-acc-subgraphs " + most + " keeps to it");
}

std::vector<std::string> target_notes(const LoadedModel& model, const Graph& graph,
                                      std::span<const Target> targets, const Preview& preview,
                                      const InferenceTime& time) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Machine& machine = time.basis.machine_with(i);
    const std::uint64_t held = time.use->peak_bytes[i];
    const bool is_known = time.use->is_peak_known[i];
    if (machine.acc_memory && held > *machine.acc_memory) {
      notes.push_back(targets[i].name + " would hold " + (is_known ? "" : "at least ") +
                      bytes_text(held) + " at once, " + bytes_text(held - *machine.acc_memory) +
                      " more than its memory=" + bytes_text(*machine.acc_memory) +
                      ": --place cost keeps to it");
    } else if (machine.acc_memory && !is_known) {
      const std::string dims = size_options_text(model, graph);
      notes.push_back("whether " + targets[i].name +
                      " keeps to its memory=" + bytes_text(*machine.acc_memory) +
                      " is not known, since sizes of tensors that it holds are not" +
                      (dims.empty() ? "" : ": give " + dims));
    }
    const std::size_t parts = preview.by_device.devices[i].parts;
    if (machine.most_acc_parts && parts > *machine.most_acc_parts) {
      const std::string most = count_text(*machine.most_acc_parts);
      notes.push_back(targets[i].name + " has " + counted(parts, "partition") + ", " +
                      count_text(parts - *machine.most_acc_parts) +
                      " more than max-subgraphs=" + most + ": --keep-acc-subgraphs " +
                      targets[i].name + "=" + most + " or --place cost keeps to it");
    }
  }
  return notes;
}

std::string opsets_text(const Graph& graph) {
  return joined(graph.opsets(), ", ", [&](const OpsetImport& opset) {
    return (opset.domain.empty() ? std::string("ai.onnx") : escaped(opset.domain)) + " " +
           std::to_string(opset.version);
  });
}

const Fields<OpsetImport> kOpsetFields = {
    kOneLine,
    {{"domain",
      [](auto& opset) {
        return std::string_view(opset.domain == "ai.onnx" ? std::string_view() : opset.domain);
      },
      "The default domain is empty."},
     {"version", the<&OpsetImport::version>}}};

namespace {

struct OtherFile {
  std::string name;
  std::uint64_t bytes = 0;
};
const Fields<OtherFile> kFileFields = {
    kOneLine, {{"name", the<&OtherFile::name>}, {"bytes", the<&OtherFile::bytes>}}};

}  // namespace

const Fields<ManifestFiles> kManifestFields = {
    kLines,
    {{"files", [](const ManifestFiles&) { return std::vector<OtherFile>(); },
      "Only in manifest.json: the other files in its folder. --force removes only files that are "
      "listed here, by name and size.",
      kFileFields, kLeftOut}}};

std::string chain_schema() {
  return R"({
  "description": "How to call the partitions of a torch.export program or a TensorFlow Lite model one after the other.",
  "type": "object",
  "required": ["order", "inputs", "outputs", "state", "mutations"],
  "additionalProperties": false,
  "properties": {
    "order": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["name", "file", "inputs", "outputs", "writes_inputs", "repeated"],
        "additionalProperties": false,
        "properties": {
          "name": {"type": "string"},
          "file": {"type": "string"},
          "model": {"description": "Its name in a bundle: of the model, or of the signature.", "type": "string"},
          "inputs": {"type": "array", "items": {"type": "string"}},
          "outputs": {"type": "array", "items": {"type": "string"}},
          "writes_inputs": {"type": "array", "items": {"type": "string"}},
          "repeated": {"type": "array", "items": {"type": "string"}},
          "variables": {
            "description": "TensorFlow Lite: those that the partition keeps itself.",
            "type": "array",
            "items": {"type": "string"}
          }
        }
      }
    },
    "inputs": {"type": "array", "items": {"type": ["string", "null"]}},
    "outputs": {"type": "array", "items": {"type": ["string", "object"]}},
    "state": {"type": "array", "items": {"type": "object"}},
    "mutations": {"type": "array", "items": {"type": "object"}},
    "init": {
      "description": "TensorFlow Lite: the file whose outputs are the first values of the state.",
      "type": "object",
      "required": ["file", "outputs"],
      "additionalProperties": false,
      "properties": {
        "file": {"type": "string"},
        "model": {"description": "Its signature in a bundle.", "type": "string"},
        "outputs": {"type": "array", "items": {"type": "string"}}
      }
    },
    "signature": {
      "description": "TensorFlow Lite: the names that the model's signature gives its inputs and outputs.",
      "type": "object"
    },
    "open": {
      "description": "TensorFlow Lite: values whose sizes may change.",
      "type": "array",
      "items": {"type": "string"}
    }
  }
})";
}

std::vector<std::string> assumed_links(const Report& report) {
  std::vector<std::string> names;
  const bool has_times = report.time != nullptr && report.time->asked().total_us;
  const auto add = [&](const Link& link, std::string_view name) {
    if (link.is_assumed && (has_times || !link.is_none)) names.emplace_back(name);
  };
  if (report.preview.coverage.nodes.acc == 0) return names;
  if (report.targets.empty()) add(report.preview.link, report.only_target);
  for (const Target& target : report.targets) add(target.link, target.name);
  return names;
}

std::string set_input_text(const Graph& graph, std::span<const ValueId> inputs) {
  return joined(inputs, " ", [&](const ValueId input) {
    return "--set-input " + shell_word(escaped(graph.value(input).name) + "=VALUE");
  });
}

std::string size_options_text(const LoadedModel& model, const Graph& graph,
                              const OpenSizes* sizes) {
  const std::string text = set_input_text(graph, deciding_inputs(graph));
  std::optional<Fitting> fitting;
  bool is_sought = false;
  const auto likely = [&](ValueId input, std::size_t axis) -> std::optional<std::int64_t> {
    if (sizes != nullptr) {
      const std::string dim =
          std::string(graph.value(input).name) + "[" + std::to_string(axis) + "]";
      for (const auto& [pinned, size] : sizes->pinned) {
        if (pinned == dim) return size;
      }
      const auto at = std::ranges::find(sizes->names, dim) - sizes->names.begin();
      if (at < std::ssize(sizes->names)) return sizes->grid.first[static_cast<std::size_t>(at)];
    }
    if (!std::exchange(is_sought, true)) {
      GraphAgain again(model);
      fitting = fitting_sizes(model, again);
    }
    if (!fitting) return std::nullopt;
    const auto found = fitting->shapes.find(std::string(graph.value(input).name));
    return found == fitting->shapes.end() ? std::nullopt : std::optional(found->second[axis]);
  };
  const std::string dims = dim_options(graph, likely);
  return text + (text.empty() || dims.empty() ? "" : " ") + dims;
}

}  // namespace cleave
