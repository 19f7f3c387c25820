#include "formats/models/onnx/fold/unread_nodes.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cleave {
namespace {

// The number of readers of each value; graph outputs are read.
std::vector<std::uint32_t> count_readers(const OnnxModel& model, const OnnxLinks& links) {
  std::vector<std::uint32_t> readers(links.values.count(), 0);
  const auto read = [&](std::uint32_t number) {
    if (number != OnnxValueNumbers::kNone) ++readers[number];
  };
  for (std::uint32_t i = 0; i < model.graph.nodes.size(); ++i) {
    for (const std::uint32_t number : links.reads.of(i)) read(number);
    for (const std::string_view name : links.captures_of(i)) read(links.values.find(name));
  }
  for (const OnnxValueInfo& output : model.graph.outputs) read(links.values.find(output.name));
  return readers;
}

}  // namespace

std::optional<std::size_t> drop_unread_nodes(OnnxModel& model, const OnnxLinks& links,
                                             std::span<const std::string_view> loose) {
  OnnxNodes& nodes = model.graph.nodes;
  std::vector<std::uint32_t> readers = count_readers(model, links);
  std::vector<bool> is_dropped(nodes.size(), false);
  bool is_any = false;
  std::vector<std::uint32_t> work;
  for (const std::string_view name : loose) work.push_back(links.values.find(name));
  const auto release = [&](std::uint32_t number) {
    if (number != OnnxValueNumbers::kNone && --readers[number] == 0) work.push_back(number);
  };
  while (!work.empty()) {
    const std::uint32_t number = work.back();
    work.pop_back();
    const auto& first = links.first_output;
    if (number == OnnxValueNumbers::kNone || number < first.front()) continue;
    const auto maker = static_cast<std::uint32_t>(
        std::upper_bound(first.begin(), first.end(), number) - first.begin() - 1);
    const auto begin = readers.begin() + first[maker], end = readers.begin() + first[maker + 1];
    const bool is_read = std::any_of(begin, end, [](std::uint32_t count) { return count > 0; });
    if (is_read || is_dropped[maker]) continue;
    is_dropped[maker] = true;
    is_any = true;
    for (const std::uint32_t input : links.reads.of(maker)) release(input);
    for (const std::string_view name : links.captures_of(maker)) release(links.values.find(name));
  }
  if (!is_any) return std::nullopt;
  std::size_t dropped = 0;
  OnnxNode room;
  OnnxNodes left;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_dropped[i]) {
      nodes.move_to(i, left);
    } else if (nodes.read_names(i, room).op_type != "Constant") {
      ++dropped;
    }
  }
  nodes = std::move(left);
  return dropped;
}

}  // namespace cleave
