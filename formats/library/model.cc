#include "formats/library/model.h"

#include <utility>

#include "formats/io/input_watch.h"
#include "formats/model_file.h"

namespace cleave {

Model::Model(std::unique_ptr<LoadedModel> loaded) : loaded_(std::move(loaded)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model, JobFault> Model::read(const std::string& path, const ReadOptions& options) {
  const ShapeBindings bindings{
      .dims = options.dims, .inputs = options.input_shapes, .values = options.input_values};
  auto loaded = read_model(path, bindings);
  if (!loaded) return JobFault{FaultCause::input, std::move(loaded).error()};
  if (const char* const changed = changed_input()) {
    return JobFault{FaultCause::input, {diagnostic_of(changed, std::string(kInputChanged))}};
  }
  return Model(std::make_unique<LoadedModel>(*std::move(loaded)));
}

std::string_view Model::name() const { return loaded_->graph.name(); }

std::string_view Model::format() const { return model_format_name(loaded_->format()); }

std::size_t Model::node_count() const { return loaded_->graph.node_count(); }

const Diagnostics& Model::warnings() const { return loaded_->warnings; }

}  // namespace cleave
