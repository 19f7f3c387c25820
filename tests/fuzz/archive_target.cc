// The two containers inside a torch.export file, each a target of its own, so that a run spends its
// time on their bytes alone: zip archives with their tables, and the pickles of older torch.
#include <algorithm>
#include <string>

#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

bool is_inside(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// As cleave's own reader has it, which takes numbers of any size.
bool is_json(const std::string& text) {
  const std::string padded = text + std::string(JsonCursor::kPadding, '\0');
  JsonCursor cursor(std::string_view(padded).substr(0, text.size()), 100);
  cursor.skip();
  cursor.expect_end();
  return !cursor.fault();
}

void demand_good_table(const Pt2Table& table, std::string_view bytes) {
  for (const Pt2Record& record : table.records) {
    demand(is_inside(bytes, record.offset, record.size), "a weight is inside the archive");
  }
  for (const Pt2Entry& entry : table.entries) {
    demand(entry.record < table.records.size(), "an entry has a record");
    demand(table.find(entry.name) != nullptr, "an entry is found by its name");
    demand(is_json(entry.config), "an entry's config is JSON");
  }
}

// Bytes that are not an archive become the table of weights of one, so that checksums do not stop
// every change.
std::string archive_of(std::string_view bytes) {
  if (looks_like_zip(bytes)) return std::string(bytes);
  ZipPieces zip("m");
  zip.add("data/weights/weight_0", "0123456789abcdef");
  zip.add("data/weights/model_weights_config.json", bytes);
  zip.add("data/constants/model_constants_config.json", "{\"config\": {}}");
  zip.add("models/model.json", "{}");
  zip.add("archive_format", "pt2");
  zip.add("archive_version", "0");
  return std::string(std::move(zip).finish().made());
}

void demand_good_directory(std::string_view bytes) {
  const auto records = read_zip_directory(bytes);
  if (!records) return demand_printable(records.error(), "why a directory is refused");
  for (const ZipRecord& record : *records) {
    demand(is_inside(bytes, record.offset, record.size), "a record is inside the archive");
    demand(!record.name.starts_with('/'), "a record's name is relative");
    const auto same_name = [&](const ZipRecord& other) { return other.name == record.name; };
    demand(std::count_if(records->begin(), records->end(), same_name) == 1, "names differ");
  }
}

}  // namespace

void read_archive(std::string_view bytes) {
  const SourceFile source = SourceFile::from_text("m.pt2", archive_of(bytes));
  demand_good_directory(source.bytes());
  const auto archive = read_pt2_archive(source);
  if (!archive) return demand_good_errors(archive.error());
  demand(!archive->program_name.empty(), "an archive has a program");
  demand_good_table(archive->weights, source.bytes());
  demand_good_table(archive->constants, source.bytes());
}

void read_pickle(std::string_view bytes) {
  const auto tensors = read_pickled_tensors(bytes);
  if (!tensors) {
    demand(!tensors.error().empty(), "a refusal has words");
    return demand_printable(tensors.error(), "why a pickle is refused");
  }
  for (const PickledTensor& tensor : *tensors) {
    demand(tensor.sizes.size() == tensor.strides.size(), "a tensor has a stride for each size");
  }
}

}  // namespace cleave::fuzz
