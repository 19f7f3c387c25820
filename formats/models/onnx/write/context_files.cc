#include "formats/models/onnx/write/context_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "formats/base/io/weight_files.h"
#include "formats/models/onnx/index/compiled_nodes.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

bool have_same_bytes(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  if (fs::file_size(one, error) != fs::file_size(other, error) || error) return false;
  std::ifstream left(one, std::ios::binary), right(other, std::ios::binary);
  return left && right &&
         std::equal(std::istreambuf_iterator<char>(left), {},
                    std::istreambuf_iterator<char>(right));
}

}  // namespace

Status<Fault> copy_context_files(const OnnxSplitJob& job, std::span<const NodeId> nodes,
                                 const OutputPath& model, OldFiles old_files) {
  std::vector<std::uint32_t> records;
  for (const NodeId node : nodes) records.push_back(job.onnx().node_index[index(node)]);
  std::vector<ByteSource> sources;
  WeightFiles files(job.model.source.folder(), sources);
  for (const std::string_view location : context_files(job.onnx(), records)) {
    const auto file = files.find(location);
    if (!file) continue;
    const fs::path made = fs::path(model.path).parent_path() / location;
    const fs::path shown = fs::path(model.shown).parent_path() / location;
    if (old_files == OldFiles::stay && have_same_bytes(sources[file->source].path, shown)) continue;
    std::error_code ignored;  // a folder that is missing is told by what is written into it
    fs::create_directories(made.parent_path(), ignored);
    BytePieces pieces;
    pieces.add_range(file->source, 0, file->size);
    auto written = write_pieces(pieces, sources, {made.string(), shown.string()});
    if (!written) return written;
  }
  return Done{};
}

}  // namespace cleave
