// ONNX: what is read can be split and written, and all that was written can be read.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/split/split.h"
#include "formats/models/model_file.h"
#include "formats/models/onnx/index/index.h"
#include "formats/models/onnx/read/reader.h"
#include "formats/models/onnx/write/writer.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/rendering.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kWriteOneIn = 8;  // models; writing takes a hundred times as long as reading

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

// A folder in memory if there is one, with this process's name.
const std::string& scratch() {
  static const std::string path = [] {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::filesystem::path folder =
        has_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    folder /= "cleave-fuzz-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    return folder.string();
  }();
  return path;
}

void demand_writable(const LoadedModel& model, const std::vector<SupportList>& lists) {
  const auto split = split_graph({model.graph, lists, op_facts(model)}, {});
  demand(split.has_value(), "a graph is split");
  const std::string path = scratch() + "/out";
  auto folder = OutputFolder::create(path, true);
  demand(folder.has_value(), "there is room for a folder");
  const std::vector<std::string> no_devices;
  const auto written = write_onnx_split(
      model, {split->partition, split->boundaries, split->boundaries, no_devices}, {}, *folder);
  if (!written) return demand_good_errors(written.error().faults);
  demand(folder->commit().has_value(), "the folder is put into place");
  for (const std::string& name : written->files) {
    if (!name.ends_with(".onnx")) continue;
    auto source = SourceFile::open(path + "/" + name);
    demand(source.has_value(), "what was written is there");
    const auto index = index_onnx(*source);
    demand(index.has_value(), "what was written is ONNX");
  }
  std::filesystem::remove_all(path);
}

}  // namespace

void read_onnx_model(std::string_view bytes) {
  const auto model = loaded(SourceFile::from_text(scratch() + "/m.onnx", bytes));
  if (!model) return;
  const auto lists = some_support(model->graph, bytes.size());
  demand_good_split(*model, lists);
  std::size_t sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  if (sum % kWriteOneIn == 0) demand_writable(*model, lists);
}

}  // namespace cleave::fuzz
