// The path of a parameter in the module that the model was made of: "embed.weight", while the graph
// may call it "embed_weight_1" or "p_embed_weight".
#pragma once

#include <string>

#include "formats/models/bind/loaded_model.h"

namespace cleave {

// The target of a native JSON parameter, the parameter, buffer or constant that a torch.export
// signature names; the parameter's own name where the file has neither.
std::string parameter_path(const LoadedModel& model, ValueId parameter);

}  // namespace cleave
