// TensorFlow Lite models: what is read can be split and written, and all that was written can be
// read.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/split/split.h"
#include "formats/models/model_file.h"
#include "formats/models/tflite/reader.h"
#include "formats/models/tflite/write/writer.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/rendering.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kWrittenOneIn = 8;  // models: writing takes much longer than reading

const std::string& tflite_scratch() {
  static const std::string path = [] {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::filesystem::path folder =
        has_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    folder /= "cleave-fuzz-tflite-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    return folder.string();
  }();
  return path;
}

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

void demand_tflite_written(const LoadedModel& model, const std::vector<SupportList>& lists,
                           PartFiles files) {
  const auto split = split_graph({model.graph, lists, op_facts(model)}, {});
  demand(split.has_value(), "a graph is split");
  const std::string path = tflite_scratch() + "/out";
  auto folder = OutputFolder::create(path, true);
  demand(folder.has_value(), "there is room for a folder");
  const auto written = write_tflite_split(model, split->partition, {.files = files}, *folder, {});
  if (!written) return demand_good_errors(written.error().faults);
  demand_json(written->chain, "the chain");
  demand(folder->commit().has_value(), "the folder is put into place");
  std::size_t part = 0;
  for (const std::string& file : written->part_files) {
    auto source = SourceFile::open(path + "/" + file);
    demand(source.has_value(), "what was written is there");
    ShapeBindings bindings;
    if (files == PartFiles::bundle) bindings.signature = split->partition.names[part++];
    demand(read_tflite(*source, bindings).has_value(), "what was written is a model");
  }
  std::filesystem::remove_all(path);
}

}  // namespace

void read_tflite_model_and_split(std::string_view bytes) {
  const std::string path = tflite_scratch() + "/m.tflite";
  const auto model = loaded_tflite(SourceFile::from_text(path, bytes));
  if (!model) return;
  const auto lists = some_support(model->graph, bytes.size());
  demand_good_split(*model, lists);
  std::size_t sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  if (sum % kWrittenOneIn != 0) return;
  const bool is_bundle = sum / kWrittenOneIn % 2 == 0;
  demand_tflite_written(*model, lists, is_bundle ? PartFiles::bundle : PartFiles::one_a_part);
}

}  // namespace cleave::fuzz
