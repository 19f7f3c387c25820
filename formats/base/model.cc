// A model as every reader gives it, and sizes that the user binds.
#include "formats/base/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {

// ---- loaded model ----

Diagnostics faults_of(const SourceFile& source, std::span<const GraphFault> faults) {
  Diagnostics diagnostics;
  for (const GraphFault& fault : faults) {
    diagnostics.push_back(diagnostic_of(source.path(), fault.message));
    diagnostics.back().notes = fault.notes;
  }
  return diagnostics;
}

Fault refusal_of(const LoadedModel& model, const Error& error) {
  Diagnostic fault = diagnostic_of(model.source.path(), error.message);
  fault.notes = error.notes;
  return input_fault({std::move(fault)});
}

std::vector<ByteSource> byte_sources(const LoadedModel& model) {
  return {{.fd = model.source.fd(), .path = model.source.path(), .stamp = model.source.stamp()}};
}

// ---- shape bindings ----

std::string_view shape_inference_name(ShapeInference inference) {
  static constexpr std::array<std::string_view, 3> kNames = {"off", "file", "full"};
  return kNames[static_cast<std::size_t>(inference)];
}

std::string_view folding_name(Folding folding) {
  static constexpr std::array<std::string_view, 3> kNames = {"off", "report", "write"};
  return kNames[static_cast<std::size_t>(folding)];
}

namespace {

void report_unknown(JsonFaults& faults, std::string message, std::string_view name,
                    const std::set<std::string, std::less<>>& met) {
  const std::string nearest = nearest_name(name, {met.begin(), met.end()});
  std::vector<std::string> notes;
  if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
  if (nearest.empty() && !met.empty()) {
    notes.push_back("there are: " + capped_list(met, 8, escaped_in_quotes, ", ..."));
  }
  faults.add(std::move(message), std::move(notes));
}

}  // namespace

ShapeBinder::ShapeBinder(const ShapeBindings& bindings) : bindings_(bindings) {}

std::optional<std::int64_t> ShapeBinder::size_of(std::string_view symbol) {
  if (bindings_.dims.empty()) return std::nullopt;
  if (!symbols_.contains(symbol)) symbols_.emplace(symbol);
  return named_size(symbol, [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto bound =
        std::ranges::find_if(bindings_.dims, [&](const auto& dim) { return dim.first == name; });
    if (bound == bindings_.dims.end() || bound->second < 0) return std::nullopt;
    return bound->second;
  });
}

const std::vector<std::int64_t>* ShapeBinder::shape_of(std::string_view input) {
  if (bindings_.inputs.empty()) return nullptr;
  inputs_.emplace(input);
  const auto bound = std::ranges::find_if(bindings_.inputs,
                                          [&](const auto& shape) { return shape.first == input; });
  return bound == bindings_.inputs.end() ? nullptr : &bound->second;
}

void ShapeBinder::report_faults(JsonFaults& faults) const {
  for (const auto& [name, size] : bindings_.dims) {
    if (!symbols_.contains(name)) {
      report_unknown(
          faults,
          "--dim names " + escaped_in_quotes(name) + ", which is not a symbolic dim of the model",
          name, symbols_);
    } else if (size < 0) {
      faults.add("--dim gives " + escaped_in_quotes(name) + " the size " + std::to_string(size) +
                 "; it must be 0 or more");
    }
  }
  for (const auto& [name, dims] : bindings_.inputs) {
    if (!inputs_.contains(name)) {
      report_unknown(
          faults,
          "--input-shape names " + escaped_in_quotes(name) + ", which is not an input of the model",
          name, inputs_);
    } else if (std::ranges::any_of(dims, [](std::int64_t d) { return d < -1; })) {
      faults.add("--input-shape gives " + escaped_in_quotes(name) +
                 " a dim below -1; -1 leaves a dim free");
    }
  }
}

}  // namespace cleave
