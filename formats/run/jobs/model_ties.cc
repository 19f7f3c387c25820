#include "formats/run/jobs/model_ties.h"

#include "formats/models/pt2/reader.h"

namespace cleave {

NodeTies model_ties(const LoadedModel& model) {
  const Pt2Model* const program = model.pt2();
  return program == nullptr ? NodeTies{} : pt2_ties(*program);
}

}  // namespace cleave
