#include "formats/run/lowering/reference_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/run/backend/attempt.h"

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

}  // namespace cleave
