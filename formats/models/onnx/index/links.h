// Links: which node makes each value that the nodes of an ONNX graph read, with names resolved
// through scopes.
//
// A body (of If, Loop, Scan) sees its own values and, by name, those of the graphs around it. A
// value that it takes from there is a *capture*: an input of the node that owns the body, though
// not listed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/adjacency.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// Numbers the values of the main graph: initializers in the order of the file, then the other
// inputs, then the outputs of each node. A name that has a number among the nodes' names is not hashed again.
class OnnxValueNumbers {
 public:
  static constexpr std::uint32_t kNone = OnnxNames::kNone;

  OnnxValueNumbers() = default;
  explicit OnnxValueNumbers(std::shared_ptr<OnnxNames> names)
      : names_(std::move(names)), value_of_(names_->count(), kNone) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(name_of_.size()); }
  std::string_view name(std::uint32_t number) const { return names_->text(name_of_[number]); }
  // kNone for an unknown name.
  std::uint32_t find(std::string_view name) const {
    return names_ == nullptr ? kNone : named(names_->find(name));
  }
  // The value with this name, by the number of the name.
  std::uint32_t named(std::uint32_t name) const {
    return name < value_of_.size() ? value_of_[name] : kNone;
  }
  // The number of the value with this name if it is known; otherwise returns kNone and gives it the
  // next number.
  std::uint32_t add(std::string_view name) { return add_named(names_->number(name)); }
  std::uint32_t add_named(std::uint32_t name) {
    if (name >= value_of_.size()) value_of_.resize(names_->count(), kNone);
    if (value_of_[name] != kNone) return value_of_[name];
    value_of_[name] = count();
    name_of_.push_back(name);
    return kNone;
  }

 private:
  std::shared_ptr<OnnxNames> names_;
  std::vector<std::uint32_t> value_of_;  // by number of the name
  std::vector<std::uint32_t> name_of_;   // by number of the value
};

struct OnnxLinks {
  std::vector<std::uint32_t> order;  // indices of the main graph's nodes, makers before readers
  bool was_sorted = true;
  OnnxValueNumbers values;
  // For node i of the main graph: the numbers of its listed inputs, kNone for one that is left out.
  // Its outputs that have a name are numbered from first_output[i] on.
  Adjacency reads;
  std::vector<std::uint32_t> first_output;  // one more entry than nodes
  // Names of outer values that a node's bodies read, each once, in order of first use, without
  // those that are also plain inputs of the node.
  std::vector<std::uint32_t> capture_begin;  // empty when no node has any
  std::vector<std::string_view> captures;
  std::vector<Diagnostic> warnings;

  std::span<const std::string_view> captures_of(std::size_t node) const {
    if (capture_begin.empty()) return {};
    return std::span(captures).subspan(capture_begin[node],
                                       capture_begin[node + 1] - capture_begin[node]);
  }
};

// Refuses a value made twice, one that is read but not made, and a cycle; at most 20 of them. Warns
// of a body's value with the name of an outer one, which it hides. Linear, plus sorting if needed.
Loaded<OnnxLinks> link_onnx_graph(const std::string& file, const OnnxModel& model);

// `node "conv1"`, or `node 17 (Conv)` when it has no name.
std::string onnx_node_text(const OnnxNode& node, std::size_t index);

}  // namespace cleave
