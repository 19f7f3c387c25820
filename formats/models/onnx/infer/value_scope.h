// The known facts about values during type inference, by scope: a body sees its own values and, by
// name, those of the graphs around it. Values of the main graph have numbers and are found without
// their names.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/domain.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/infer/op_call.h"
#include "formats/models/onnx/infer/shapes.h"

namespace cleave {

using OnnxOpsets = std::unordered_map<std::string_view, std::int64_t>;

// The imported opset versions by domain, with "ai.onnx" as "".
inline OnnxOpsets onnx_opsets(
    const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
  OnnxOpsets out;
  for (const auto& [domain, version] : imports) {
    out.emplace(plain_domain(domain), version);
  }
  return out;
}

// The known facts about the main graph's values, by number.
struct OnnxMainValues {
  const OnnxLinks& links;
  std::vector<OnnxValueFacts> facts;
  std::vector<const OnnxType*> declared;  // null when the file declares none; empty: none at all
};

struct OnnxValueScope {
  OnnxValueScope* outer = nullptr;  // null for the main graph, and for a function
  OnnxMainValues* main = nullptr;   // in the main graph: values are stored there instead of here
  const OnnxOpsets* opsets = nullptr;
  const OnnxBindings* bindings = nullptr;  // null outside functions
  OnnxTypesOfBodies* bodies = nullptr;     // null within functions: their types are not needed
  int function_depth = 0;
  std::unordered_map<std::string_view, OnnxValueFacts> values = {};
  std::unordered_map<std::string_view, const OnnxType*> declared = {};

  OnnxValueFacts* find(std::string_view name) {
    if (name.empty()) return nullptr;
    for (OnnxValueScope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->main != nullptr) return find_main(*scope->main, name);
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
  static OnnxValueFacts* find_main(OnnxMainValues& main, std::string_view name) {
    const std::uint32_t number = main.links.values.find(name);
    return number == OnnxValueNumbers::kNone ? nullptr : &main.facts[number];
  }
  // A value of this scope, added if it is new.
  OnnxValueFacts& own(std::string_view name) {
    return main != nullptr ? *find_main(*main, name) : values[name];
  }
  void declare(std::string_view name, const OnnxType* type) {
    if (main == nullptr) {
      declared.insert_or_assign(name, type);
      return;
    }
    const std::uint32_t number = main->links.values.find(name);
    if (number == OnnxValueNumbers::kNone) return;
    main->declared.resize(main->facts.size(), nullptr);
    main->declared[number] = type;
  }
};

// A node during inference: where the facts about its outputs are stored.
struct OnnxOutputPlaces {
  OnnxValueScope& scope;
  std::uint32_t number = 0;  // in the main graph: number of its next named output

  struct Place {
    OnnxValueFacts& facts;
    const OnnxType* declared;  // null: not declared in the file
  };
  Place next(std::string_view name) {
    if (scope.main != nullptr) {
      const auto& declared = scope.main->declared;
      const std::uint32_t own = number++;
      return {scope.main->facts[own], declared.empty() ? nullptr : declared[own]};
    }
    const auto declared = scope.declared.find(name);
    return {scope.values[name], declared == scope.declared.end() ? nullptr : declared->second};
  }
};

}  // namespace cleave
