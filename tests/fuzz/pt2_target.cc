// torch.export archives and their programs: what is read can be split and written, and all that was
// written can be read.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/split/split.h"
#include "formats/models/model_file.h"
#include "formats/models/pt2/reader.h"
#include "formats/models/pt2/write/writer.h"
#include "formats/models/pt2/zip_directory.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/rendering.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kWriteOneIn = 8;  // models: writing takes much longer than reading

const std::string& scratch() {
  static const std::string path = [] {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::filesystem::path folder =
        has_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    folder /= "cleave-fuzz-pt2-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    return folder.string();
  }();
  return path;
}

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

std::optional<LoadedModel> loaded(SourceFile source) {
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

void demand_writable(const LoadedModel& model, const std::vector<SupportList>& lists) {
  const auto split = split_graph({model.graph, lists, op_facts(model)}, {});
  demand(split.has_value(), "a graph is split");
  const std::string path = scratch() + "/out";
  auto folder = OutputFolder::create(path, true);
  demand(folder.has_value(), "there is room for a folder");
  const auto written = write_pt2_split(model, split->partition, PartFiles::one_a_part, *folder, {});
  if (!written) return demand_good_errors(written.error().faults);
  demand_json(written->chain, "the chain");
  demand(folder->commit().has_value(), "the folder is put into place");
  for (const std::string& file : written->part_files) {
    auto source = SourceFile::open(path + "/" + file);
    demand(source.has_value(), "what was written is there");
    const auto archive = read_pt2_archive(*source);
    demand(archive.has_value(), "what was written is an archive");
  }
  std::filesystem::remove_all(path);
}

}  // namespace

void read_pt2_model(std::string_view bytes) {
  const std::string path = scratch() + "/m.pt2";
  const auto model = loaded(SourceFile::from_text(path, archive_of(bytes)));
  if (!model) return;
  const auto lists = some_support(model->graph, bytes.size());
  demand_good_split(*model, lists);
  std::size_t sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  if (sum % kWriteOneIn == 0) demand_writable(*model, lists);
}

}  // namespace cleave::fuzz
