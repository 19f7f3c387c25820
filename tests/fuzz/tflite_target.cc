// TensorFlow Lite models.
#include "formats/tflite/tflite.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/writing.h"

namespace cleave::fuzz {
namespace {

std::optional<LoadedModel> loaded_tflite(SourceFile source) {
  auto tflite = read_tflite(source, {});
  if (!tflite) {
    demand_good_errors(tflite.error());
    return std::nullopt;
  }
  return LoadedModel{.source = std::move(source),
                     .origin = TfliteOrigin{std::move(tflite->model)},
                     .graph = std::move(tflite->graph),
                     .warnings = std::move(tflite->warnings),
                     .notes = std::move(tflite->notes)};
}

std::vector<std::string> write_tflite(const LoadedModel& model, const Split& split,
                                      OutputFolder& folder, PartFiles files) {
  auto written = write_tflite_split(model, split.partition, {.files = files}, folder, {});
  if (!written) {
    demand_good_errors(written.error().faults);
    return {};
  }
  demand_json(written->chain, "the chain");
  return std::move(written->part_files);
}

}  // namespace

void read_tflite_model_and_split(std::string_view bytes) {
  const auto model = loaded_tflite(SourceFile::from_text(scratch() + "/m.tflite", bytes));
  if (!model) return;
  const auto files = bytes.size() % 2 == 0 ? PartFiles::bundle : PartFiles::one_a_part;
  const auto write = [&](const LoadedModel& of, const Split& split, OutputFolder& folder) {
    return write_tflite(of, split, folder, files);
  };
  demand_split_and_written(*model, bytes, {write, [](const SourceFile& file) {
                                             return read_tflite(file, {}).has_value();
                                           }});
}

}  // namespace cleave::fuzz
