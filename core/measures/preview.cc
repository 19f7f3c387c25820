// Steps:
// 1. for each partition, sum the bytes at its boundary, its parameters and its FLOPs;
// 2. find the rates that the link allows;
// 3. sum the coverage of nodes, FLOPs and parameters.
#include "core/measures/preview.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/checked.h"
#include "core/cost/cost.h"

namespace cleave {
namespace {

std::uint64_t parameter_bytes(const Graph& graph, ValueId parameter) {
  return value_bytes(graph, parameter).value_or(0);
}

// The parameters of the file that some nodes read, by their canonical ids.
class ParametersRead {
 public:
  explicit ParametersRead(const Graph& graph) : graph_(graph), seen_(graph.value_count()) {}

  void add_node(NodeId node) {
    for (const ValueId parameter : graph_.module_parameters(node)) push(parameter);
    for (const Operand& operand : graph_.operands(node)) push(operand.value);
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      const NodeId maker = graph_.value(value).producer;
      if (maker == kNone<NodeId>) continue;
      for (const Operand& operand : graph_.operands(maker)) push(operand.value);
    }
  }
  bool contains(ValueId parameter) const { return seen_.contains(parameter); }

 private:
  void push(ValueId value) {
    if (!graph_.is_parameter(value)) return;
    const ValueId canonical = graph_.canonical_parameter(value);
    if (seen_.insert(canonical)) pending_.push_back(canonical);
  }

  const Graph& graph_;
  ValueSet seen_;
  std::vector<ValueId> pending_;
};

// The devices of a split, in one walk over the parts.
class DeviceCounter {
 public:
  DeviceCounter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const PerPart<PartNumbers>& parts, std::size_t target_count)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        parts_(parts),
        host_(target_count),
        read_by_host_(graph.value_count()) {
    result_.devices.resize(host_ + 1);
    result_.bytes.resize((host_ + 1) * (host_ + 1));
    result_.has_unknown.resize(result_.bytes.size());
  }

  DevicesOfSplit run() && {
    for (const PartId part : partition_.parts()) count_part(part);
    for (const ValueId value : graph_.outputs()) count_read(value, host_);
    for (std::size_t device = 0; device <= host_; ++device) count_parameters(device);
    return std::move(result_);
  }

 private:
  std::size_t device_of(PartId part) const {
    const TargetId target = partition_.target(part);
    return target == kNone<TargetId> ? host_ : index(target);
  }

  void count_part(PartId part) {
    DeviceNumbersOfSplit& numbers = result_.devices[device_of(part)];
    ++numbers.parts;
    numbers.nodes += partition_.nodes(part).size();
    numbers.flops += parts_[part].flops;
    numbers.unknown_flops += parts_[part].unknown_flops;
    for (const Hazard& hazard : parts_[part].hazards) {
      numbers.has_unknown_bytes |= hazard.kind == Hazard::Kind::unknown_bytes;
    }
    for (const ValueId value : boundaries_.inputs[part]) count_read(value, device_of(part));
  }

  void count_read(ValueId value, std::size_t reader) {
    const Value& record = graph_.value(value);
    if (record.kind == ValueKind::parameter) return;
    const bool is_made = record.kind == ValueKind::node_output;
    if (is_made && !graph_.nodes().contains(record.producer)) return;  // a constant's output
    const std::size_t maker = is_made ? device_of(partition_.part_of[record.producer]) : host_;
    if (maker == reader || (reader == host_ && !read_by_host_.insert(value))) return;
    const std::size_t place = maker * (host_ + 1) + reader;
    const auto bytes = value_bytes(graph_, value);
    result_.bytes[place] = saturating_add(result_.bytes[place], bytes.value_or(0));
    if (!bytes && record.is_tensor()) result_.has_unknown[place] = true;
  }

  void count_parameters(std::size_t device) {
    ParametersRead read(graph_);
    for (const PartId part : partition_.parts()) {
      if (device_of(part) != device) continue;
      for (const NodeId node : partition_.nodes(part)) read.add_node(node);
    }
    std::uint64_t& bytes = result_.devices[device].parameter_bytes;
    for (const ValueId parameter : graph_.parameters()) {
      if (graph_.canonical_parameter(parameter) != parameter || !read.contains(parameter)) continue;
      if (is_in_file(graph_, parameter)) {
        bytes = saturating_add(bytes, parameter_bytes(graph_, parameter));
      }
    }
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const PerPart<PartNumbers>& parts_;
  const std::size_t host_;
  ValueSet read_by_host_;
  DevicesOfSplit result_;
};

void cover_parameters(const Graph& graph, const NodeSet& acc, Coverages& coverages) {
  ParametersRead read(graph);
  for (const NodeId node : graph.nodes()) {
    if (acc.contains(node)) read.add_node(node);
  }
  std::uint64_t total = 0;
  std::uint64_t on_acc = 0;
  for (const ValueId parameter : graph.parameters()) {
    if (graph.canonical_parameter(parameter) != parameter) continue;
    if (!is_in_file(graph, parameter)) continue;
    const std::uint64_t bytes = parameter_bytes(graph, parameter);
    total = saturating_add(total, bytes);
    if (read.contains(parameter)) on_acc = saturating_add(on_acc, bytes);
  }
  coverages.model_parameter_bytes = total;
  coverages.parameter_bytes = {.acc = static_cast<double>(on_acc),
                               .total = static_cast<double>(total)};
}

Coverages cover(const Graph& graph, const NodeSet& acc,
                const PerNode<std::optional<double>>& flops) {
  Coverages coverage;
  std::unordered_set<std::uint64_t> unknown_ops;
  coverage.nodes = {.acc = static_cast<double>(acc.count()),
                    .total = static_cast<double>(graph.node_count())};
  for (const NodeId node : graph.nodes()) {
    if (!flops[node]) {
      ++coverage.flops.unknown;
      const Node& record = graph.node(node);
      const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
      if (unknown_ops.insert(op).second) coverage.unknown_flops_ops.push_back(node);
      continue;
    }
    if (*flops[node] > 0) ++coverage.flops.computing;
    coverage.flops.total += *flops[node];
    if (acc.contains(node)) coverage.flops.acc += *flops[node];
  }
  cover_parameters(graph, acc, coverage);
  return coverage;
}

class Previewer {
 public:
  Previewer(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
            const Link& link, std::span<const Target> targets)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        targets_(targets),
        needed_constants_(graph, boundaries),
        in_part_(graph.value_count()) {
    preview_.link = link;
    preview_.parts = PerPart<PartNumbers>(partition.count());
  }

  Preview make() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    NodeSet acc(graph_.node_count());
    for (const PartId part : partition_.parts()) {
      count_boundary(part);
      count_parameters(part);
      count_flops(part, flops);
      if (!partition_.is_acc(part)) continue;
      for (const NodeId node : partition_.nodes(part)) acc.insert(node);
    }
    bound_by_link();
    preview_.coverage = cover(graph_, acc, flops);
    return std::move(preview_);
  }

 private:
  void count_boundary(PartId part) {
    using Kind = Hazard::Kind;
    PartNumbers& numbers = preview_.parts[part];
    for (const ValueId value : boundaries_.inputs[part]) {
      numbers.input_bytes =
          saturating_add(numbers.input_bytes, bytes_over_link(part, value, Kind::non_tensor_input));
    }
    for (const ValueId value : boundaries_.outputs[part]) {
      numbers.output_bytes = saturating_add(numbers.output_bytes,
                                            bytes_over_link(part, value, Kind::non_tensor_output));
    }
    const std::uint64_t most = std::max(numbers.input_bytes, numbers.output_bytes);
    if (partition_.is_acc(part) && most > 0) {
      const Link& link =
          targets_.empty() ? preview_.link : targets_[index(partition_.target(part))].link;
      numbers.qps = link.bytes_per_second / static_cast<double>(most);
    }
  }

  std::uint64_t bytes_over_link(PartId part, ValueId value, Hazard::Kind if_non_tensor) {
    const auto bytes = value_bytes(graph_, value);
    if (bytes) return *bytes;
    if (partition_.is_acc(part)) {
      const bool is_tensor = graph_.value(value).is_tensor();
      preview_.parts[part].hazards.push_back(
          {is_tensor ? Hazard::Kind::unknown_bytes : if_non_tensor, value});
    }
    return 0;
  }

  void count_flops(PartId part, const PerNode<std::optional<double>>& flops) {
    PartNumbers& numbers = preview_.parts[part];
    for (const NodeId node : partition_.nodes(part)) {
      if (!flops[node]) {
        ++numbers.unknown_flops;
      } else {
        numbers.flops += *flops[node];
      }
    }
  }

  // Aliases of a parameter count once.
  void count_parameters(PartId part) {
    std::uint64_t& total = preview_.parts[part].parameter_bytes;
    const auto parameters = boundaries_.parameters[part];
    for (const ValueId parameter : parameters) {
      const ValueId canonical = graph_.canonical_parameter(parameter);
      if (!in_part_.insert(canonical)) continue;
      total = saturating_add(total, parameter_bytes(graph_, canonical));
    }
    for (const ValueId parameter : parameters) {
      in_part_.erase(graph_.canonical_parameter(parameter));
    }
    for (const NodeId constant : needed_constants_.of(part)) {
      if (!graph_.operands(constant).empty()) continue;
      for (const ValueId value : graph_.outputs(constant)) {
        total = saturating_add(total, parameter_bytes(graph_, value));
      }
    }
  }

  void bound_by_link() {
    LinkBound bound;
    double in = 0;
    double out = 0;
    double most_both_ways = 0;
    for (const PartId part : partition_.parts()) {
      const PartNumbers& numbers = preview_.parts[part];
      if (!numbers.qps) continue;
      const auto part_in = static_cast<double>(numbers.input_bytes);
      const auto part_out = static_cast<double>(numbers.output_bytes);
      in += part_in;
      out += part_out;
      most_both_ways = std::max(most_both_ways, part_in + part_out);
      if (bound.bottleneck != kNone<PartId> && *numbers.qps >= bound.max_qps) continue;
      bound.max_qps = *numbers.qps;
      bound.bottleneck = part;
    }
    if (bound.bottleneck == kNone<PartId>) return;
    const double bandwidth = preview_.link.bytes_per_second;
    bound.max_qps_half_duplex = bandwidth / most_both_ways;
    bound.shared_qps = bandwidth / std::max(in, out);
    bound.shared_qps_half_duplex = bandwidth / (in + out);
    preview_.bound = bound;
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  std::span<const Target> targets_;
  NeededConstants needed_constants_;
  ValueSet in_part_;  // parameters of the current part
  Preview preview_;
};

}  // namespace

namespace {

// The bound of several links: each carries the parts of its target, and the slowest decides.
void bound_by_links(const Partition& partition, std::span<const Target> targets, Preview& preview) {
  if (!preview.bound) return;
  LinkBound& bound = *preview.bound;
  bound.shared_qps = bound.shared_qps_half_duplex = bound.max_qps_half_duplex = bound.max_qps;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    double in = 0;
    double out = 0;
    for (const PartId part : partition.parts()) {
      const PartNumbers& numbers = preview.parts[part];
      if (partition.target(part) != id_at<TargetId>(i) || !numbers.qps) continue;
      in += static_cast<double>(numbers.input_bytes);
      out += static_cast<double>(numbers.output_bytes);
      const auto both = static_cast<double>(numbers.input_bytes + numbers.output_bytes);
      bound.max_qps_half_duplex =
          std::min(bound.max_qps_half_duplex, targets[i].link.bytes_per_second / both);
    }
    if (in + out == 0) continue;
    const double qps = targets[i].link.bytes_per_second / std::max(in, out);
    preview.by_device.devices[i].qps = qps;
    bound.shared_qps = std::min(bound.shared_qps, qps);
    bound.shared_qps_half_duplex =
        std::min(bound.shared_qps_half_duplex, targets[i].link.bytes_per_second / (in + out));
  }
  preview.link = targets[index(partition.target(bound.bottleneck))].link;
}

}  // namespace

bool is_in_file(const Graph& graph, ValueId parameter) {
  const NodeId maker = graph.value(parameter).producer;
  return maker == kNone<NodeId> || graph.operands(maker).empty();
}

Coverages cover(const Graph& graph, const NodeSet& acc) {
  return cover(graph, acc, node_flops(graph));
}

Preview preview_split(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                      const Link& link, std::span<const Target> targets) {
  Preview preview = Previewer(graph, partition, boundaries, link, targets).make();
  if (targets.empty()) return preview;
  preview.by_device =
      DeviceCounter(graph, partition, boundaries, preview.parts, targets.size()).run();
  bound_by_links(partition, targets, preview);
  return preview;
}

}  // namespace cleave
