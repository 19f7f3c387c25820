// Support lists in three formats, recognised by content: native JSON, plain text, ONNX Runtime's
// required-operators config.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/support/reason.h"
#include "core/support/support_list.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// The most lists at once: a reason stores the number of its list in this type.
inline constexpr std::size_t kMostSupportLists =
    std::size_t{std::numeric_limits<decltype(Reason::list)>::max()} + 1;

struct LoadedSupport {
  SupportList list;
  std::vector<Diagnostic> warnings;
};

// Reads one list. On error: every fault with its line and column, at most 20.
Loaded<LoadedSupport> read_support_file(const std::string& path);
// Parses a text as if read from `path`.
Loaded<LoadedSupport> parse_support(const std::string& path, std::string_view bytes);

}  // namespace cleave
