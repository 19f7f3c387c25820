// ONNX models.
#include "formats/onnx/index/index.h"
#include "formats/onnx/read/reader.h"
#include "formats/onnx/write/writer.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/writing.h"

namespace cleave::fuzz {
namespace {

std::optional<LoadedModel> loaded(SourceFile source) {
  Loaded<OnnxLoaded> onnx = read_onnx(source, {});
  if (!onnx) {
    demand_good_errors(onnx.error());
    return std::nullopt;
  }
  demand_good_warnings(onnx->warnings);
  return LoadedModel{.source = std::move(source),
                     .origin = OnnxOrigin{std::move(onnx->model)},
                     .graph = std::move(onnx->graph),
                     .warnings = {},
                     .notes = std::move(onnx->notes)};
}

std::vector<std::string> write(const LoadedModel& model, const Split& split, OutputFolder& folder) {
  const std::vector<std::string> no_devices;
  auto written = write_onnx_split(
      model, {split.partition, split.boundaries, split.boundaries, no_devices}, {}, folder);
  if (!written) {
    demand_good_errors(written.error().faults);
    return {};
  }
  std::erase_if(written->files, [](const std::string& file) { return !file.ends_with(".onnx"); });
  return written->files;
}

}  // namespace

void read_onnx_model(std::string_view bytes) {
  const auto model = loaded(SourceFile::from_text(scratch() + "/m.onnx", bytes));
  if (!model) return;
  demand_split_and_written(
      *model, bytes, {write, [](const SourceFile& file) { return index_onnx(file).has_value(); }});
}

}  // namespace cleave::fuzz
