// Loop: a value carried from one trip to the next needs a type that holds for every trip. Steps:
// 1. infer the body with the types of the initial values;
// 2. keep what these types and the results have in common;
// 3. repeat from the common types until they no longer change.
#include "formats/models/onnx/infer/shape_sources.h"

#include <algorithm>
#include <utility>

namespace cleave {
namespace {

constexpr int kMostRounds = 4;          // first result, dims, ranks, confirmation
constexpr std::size_t kLoopInputs = 2;  // before the carried values: trip count and condition

const OnnxGraph* body_of(const OnnxOpCall& call, std::string_view name) {
  const OnnxAttribute* found = call.attribute(name);
  return found != nullptr && found->graphs.size() == 1 ? &found->graphs[0] : nullptr;
}

bool is_default_op(const OnnxOpCall& call, std::string_view op) {
  return call.domain().empty() && call.op() == op;
}

std::optional<std::int64_t> single(const OnnxOpCall& call, std::size_t input) {
  const auto known = call.integers(input);
  return known && known->size() == 1 ? std::optional((*known)[0]) : std::nullopt;
}

// What both types have in common.
OnnxType common_type(const OnnxType& a, const OnnxType& b) {
  if (!a.is_known() || a.type != b.type || a.dtype != b.dtype) return {};
  if (!a.is_tensor()) return a.full == b.full ? a : OnnxType{};
  OnnxType out = a;
  if (!b.has_shape || a.rank() != b.rank()) {
    out.has_shape = false;
    out.dims.clear();
    return out;
  }
  for (std::size_t i = 0; i < out.dims.size() && out.has_shape; ++i) {
    const bool is_same = a.dims[i].size == b.dims[i].size && a.dims[i].name == b.dims[i].name;
    if (!is_same) out.dims[i] = {.size = -1, .name = {}};
  }
  return out;
}

bool is_same_type(const OnnxType& a, const OnnxType& b) {
  if (a.type != b.type || a.dtype != b.dtype || a.has_shape != b.has_shape) return false;
  if (a.full != b.full || a.dims.size() != b.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].size != b.dims[i].size || a.dims[i].name != b.dims[i].name) return false;
  }
  return true;
}

OnnxType scalar(DType dtype) {
  OnnxType type = onnx_tensor_type(dtype);
  type.has_shape = true;
  return type;
}

bool infer_if(OnnxOpCall& call, const OnnxBodyRun& run) {
  const OnnxGraph* branch = taken_branch(call);
  if (branch == nullptr || branch->outputs.size() != call.outputs.size()) return false;
  OnnxBodyValues made = run(*branch, {});
  call.outputs = std::move(made.types);
  call.output_elements = std::move(made.elements);
  return true;
}

class LoopTypes {
 public:
  LoopTypes(OnnxOpCall& call, const OnnxGraph& body, const OnnxBodyRun& run)
      : call_(call), body_(body), run_(run), carried_(body.inputs.size() - kLoopInputs) {}

  bool infer() {
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (const OnnxType* type = call_.input(kLoopInputs + i)) carried_[i] = *type;
    }
    const std::vector<OnnxType> first = carried_;
    for (int round = 0; round < kMostRounds; ++round) {
      const OnnxBodyValues made = run_(body_, inputs());
      if (made.types.size() != body_.outputs.size()) return false;
      if (is_settled(made)) {
        fill(first, made);
        return true;
      }
    }
    return false;
  }

 private:
  // The condition is true in every trip, else the body would not run.
  OnnxBodyValues inputs() const {
    OnnxBodyValues in{.types = {scalar(DType::int64), scalar(DType::boolean)}, .elements = {}};
    in.types.insert(in.types.end(), carried_.begin(), carried_.end());
    in.elements.resize(in.types.size());
    in.elements[1] = OnnxElements{
        .dtype = DType::boolean, .dims = {}, .integers = {{.value = 1, .name = {}}}, .reals = {}};
    return in;
  }

  // Widens the carried types to cover the trip's results; true when they already did.
  bool is_settled(const OnnxBodyValues& made) {
    bool is_same = true;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      OnnxType both = common_type(carried_[i], made.types[i + 1]);
      is_same = is_same && is_same_type(both, carried_[i]);
      carried_[i] = std::move(both);
    }
    return is_same;
  }

  static bool stays_true(const OnnxBodyValues& made) {
    if (made.elements.empty() || !made.elements[0]) return false;
    const auto known = known_integers(*made.elements[0]);
    return known && known->size() == 1 && (*known)[0] != 0;
  }

  void fill(const std::vector<OnnxType>& first, const OnnxBodyValues& made) {
    std::optional<std::int64_t> trips = loop_trip_count(call_);
    if (trips && *trips > 0 && !stays_true(made)) trips.reset();
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      if (i < carried_.size()) {
        call_.outputs[i] = carried_[i];
        if (trips) call_.outputs[i] = *trips == 0 ? first[i] : made.types[i + 1];
      } else if (i + 1 < made.types.size()) {
        call_.outputs[i] = collected(made.types[i + 1], trips);
      }
    }
  }

  // One element per trip, along a new first axis.
  static OnnxType collected(OnnxType type, std::optional<std::int64_t> trips) {
    if (!type.is_tensor() || !type.has_shape) return type;
    type.dims.insert(type.dims.begin(), OnnxDim{.size = trips.value_or(-1), .name = {}});
    return type;
  }

  OnnxOpCall& call_;
  const OnnxGraph& body_;
  const OnnxBodyRun& run_;
  std::vector<OnnxType> carried_;
};

bool infer_loop(OnnxOpCall& call, const OnnxBodyRun& run) {
  const OnnxGraph* body = body_of(call, "body");
  if (body == nullptr || body->inputs.size() < kLoopInputs) return false;
  const std::size_t carried = body->inputs.size() - kLoopInputs;
  if (call.input_count() != body->inputs.size() || body->outputs.size() < carried + 1) return false;
  return LoopTypes(call, *body, run).infer();
}

}  // namespace

const OnnxGraph* taken_branch(const OnnxOpCall& call) {
  if (!is_default_op(call, "If")) return nullptr;
  const std::optional<std::int64_t> condition = single(call, 0);
  if (!condition) return nullptr;
  return body_of(call, *condition != 0 ? "then_branch" : "else_branch");
}

std::optional<std::int64_t> loop_trip_count(const OnnxOpCall& call) {
  if (!is_default_op(call, "Loop")) return std::nullopt;
  if (call.has_input(1)) {
    const std::optional<std::int64_t> condition = single(call, 1);
    if (!condition) return std::nullopt;
    if (*condition == 0) return 0;
  }
  const std::optional<std::int64_t> most = single(call, 0);
  return most ? std::optional(std::max<std::int64_t>(*most, 0)) : std::nullopt;
}

bool infer_control_flow(OnnxOpCall& call, const OnnxBodyRun& run) {
  if (is_default_op(call, "If")) return infer_if(call, run);
  return is_default_op(call, "Loop") && infer_loop(call, run);
}

}  // namespace cleave
