#include "formats/models/onnx/write/weight_places.h"

namespace cleave {
namespace {

// Weights of up to this many bytes are written into the file itself.
constexpr std::uint64_t kInlineWeight = 1024;

}  // namespace

void add_shared_weight(const OnnxSplitJob& job, const OnnxWeightPlaces& places, BytePieces& graph,
                       std::uint32_t initializer) {
  if (const auto reference = job.reference(initializer)) {
    job.source.add_initializer_at(graph, initializer, *reference);
    return;
  }
  const OnnxWeightPlaces::Place& place = places.by_initializer[initializer];
  const bool is_external = job.options.root_weights == RootWeights::external &&
                           place.file != OnnxWeightPlaces::kNowhere &&
                           job.source.elements(initializer)->length > kInlineWeight;
  if (is_external) {
    job.source.add_initializer_at(graph, initializer,
                                  {.file = places.files[place.file], .offset = place.offset});
  } else {
    job.source.add_initializer(graph, initializer);
  }
}

}  // namespace cleave
