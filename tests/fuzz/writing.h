// What is read can be split and written, and all that was written can be read: the same for each
// format that has a writer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/split/split.h"
#include "formats/base/files.h"
#include "formats/models/models.h"

namespace cleave::fuzz {

// How a format writes a split and reads a file of it again.
struct Writing {
  // The names of the written models; no name for a split that the writer refused with good errors.
  std::function<std::vector<std::string>(const LoadedModel&, const Split&, OutputFolder&)> write;
  std::function<bool(const SourceFile&)> is_readable;
};

// A folder of this process, in memory if there is one.
const std::string& scratch();

// Splits the model and demands good reports of it. One model in eight, chosen by its bytes, is also
// written and read again: writing takes a hundred times as long as reading.
void demand_split_and_written(const LoadedModel& model, std::string_view bytes,
                              const Writing& writing);

}  // namespace cleave::fuzz
