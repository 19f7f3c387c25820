// torch.export archives and their programs.
#include "formats/pt2/pt2.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/writing.h"

namespace cleave::fuzz {
namespace {

// Bytes that are not an archive become the program of one, so that checksums do not stop every
// change.
std::string archive_of(std::string_view bytes) {
  if (looks_like_zip(bytes)) return std::string(bytes);
  ZipPieces zip("m");
  zip.add("data/weights/model_weights_config.json", "{\"config\": {}}");
  zip.add("data/constants/model_constants_config.json", "{\"config\": {}}");
  zip.add("models/model.json", bytes);
  zip.add("archive_format", "pt2");
  zip.add("archive_version", "0");
  return std::string(std::move(zip).finish().made());
}

std::optional<LoadedModel> loaded_pt2(SourceFile source) {
  auto pt2 = read_pt2(source, {});
  if (!pt2) {
    demand_good_errors(pt2.error());
    return std::nullopt;
  }
  return LoadedModel{.source = std::move(source),
                     .origin = Pt2Origin{std::move(pt2->model)},
                     .graph = std::move(pt2->graph),
                     .warnings = {},
                     .notes = std::move(pt2->notes)};
}

std::vector<std::string> write_pt2(const LoadedModel& model, const Split& split,
                                   OutputFolder& folder) {
  auto written = write_pt2_split(model, split.partition, {}, folder, {});
  if (!written) {
    demand_good_errors(written.error().faults);
    return {};
  }
  demand_json(written->chain, "the chain");
  return std::move(written->part_files);
}

}  // namespace

void read_pt2_model(std::string_view bytes) {
  const auto model = loaded_pt2(SourceFile::from_text(scratch() + "/m.pt2", archive_of(bytes)));
  if (!model) return;
  demand_split_and_written(*model, bytes, {write_pt2, [](const SourceFile& file) {
                                             return read_pt2_archive(file).has_value();
                                           }});
}

}  // namespace cleave::fuzz
