#include "formats/run/library/model.h"

#include <utility>

#include "formats/base/io/input_watch.h"
#include "formats/models/model_file.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

Fault wrong_size(const std::string& input, std::int64_t size) {
  return fault_of(
      FaultCause::request,
      "shape of input " + escaped_in_quotes(input) + ": " + std::to_string(size) + " is not a size",
      {"-1 leaves a dim open"});
}

}  // namespace

Model::Model(std::unique_ptr<LoadedModel> loaded) : loaded_(std::move(loaded)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model, Fault> Model::read(const std::string& path, const ReadOptions& options) {
  for (const auto& [name, shape] : options.input_shapes) {
    for (const std::int64_t size : shape) {
      if (size < -1) return wrong_size(name, size);
    }
  }
  const ShapeBindings bindings{.dims = options.dims,
                               .inputs = options.input_shapes,
                               .values = options.input_values,
                               .signature = options.signature};
  auto loaded = read_model(path, bindings);
  if (!loaded) return input_fault(std::move(loaded).error());
  if (const char* const changed = changed_input()) {
    return input_fault({diagnostic_of(changed, std::string(kInputChanged))});
  }
  return Model(std::make_unique<LoadedModel>(*std::move(loaded)));
}

std::string Model::name() const {
  const std::string_view own = loaded_->graph.name();
  return own.empty() ? model_name(*loaded_) : std::string(own);
}

std::string_view Model::format() const { return model_format_name(loaded_->format()); }

std::size_t Model::node_count() const { return loaded_->graph.node_count(); }

const Diagnostics& Model::warnings() const { return loaded_->warnings; }

}  // namespace cleave
