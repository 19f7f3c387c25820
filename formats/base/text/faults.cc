#include "formats/base/text/faults.h"

namespace cleave {
namespace {

constexpr std::size_t kMostFaults = 20;

}  // namespace

void TextFaults::error(std::size_t offset, std::string message, std::vector<std::string> notes) {
  if (is_full()) return;
  errors_.push_back(diagnostic_at(file_, text_, offset, std::move(message)));
  errors_.back().notes = std::move(notes);
}

void TextFaults::warning(std::size_t offset, std::string message) {
  if (warnings_.size() >= kMostFaults || !warned_.insert(message).second) return;
  warnings_.push_back(diagnostic_at(file_, text_, offset, std::move(message)));
  warnings_.back().severity = Severity::warning;
}

bool TextFaults::is_full() const { return errors_.size() >= kMostFaults; }

}  // namespace cleave
