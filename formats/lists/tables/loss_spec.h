// Which output of a model is the loss, as the user specifies it: by name, or as JSON with the
// structure of what the model returns, with true at the loss and false at everything else.
//
//   returns {"logits": y, "loss": l}      --loss-output loss
//                                         --loss-output '{"logits": false, "loss": true}'
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// The loss. Without a spec: the value returned under the key "loss", or the output of that name.
// Refuses a spec with another structure, length or keys than what the model returns, one that marks
// none or several, and one that marks something other than a value. If the model's file does not
// give the structure, it is the list of its outputs, or the output itself if there is one.
Result<ValueId> find_loss(const LoadedModel& model, const std::optional<std::string>& spec);

}  // namespace cleave
