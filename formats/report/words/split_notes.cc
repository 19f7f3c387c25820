#include "formats/report/words/split_notes.h"

#include <algorithm>

#include "formats/base/text/number_text.h"

namespace cleave {

std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

std::string host_shapes_note(const Split& split, const SplitOptions& options) {
  if (!options.host_shapes.follow) return {};
  const HostShapes& shapes = split.host_shapes;
  const bool is_less = shapes.subgraphs <= shapes.subgraphs_without;
  const std::size_t change = is_less ? shapes.subgraphs_without - shapes.subgraphs
                                     : shapes.subgraphs - shapes.subgraphs_without;
  return "host shapes: " + counted(shapes.nodes.count(), "node", "nodes") + ", " +
         (change == 0 ? "as many subgraphs as without"
                      : counted(change, is_less ? "fewer subgraph" : "more subgraph",
                                is_less ? "fewer subgraphs" : "more subgraphs"));
}

std::string memory_note(const Preview& preview, const Machine& machine) {
  const auto used = static_cast<std::uint64_t>(preview.coverage.parameter_bytes.acc);
  if (!machine.acc_memory || used <= *machine.acc_memory) return {};
  return "the accelerator's memory is " + bytes_text(*machine.acc_memory) +
         ", and the parameters read there are " + bytes_text(used) + ", " +
         bytes_text(used - *machine.acc_memory) + " more: no option places nodes by memory";
}

std::string part_count_note(const Split& split, const Machine& machine) {
  const auto& devices = split.partition.devices;
  const auto count =
      static_cast<std::size_t>(std::count(devices.begin(), devices.end(), Device::acc));
  if (!machine.most_acc_parts || count <= *machine.most_acc_parts) return {};
  const std::string most = count_text(*machine.most_acc_parts);
  return counted(count, "partition is", "partitions are") + " on the accelerator, " +
         count_text(count - *machine.most_acc_parts) + " more than max-subgraphs=" + most +
         ": --keep-acc-subgraphs " + most + " or --place cost keeps to it";
}

}  // namespace cleave
