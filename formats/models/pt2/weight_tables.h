// The tables of weights: from the JSON config of a raw archive, or from the pickle of a torch.save
// file in an old one, whose tensors get the config that a raw archive would have for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "formats/base/io/source_file.h"
#include "formats/models/pt2/archive.h"
#include "formats/models/pt2/zip_directory.h"

namespace cleave {

// The record of an archive that a config names; null if there is none.
using FindZipRecord = std::function<const ZipRecord*(std::string_view path)>;

// Both return the table with its entries sorted by name, or what is wrong with the record, as a
// text that follows its name. O(n log n).
Result<Pt2Table, std::string> read_config_table(const SourceFile& source, const ZipRecord& config,
                                                const FindZipRecord& find_record);

// `file` is a record of `bytes` that is itself a zip archive; `prefix` + key names its records.
Result<Pt2Table, std::string> read_saved_table(std::string_view bytes, const ZipRecord& file,
                                               std::string_view prefix);

}  // namespace cleave
