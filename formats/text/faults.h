// TextFaults: collects what is wrong with a text file that people write by hand, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/text/diagnostic.h"

namespace cleave {

class TextFaults {
 public:
  TextFaults(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  void error(std::size_t offset, std::string message, std::vector<std::string> notes = {});
  // The same message is kept once, and 20 messages at most.
  void warning(std::size_t offset, std::string message);

  // No more errors are kept: the reader may stop.
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
