#include "formats/models/onnx/infer/schema_guard.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cleave {
namespace {

// Limit below which no sum or product of a few numbers overflows.
constexpr std::int64_t kMost = INT32_MAX;

bool is_sane(std::int64_t value) { return -kMost <= value && value <= kMost; }

std::string input_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  const auto least = static_cast<std::size_t>(std::max(schema.min_input(), 0));
  if (call.input_count() < least) return "it takes at least " + std::to_string(least) + " inputs";
  for (std::size_t i = 0; i < std::min(least, schema.inputs().size()); ++i) {
    const bool is_single = schema.inputs()[i].GetOption() == onnx::OpSchema::Single;
    if (is_single && !call.has_input(i)) return "its input " + std::to_string(i) + " is left out";
  }
  return {};
}

// "seq(tensor(float))" and the like: types that hold tensors.
bool takes_holders(const onnx::OpSchema::FormalParameter& formal) {
  return std::any_of(formal.GetTypes().begin(), formal.GetTypes().end(),
                     [](const std::string* type) { return !type->starts_with("tensor"); });
}

// A type that holds tensors is not a tensor, but the library asks for its dims as if it were.
std::string holder_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  const auto& formals = schema.inputs();
  for (std::size_t i = 0; i < call.input_count() && !formals.empty(); ++i) {
    const OnnxType* const type = call.input(i);
    if (type == nullptr || type->is_tensor()) continue;
    if (!takes_holders(formals[std::min(i, formals.size() - 1)])) {
      return "its input " + std::to_string(i) + " is not a tensor";
    }
  }
  return {};
}

// Integers of the default domain are axes, counts and sizes; those of ai.onnx.ml may also be data.
bool are_too_large(const OnnxOpCall& call, const OnnxAttribute& attribute) {
  if (!call.domain().empty()) return false;
  const std::vector<std::int64_t> values = decode_onnx_attribute(attribute).integers;
  return !std::all_of(values.begin(), values.end(), is_sane);
}

std::string attribute_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  for (const auto& [name, expected] : schema.attributes()) {
    const OnnxAttribute* given = call.attribute(name);
    if (given == nullptr && expected.required) return "its attribute \"" + name + "\" is missing";
    if (given == nullptr) continue;
    if (given->type != static_cast<std::int32_t>(expected.type)) {
      return "its attribute \"" + name + "\" has another type than the operator's";
    }
    if (are_too_large(call, *given)) return "its attribute \"" + name + "\" is too large";
  }
  return {};
}

// Some functions read types without checking whether they are known.
std::string unknown_input_fault(const OnnxOpCall& call) {
  return call.input(0) == nullptr ? "the type of its input is not known" : "";
}

std::string gather_nd_fault(const OnnxOpCall& call) {
  const std::int64_t batch_dims = call.integer("batch_dims", 0);
  const OnnxType* indices = call.shaped_input(1);
  if (batch_dims == 0 || indices == nullptr) return {};
  const bool fits = batch_dims > 0 && batch_dims < static_cast<std::int64_t>(indices->rank());
  return fits ? "" : "its attribute \"batch_dims\" does not fit its indices";
}

// The library has one table cell per lower-case letter and accepts no other.
std::string einsum_fault(const OnnxOpCall& call) {
  const std::string_view equation = call.text("equation", "");
  const bool is_plain = std::all_of(equation.begin(), equation.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == ',' || c == '.' || c == '-' || c == '>' || c == ' ';
  });
  return is_plain ? "" : "its equation has letters other than a to z";
}

std::string scan_fault(const OnnxOpCall& call) {
  const std::int64_t scanned = call.integer("num_scan_inputs", 0);
  const auto inputs = static_cast<std::int64_t>(call.input_count()) - (call.opset() < 9 ? 1 : 0);
  return scanned >= 1 && scanned <= inputs
             ? ""
             : "its attribute \"num_scan_inputs\" does not fit its inputs";
}

// [length, batch, inputs] or, with another layout, [batch, length, inputs]
std::string recurrent_fault(const OnnxOpCall& call) {
  const OnnxType* x = call.shaped_input(0);
  return x == nullptr || x->rank() == 3 ? "" : "its input has no rank of 3";
}

std::string gemm_fault(const OnnxOpCall& call) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const OnnxType* const matrix = call.shaped_input(i);
    if (matrix != nullptr && matrix->rank() != 2) return "its inputs are not matrices";
  }
  return {};
}

std::string roi_pool_fault(const OnnxOpCall& call) {
  const OnnxType* const x = call.shaped_input(0);
  const OnnxType* const rois = call.shaped_input(1);
  const auto pooled = call.integer_list("pooled_shape");
  const bool fits = (x == nullptr || x->rank() == 4) && (rois == nullptr || rois->rank() == 2) &&
                    pooled && pooled->size() == 2;
  return fits ? "" : "its inputs do not have the ranks 4 and 2, or its pooled_shape not 2 sizes";
}

std::string layer_norm_fault(const OnnxOpCall& call) {
  const OnnxType* const x = call.shaped_input(0);
  if (x == nullptr) return {};
  const std::int64_t axis = call.integer("axis", -1);
  const auto rank = static_cast<std::int64_t>(x->rank());
  return -rank <= axis && axis < rank ? "" : "its input has no such axis";
}

struct OwnFault {
  std::string_view domain, op;  // op "": the whole domain
  std::string (*fault)(const OnnxOpCall& call);
};
constexpr std::array<OwnFault, 11> kOwnFaults = {{
    {"", "EyeLike", unknown_input_fault},
    {"", "GatherND", gather_nd_fault},
    {"", "Einsum", einsum_fault},
    {"", "Gemm", gemm_fault},
    {"", "LayerNormalization", layer_norm_fault},
    {"", "MaxRoiPool", roi_pool_fault},
    {"", "GRU", recurrent_fault},
    {"", "LSTM", recurrent_fault},
    {"", "RNN", recurrent_fault},
    {"", "Scan", scan_fault},
    {"ai.onnx.ml", "", unknown_input_fault},
}};

std::string own_fault(const OnnxOpCall& call) {
  for (const OwnFault& own : kOwnFaults) {
    if (own.domain != call.domain() || (!own.op.empty() && own.op != call.op())) continue;
    if (std::string fault = own.fault(call); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string fault_before_schema(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  if (std::string fault = input_fault(call, schema); !fault.empty()) return fault;
  if (static_cast<std::int64_t>(call.outputs.size()) < schema.min_output()) {
    return "it gives at least " + std::to_string(schema.min_output()) + " outputs";
  }
  if (std::string fault = holder_fault(call, schema); !fault.empty()) return fault;
  if (std::string fault = attribute_fault(call, schema); !fault.empty()) return fault;
  return own_fault(call);
}

}  // namespace cleave
