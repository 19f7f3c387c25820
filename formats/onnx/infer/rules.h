// Rules of inference, private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/model.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"

namespace cleave {

// ---- type memo ----
//
// OnnxTypeMemo: the types that were inferred for nodes, so that nodes of one kind whose inputs have the
// same types are inferred once. A deep model has thousands of nodes and a few dozen such cases.

class OnnxTypeMemo {
  struct Entry {
    std::string_view key;
    std::size_t outputs;  // into outputs_
  };
  std::string_view key() const {
    return {reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof key_[0]};
  }
  auto key_of() const {
    return [this](std::uint32_t i) { return entries_[i].key; };
  }

 public:
  // An input of a node: its type, which is in a pool, and whether elements of it are known. Null type: it
  // is left out.
  struct Input {
    const OnnxType* type = nullptr;
    bool has_values = false;
  };

  // Starts the key of a node of this kind: number of the kind, then each input.
  void start(std::uint32_t kind) { key_.assign(1, kind); }
  void add(Input input) {
    key_.push_back(reinterpret_cast<std::uintptr_t>(input.type) | (input.has_values ? 1U : 0U));
  }

  // The types of the outputs of the node whose key was made last; null when they are not known.
  const OnnxType* const* find() const {
    const std::uint32_t found = table_.find(key(), key_of());
    return found == NameTable::kAbsent ? nullptr : outputs_.data() + entries_[found].outputs;
  }
  // Keeps them, in a pool that lives as long as this, unless there are too many cases already. Only for
  // what follows from the key: not for a node whose elements were read, or whose inference failed.
  void keep(std::span<const OnnxType* const> outputs) {
    if (entries_.size() == kMost) return;
    const std::string_view kept = texts_.keep(key());
    entries_.push_back({kept, outputs_.size()});
    const auto fresh = static_cast<std::uint32_t>(entries_.size() - 1);
    if (table_.find_or_insert(kept, fresh, key_of()) != NameTable::kAbsent) {
      entries_.pop_back();
      return;
    }
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
  }

 private:
  static constexpr std::size_t kMost = 1U << 16U;

  std::vector<std::uintptr_t> key_;
  std::vector<Entry> entries_;
  std::vector<const OnnxType*> outputs_;
  NameTable table_;
  StringArena texts_;
};

// ---- element rules ----
//
// Infers the elements of an operator's output from those of its inputs: the arithmetic on shapes
// that exporters leave in models.
//
//   Shape(x: [N,3,8]) -> Slice [1:] -> Concat with [-1]     =>  {3, 8, -1}

// Positions of elements in row-major tensors, for rules that compute elements.

// Row-major steps from one element to the next along each dim.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims);

// The elements of `from` at `picks`, with dims `dims`.
OnnxElements picked(const OnnxElements& from, std::vector<std::int64_t> dims,
                    std::span<const std::size_t> picks);

// A tensor as lines along one axis: element i of line (o, k) is at (o * size + i) * inner + k.
struct OnnxAxisLines {
  std::size_t outer = 1;  // elements of the dims before the axis
  std::size_t size = 0;
  std::size_t inner = 1;  // elements of the dims after it

  std::size_t at(std::size_t o, std::size_t i, std::size_t k) const {
    return (o * size + i) * inner + k;
  }
};
// `axis` is below the number of dims.
OnnxAxisLines lines_along(const std::vector<std::int64_t>& dims, std::size_t axis);

// The index of row-major position `at` in a tensor of these dims, none of which is 0.
std::vector<std::int64_t> index_at(std::size_t at, const std::vector<std::int64_t>& dims);

// An index into a dim of `size`, counted from its end when below 0; nullopt when it is outside.
std::optional<std::size_t> wrapped_index(std::int64_t index, std::int64_t size);

using OnnxElementRule = std::optional<OnnxElements> (*)(const OnnxOpCall& call);

// By output; shorter when the rest is unknown.
using OnnxElementList = std::vector<std::optional<OnnxElements>>;
using OnnxElementListRule = OnnxElementList (*)(const OnnxOpCall& call);

struct OnnxElementRuleEntry {
  std::string_view op;   // of the default domain
  OnnxElementRule rule;  // for its one output; null: `list` is for several
  OnnxElementListRule list = nullptr;
};

// The rules of formats/onnx/infer/value_rules.cc.
std::span<const OnnxElementRuleEntry> onnx_value_rules();

// The known elements of the outputs, whose types must already be inferred. At most
// OnnxElements::kMax elements are tracked, so that the cost of a node is bounded. NaN and infinite
// reals, and integers that do not fit their dtype, are unknown: runtimes differ there.
OnnxElementList infer_elements(const OnnxOpCall& call);

// The value as an element; unknown when the dtype cannot hold it.
OnnxElement onnx_element_in(DType dtype, std::optional<std::int64_t> value);
// The real rounded to the dtype.
double onnx_rounded(DType dtype, double value);
// Element i as a real for comparisons; nullopt when it is unknown, NaN, or an integer that a real
// cannot represent exactly.
std::optional<double> onnx_sort_key(const OnnxElements& elements, std::size_t i);

// The elements that Slice takes from one axis: `count` of them from `start`, `step` apart.
struct OnnxSliceRange {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};
// nullopt when the step is 0.
std::optional<OnnxSliceRange> slice_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                          std::int64_t step);

// The dims that two shapes broadcast to; nullopt when they do not broadcast.
std::optional<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                        const std::vector<std::int64_t>& b);

// For each element of a tensor of dims `to`, in row-major order: the index of the corresponding
// element of a tensor of dims `from`, which broadcasts to `to`.
std::vector<std::size_t> broadcast_picks(const std::vector<std::int64_t>& from,
                                         const std::vector<std::int64_t>& to);

// ---- shape sources ----
//
// Where shapes come from besides the rules of operators: what the user gives, and If and Loop that are decided before
// the model runs; and where shapes are lost.

// What the user gives about shapes (--dim, --input-shape, --set-input), checked against an ONNX model.

// Sizes by axis, by the value's name.
using OnnxBoundAxes = std::map<std::string, std::map<std::size_t, std::int64_t>, std::less<>>;

class OnnxBoundShapes {
 public:
  // A dim is named by its symbol in the file or, if it has none, as VALUE:AXIS of a value of the
  // main graph. Errors: a dim or input that the model does not have; two sizes for one dim; a shape
  // that contradicts the one in the file.
  static Loaded<OnnxBoundShapes> make(const std::string& file, const OnnxModel& model,
                                      const OnnxLinks& links, const ShapeBindings& bindings);

  // The type with bound dims replaced; for a graph input also with the shape given for it.
  OnnxType bound(OnnxType type) const;
  OnnxType bound_input(std::string_view name, OnnxType type) const;
  // The input's element given with --set-input; its dims are all of size 1.
  std::optional<OnnxElements> held_by(std::string_view name) const;
  // Sets the sizes given as VALUE:AXIS in the value's type, for dims that are not fixed. False when a fixed
  // one is another.
  bool bind_value(std::string_view name, OnnxType& type) const;
  // Whether any such size was given.
  bool binds_values() const { return !axes_.empty(); }
  // The options that gave them: "--dim x:0=64"; "" when there are none.
  std::string axis_options() const;
  bool has_axis(std::string_view name, std::size_t axis) const;
  // Whether a size was given to a dim by its name.
  bool binds_names() const { return !dims_.empty(); }
  // Whether a shape was given for the input.
  bool binds_input(std::string_view name) const { return inputs_.contains(name); }

 private:
  std::map<std::string, std::int64_t, std::less<>> dims_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> inputs_;
  OnnxBoundAxes axes_;
  std::map<std::string, OnnxElements, std::less<>> held_;
};

// If and Loop, as far as they are decided before the model runs: an If with a known condition has
// the outputs of its branch; a Loop with a known trip count makes that many elements of each value
// it collects.

// The types and elements of a body's inputs or outputs, as far as they are known.
struct OnnxBodyValues {
  std::vector<OnnxType> types;
  OnnxElementList elements;  // as long as `types`, or empty: none known
};

using OnnxBodyRun =
    std::function<OnnxBodyValues(const OnnxGraph& body, const OnnxBodyValues& inputs)>;

// An axis of what a window slides over that is shorter than the window.
struct AxisBelowWindow {
  std::size_t axis = 0;
  std::int64_t pads = 0, window = 0;
};
// The first of a Conv or a pool that reads these types; nullopt: none, or its sizes are not known.
std::optional<AxisBelowWindow> axis_below_window(const OnnxNode& node,
                                                 std::span<const OnnxType* const> reads);

// ---- shape rules ----
//
// Cleave's own rules for types and shapes: for operators that the ONNX library does not know, knows
// only in an older version, or gives no rank although it can be inferred; and for those that models
// have most of, to save the library's time.

// Arithmetic on dims. A result that is not certain is unknown.

OnnxDim fixed_dim(std::int64_t size);  // below 0: unknown

// The dim of a type that may be null; unknown when the rank is, or the axis is beyond it.
OnnxDim dim_at(const OnnxType* type, std::size_t axis);

OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor);
OnnxDim product_of(const OnnxDim& a, const OnnxDim& b);
OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b);
// Known only if `divisor` divides a fixed dim.
OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor);

// The dim that two dims broadcast to: with a fixed one above 1, that one. Two fixed ones that
// contradict each other give an unknown dim.
OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b);
std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b);

// False for dims that no tensor can have, since their product overflows.
bool is_possible_shape(const std::vector<OnnxDim>& dims);

// Sets call.outputs as far as possible. False: not applicable, ask the schema.
using OnnxShapeRule = bool (*)(OnnxOpCall& call);

struct OnnxShapeRuleEntry {
  std::string_view domain;  // "": the default one
  std::string_view op;
  OnnxShapeRule rule;
};

// Applies the rule for the call's operator. False when there is none or it does not apply.
bool infer_by_rule(OnnxOpCall& call);

// When schema and rule gave no rank: sets the rank alone, if it is certain.
void add_weakest_rank(OnnxOpCall& call);

// Output 0 gets the dtype of input 0, whose type it returns; null: that is no tensor.
const OnnxType* take_dtype(OnnxOpCall& call);
// Output 0 gets this shape. True, as of a rule that applies.
bool give_shape(OnnxOpCall& call, std::vector<OnnxDim> dims);
// Output 0 has the type of input 0; false when that is unknown.
bool same_as_first(OnnxOpCall& call);

// Those for operators that models have most of; a test compares them with the library's schemas.
std::span<const OnnxShapeRuleEntry> onnx_common_rules();
// The rules of formats/onnx/infer/domain_rules.cc.
std::span<const OnnxShapeRuleEntry> onnx_domain_rules();

// ---- newer operators ----
//
// The versions of ONNX's operators after those that the ONNX library has: after opset 17 and ai.onnx.ml
// 3. scripts/dev/newer_operators.py makes the table from the newest release.

struct NewerOperator {
  std::string_view domain, op;
  std::int64_t version = 0;  // the first opset with it
  std::size_t least_inputs = 0, most_inputs = 0;
  std::string_view attributes;  // names in alphabetical order, separated by spaces
  std::string_view defaults;    // "epsilon=f1e-05 mode=slinear axis=i0": reals, texts, integers
};

// By domain, operator and version.
std::span<const NewerOperator> newer_operators();

}  // namespace cleave
