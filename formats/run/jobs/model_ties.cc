#include "formats/run/jobs/model_ties.h"

#include "formats/models/pt2/reader.h"
#include "formats/models/tflite/reader.h"

namespace cleave {

NodeTies model_ties(const LoadedModel& model) {
  if (model.tflite() != nullptr) return tflite_ties(*model.tflite());
  const Pt2Model* const program = model.pt2();
  return program == nullptr ? NodeTies{} : pt2_ties(*program);
}

}  // namespace cleave
