// Operators that choose, repeat and place elements depending on others: Split, Tile, TopK,
// GatherElements, GatherND, ScatterElements, ScatterND, OneHot, NonZero.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "formats/models/onnx/infer/element_rules.h"

namespace cleave {
namespace {

using Dims = std::vector<std::int64_t>;
using Picks = std::vector<std::size_t>;

// Uses the types of the outputs, which are already inferred.
OnnxElementList split(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dims.empty()) return {};
  const auto axis = axis_of(call.integer("axis", 0), from->dims.size());
  if (!axis) return {};
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  OnnxElementList out;
  std::size_t first = 0;
  for (const OnnxType& type : call.outputs) {
    if (!type.is_tensor() || !type.has_shape || type.rank() != from->dims.size()) return {};
    if (type.size(*axis) < 0) return {};
    const auto size = static_cast<std::size_t>(type.size(*axis));
    if (first + size > lines.size) return {};
    Dims dims = from->dims;
    dims[*axis] = type.size(*axis);
    Picks picks;
    for (std::size_t o = 0; o < lines.outer; ++o) {
      for (std::size_t i = first; i < first + size; ++i) {
        for (std::size_t k = 0; k < lines.inner; ++k) picks.push_back(lines.at(o, i, k));
      }
    }
    out.emplace_back(picked(*from, std::move(dims), picks));
    first += size;
  }
  if (first != lines.size) return {};
  return out;
}

OnnxElementList tile(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const auto repeats = call.integers(1);
  if (from == nullptr || !repeats || call.opset() < 6) return {};
  if (repeats->size() != from->dims.size()) return {};
  Dims dims = from->dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (__builtin_mul_overflow(dims[i], (*repeats)[i], &dims[i])) return {};
  }
  const std::optional<std::size_t> count = small_count(dims);
  if (!count) return {};
  const Dims strides = strides_of(from->dims);
  Picks picks;
  for (std::size_t at = 0; at < *count; ++at) {
    const Dims index = index_at(at, dims);
    std::int64_t pick = 0;
    for (std::size_t i = 0; i < index.size(); ++i) pick += index[i] % from->dims[i] * strides[i];
    picks.push_back(static_cast<std::size_t>(pick));
  }
  return {picked(*from, std::move(dims), picks)};
}

// The number of elements that TopK takes: an attribute before opset 10.
std::optional<std::int64_t> top_count(const OnnxOpCall& call) {
  if (call.opset() < 10) return call.integer("k", -1);
  const auto given = call.integers(1);
  return given && given->size() == 1 ? std::optional((*given)[0]) : std::nullopt;
}

// Among equal elements the earlier one comes first. The order of unsorted results is unknown.
OnnxElementList top_k(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const std::optional<std::int64_t> k = top_count(call);
  if (from == nullptr || !k || from->dims.empty()) return {};
  const auto axis = axis_of(call.integer("axis", -1), from->dims.size());
  if (!axis || *k < 0 || *k > from->dims[*axis]) return {};
  if (call.integer("sorted", 1) == 0 && *k > 1) return {};
  const bool is_largest = call.integer("largest", 1) != 0;
  std::vector<double> keys;
  for (std::size_t i = 0; i < from->count(); ++i) {
    const std::optional<double> key = onnx_sort_key(*from, i);
    if (!key) return {};
    keys.push_back(is_largest ? -*key : *key);
  }
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  Dims dims = from->dims;
  dims[*axis] = *k;
  const OnnxAxisLines made = lines_along(dims, *axis);
  Picks picks(made.outer * made.size * made.inner, 0);
  OnnxElements indices{.dtype = DType::int64, .dims = dims, .integers = {}, .reals = {}};
  indices.integers.resize(picks.size());
  for (std::size_t o = 0; o < lines.outer; ++o) {
    for (std::size_t in = 0; in < lines.inner; ++in) {
      Picks order(lines.size);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return keys[lines.at(o, a, in)] < keys[lines.at(o, b, in)];
      });
      for (std::size_t i = 0; i < made.size; ++i) {
        picks[made.at(o, i, in)] = lines.at(o, order[i], in);
        indices.integers[made.at(o, i, in)].value = static_cast<std::int64_t>(order[i]);
      }
    }
  }
  return {picked(*from, std::move(dims), picks), std::move(indices)};
}

// For each element of the indices: the position in the data that it selects along the axis.
std::optional<Picks> named_along_axis(const OnnxOpCall& call, const OnnxElements& data,
                                      const OnnxElements& indices) {
  const auto known = known_integers(indices);
  const auto axis = axis_of(call.integer("axis", 0), data.dims.size());
  if (!known || !axis || indices.dims.size() != data.dims.size()) return std::nullopt;
  const Dims strides = strides_of(data.dims);
  Picks picks;
  for (std::size_t at = 0; at < known->size(); ++at) {
    Dims index = index_at(at, indices.dims);
    const auto chosen = wrapped_index((*known)[at], data.dims[*axis]);
    if (!chosen) return std::nullopt;
    index[*axis] = static_cast<std::int64_t>(*chosen);
    std::int64_t pick = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= data.dims[i]) return std::nullopt;
      pick += index[i] * strides[i];
    }
    picks.push_back(static_cast<std::size_t>(pick));
  }
  return picks;
}

OnnxElementList gather_along_axis(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  if (data == nullptr || indices == nullptr || data->dims.empty()) return {};
  const std::optional<Picks> picks = named_along_axis(call, *data, *indices);
  if (!picks) return {};
  return {picked(*data, indices->dims, *picks)};
}

bool replaces(const OnnxOpCall& call) { return call.text("reduction", "none") == "none"; }

// Puts updates[i] at position picks[i]; if a position occurs twice, the result there is unknown.
OnnxElementList scattered(const OnnxElements& data, const OnnxElements& updates,
                          const Picks& picks) {
  if (data.dtype != updates.dtype || picks.size() != updates.count()) return {};
  OnnxElements out = data;
  std::vector<bool> is_taken(data.count(), false);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (is_taken[picks[i]]) return {};
    is_taken[picks[i]] = true;
    if (out.is_real()) {
      out.reals[picks[i]] = updates.reals[i];
    } else {
      out.integers[picks[i]] = updates.integers[i];
    }
  }
  return {std::move(out)};
}

OnnxElementList scatter_along_axis(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  const OnnxElements* updates = call.elements(2);
  if (data == nullptr || indices == nullptr || updates == nullptr || data->dims.empty()) return {};
  if (!replaces(call) || updates->dims != indices->dims) return {};
  const std::optional<Picks> picks = named_along_axis(call, *data, *indices);
  return picks ? scattered(*data, *updates, *picks) : OnnxElementList{};
}

// Rows of indices select slices of the data: where each slice begins, and its length.
struct Slices {
  Picks begins;
  std::size_t length = 1;
  std::size_t depth = 0;  // dims that a row selects
};

std::optional<Slices> named_slices(const OnnxElements& data, const OnnxElements& indices) {
  const auto known = known_integers(indices);
  if (!known || indices.dims.empty() || indices.dims.back() < 1) return std::nullopt;
  Slices out;
  out.depth = static_cast<std::size_t>(indices.dims.back());
  if (out.depth > data.dims.size()) return std::nullopt;
  const Dims strides = strides_of(data.dims);
  for (std::size_t i = out.depth; i < data.dims.size(); ++i) {
    out.length *= static_cast<std::size_t>(data.dims[i]);
  }
  for (std::size_t row = 0; row < known->size(); row += out.depth) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < out.depth; ++i) {
      const auto chosen = wrapped_index((*known)[row + i], data.dims[i]);
      if (!chosen) return std::nullopt;
      begin += static_cast<std::int64_t>(*chosen) * strides[i];
    }
    out.begins.push_back(static_cast<std::size_t>(begin));
  }
  return out;
}

Picks positions_of(const Slices& slices) {
  Picks picks;
  for (const std::size_t begin : slices.begins) {
    for (std::size_t i = 0; i < slices.length; ++i) picks.push_back(begin + i);
  }
  return picks;
}

OnnxElementList gather_slices(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  if (data == nullptr || indices == nullptr || call.integer("batch_dims", 0) != 0) return {};
  const std::optional<Slices> slices = named_slices(*data, *indices);
  if (!slices) return {};
  Dims dims(indices->dims.begin(), indices->dims.end() - 1);
  const auto rest = data->dims.begin() + static_cast<std::ptrdiff_t>(slices->depth);
  dims.insert(dims.end(), rest, data->dims.end());
  if (!small_count(dims)) return {};
  return {picked(*data, std::move(dims), positions_of(*slices))};
}

OnnxElementList scatter_slices(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  const OnnxElements* updates = call.elements(2);
  if (data == nullptr || indices == nullptr || updates == nullptr || !replaces(call)) return {};
  const std::optional<Slices> slices = named_slices(*data, *indices);
  return slices ? scattered(*data, *updates, positions_of(*slices)) : OnnxElementList{};
}

OnnxElementList one_hot(const OnnxOpCall& call) {
  const OnnxElements* indices = call.elements(0);
  const auto depth = call.integers(1);
  const OnnxElements* values = call.elements(2);  // off, on
  if (indices == nullptr || values == nullptr || values->count() != 2) return {};
  const auto known = known_integers(*indices);
  if (!known || !depth || depth->size() != 1 || (*depth)[0] < 1) return {};
  const auto axis = axis_of(call.integer("axis", -1), indices->dims.size() + 1);
  if (!axis) return {};
  Dims dims = indices->dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), (*depth)[0]);
  const std::optional<std::size_t> count = small_count(dims);
  if (!count) return {};
  const OnnxAxisLines lines = lines_along(dims, *axis);
  Picks picks(*count, 0);
  for (std::size_t at = 0; at < known->size(); ++at) {
    const auto chosen = wrapped_index((*known)[at], (*depth)[0]);
    if (chosen) picks[lines.at(at / lines.inner, *chosen, at % lines.inner)] = 1;
  }
  return {picked(*values, std::move(dims), picks)};
}

// Indices of the elements that are not 0: one row per dim of the input, in row-major order.
OnnxElementList non_zero(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dims.empty()) return {};
  std::vector<Dims> found;
  for (std::size_t at = 0; at < from->count(); ++at) {
    if (!from->is_real() && !from->integers[at].value) return {};
    const bool is_zero = from->is_real() ? from->reals[at] == 0 : *from->integers[at].value == 0;
    if (!is_zero) found.push_back(index_at(at, from->dims));
  }
  const std::size_t rank = from->dims.size();
  OnnxElements out{
      .dtype = DType::int64,
      .dims = {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(found.size())},
      .integers = {},
      .reals = {}};
  if (!small_count(out.dims)) return {};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (const Dims& index : found) out.integers.push_back({.value = index[axis], .name = {}});
  }
  return {std::move(out)};
}

constexpr std::array<OnnxElementListEntry, 9> kRules = {{
    {"Split", split},
    {"Tile", tile},
    {"TopK", top_k},
    {"GatherElements", gather_along_axis},
    {"GatherND", gather_slices},
    {"ScatterElements", scatter_along_axis},
    {"ScatterND", scatter_slices},
    {"OneHot", one_hot},
    {"NonZero", non_zero},
}};

}  // namespace

std::span<const OnnxElementListEntry> onnx_selection_elements() { return kRules; }

}  // namespace cleave
