#include "formats/lowering/reference_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/backend/attempt.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

std::string request_of(const LoadedModel& model, const std::string& folder,
                       const std::string& inputs, std::uint64_t seed) {
  Json dims = Json::object();
  for (const auto& [name, size] : model.bindings.dims) dims[name] = size;
  Json given = nullptr;
  if (!inputs.empty()) given = std::filesystem::absolute(inputs).string();
  const std::string path = std::filesystem::absolute(model.source.path_again()).string();
  const Json request = {{"model", path}, {"out", folder}, {"given", given},
                        {"dims", dims},  {"seed", seed},  {"inputs", Json::array()}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ReferenceTensor tensor_of(const Json& json) {
  return {.shape = json.at("shape").get<std::vector<std::int64_t>>(),
          .file = json.at("file").get<std::string>(),
          .is_small_integer = json.at("values").is_array()};
}

}  // namespace

Result<ReferenceRun, Error> ReferenceRun::make(BackendSession& session, const LoadedModel& model,
                                               const std::string& folder, const std::string& inputs,
                                               std::uint64_t seed) {
  const WorkerAnswer answer = session.request("capture", request_of(model, folder, inputs, seed));
  const std::string who = "the reference " + session.backend().name;
  if (answer.kind != WorkerAnswer::Kind::line) {
    return Error{who + " does not run: " + first_line(answer.text, 300)};
  }
  const Json json = Json::parse(answer.text, nullptr, false);
  ReferenceRun run;
  try {
    if (!json.at("ok").get<bool>()) {
      return Error{
          who + " does not run the model: " + first_line(json.at("error").get<std::string>(), 300)};
    }
    for (const Json& tensor : json.at("tensors")) {
      run.tensors_.emplace(tensor.at("name").get<std::string>(), tensor_of(tensor));
    }
  } catch (const Json::exception& error) {
    return Error{who + " gives an answer that cleave does not understand: " + error.what()};
  }
  return run;
}

const ReferenceTensor* ReferenceRun::find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace cleave
