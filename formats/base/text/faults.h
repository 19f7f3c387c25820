// TextFaults: collects the faults of a text file that people write by hand, with their positions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/base/text/diagnostic.h"

namespace cleave {

class TextFaults {
 public:
  TextFaults(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  void error(std::size_t offset, std::string message, std::vector<std::string> notes = {});
  // Keeps each message once, and at most 20.
  void warning(std::size_t offset, std::string message);

  // True when no more errors are kept: the reader may stop.
  bool is_full() const;
  Diagnostics& errors() { return errors_; }
  Diagnostics& warnings() { return warnings_; }

 private:
  std::string file_;
  std::string_view text_;
  Diagnostics errors_;
  Diagnostics warnings_;
  std::unordered_set<std::string> warned_;
};

}  // namespace cleave
