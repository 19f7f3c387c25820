#include "formats/run/lowering/reference_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "formats/run/backend/attempt.h"
#include "formats/run/backend/tensor.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

std::string request_of(const LoadedModel& model, const ReferenceRequest& run) {
  Json dims = Json::object();
  for (const auto& [name, size] : model.bindings.dims) dims[name] = size;
  Json shapes = Json::object();
  for (const auto& [name, sizes] : model.bindings.inputs) shapes[name] = sizes;
  Json values = Json::object();
  for (const auto& [name, text] : model.bindings.values) values[name] = text;
  Json given = nullptr;
  if (!run.inputs.empty()) given = std::filesystem::absolute(run.inputs).string();
  const std::string path = std::filesystem::absolute(model.source.path_again()).string();
  const Json request = {{"model", path},    {"out", run.folder},      {"given", given},
                        {"dims", dims},     {"shapes", shapes},       {"values", values},
                        {"seed", run.seed}, {"inputs", Json::array()}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ReferenceTensor tensor_of(const Json& json) {
  return {.shape = json.at("shape").get<std::vector<std::int64_t>>(),
          .file = json.at("file").get<std::string>(),
          .is_small_integer = json.at("values").is_array()};
}

}  // namespace

Result<ReferenceRun, ReferenceFault> ReferenceRun::make(BackendSession& session,
                                                        const LoadedModel& model,
                                                        const ReferenceRequest& request) {
  const WorkerAnswer answer = session.request("capture", request_of(model, request));
  const std::string who = "the reference " + session.backend().name;
  if (answer.kind != WorkerAnswer::Kind::line) {
    return ReferenceFault{who + " does not run: " + first_line(answer.text, 300)};
  }
  const Json json = Json::parse(answer.text, nullptr, false);
  ReferenceRun run;
  try {
    if (!json.at("ok").get<bool>()) {
      const bool is_of_inputs = json.value("stage", "") == "inputs";
      const std::string why = first_line(json.at("error").get<std::string>(), 300);
      const std::string subject = is_of_inputs ? "inputs of the model: " : who;
      return ReferenceFault{
          subject + (is_of_inputs ? "" : " does not run the model: ") + why +
              (is_of_inputs ? "" : "; inputs that it takes are given by --inputs"),
          is_of_inputs};
    }
    for (const Json& tensor : json.at("tensors")) {
      run.tensors_.emplace(tensor.at("name").get<std::string>(), tensor_of(tensor));
    }
  } catch (const Json::exception& error) {
    return ReferenceFault{who + " answers what is not understood: " + error.what()};
  }
  return run;
}

const ReferenceTensor* ReferenceRun::find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &found->second;
}

namespace {

bool names_indices(std::string_view op) { return op == "TopK" || op == "ArgMax" || op == "ArgMin"; }

// Strides around the axis.
struct Strides {
  std::uint64_t axis = 1;   // size of the axis in the data
  std::uint64_t inner = 1;  // elements from one index to the next
};

Strides strides_of(const Tensor& data, std::size_t axis) {
  Strides strides{.axis = static_cast<std::uint64_t>(data.dims[axis])};
  for (std::size_t i = axis + 1; i < data.dims.size(); ++i) {
    strides.inner *= static_cast<std::uint64_t>(data.dims[i]);
  }
  return strides;
}

}  // namespace

bool is_tie_order(const IndexOutput& output) {
  const Tensor& data = output.data;
  if (!names_indices(output.op) || data.dims.empty()) return false;
  if (output.wants.dims != output.is.dims || output.is.dtype != DType::int64) return false;
  const auto rank = static_cast<std::int64_t>(data.dims.size());
  const std::int64_t axis = output.axis < 0 ? output.axis + rank : output.axis;
  if (axis < 0 || axis >= rank) return false;
  const Strides strides = strides_of(data, static_cast<std::size_t>(axis));
  const std::uint64_t slices = data.count() / std::max<std::uint64_t>(strides.axis, 1);
  const std::uint64_t count = output.is.count();
  if (slices == 0 || count % slices != 0) return false;
  const std::uint64_t kept = count / slices;  // along the axis
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t outer = i / (kept * strides.inner), inner = i % strides.inner;
    const auto element = [&](const Tensor& indices) {
      const double at = element_at(indices, i);
      if (at < 0 || at >= static_cast<double>(strides.axis)) return std::uint64_t{0} - 1;
      return (outer * strides.axis + static_cast<std::uint64_t>(at)) * strides.inner + inner;
    };
    const std::uint64_t wants = element(output.wants), is = element(output.is);
    if (wants >= data.count() || is >= data.count()) return false;
    if (element_at(data, wants) != element_at(data, is)) return false;
  }
  return true;
}

}  // namespace cleave
