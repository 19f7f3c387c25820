#include "formats/base/io/kept_output.h"

#include <algorithm>

namespace cleave {
namespace {

bool has_fault_word(std::string_view line) {
  const auto is_same = [](char a, char b) { return (a | 0x20) == b; };  // of letters in any case
  for (const std::string_view word : {"error", "fatal"}) {
    const auto found = std::search(line.begin(), line.end(), word.begin(), word.end(), is_same);
    if (found != line.end()) return true;
  }
  return false;
}

}  // namespace

KeptOutput::KeptOutput(std::function<bool(std::string_view)> keeps_line)
    : lines_{{{.is_wanted = has_fault_word}, {.is_wanted = std::move(keeps_line)}}} {
  lines_[1].is_found = !lines_[1].is_wanted;
}

void KeptOutput::add(std::string_view bytes) {
  look_for_lines(bytes);
  total_ += bytes.size();
  const std::size_t room = std::min(kKept - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
}

void KeptOutput::look_for_lines(std::string_view bytes) {
  std::uint64_t begin = total_;  // of the bytes
  while (!bytes.empty() && !(lines_[0].is_found && lines_[1].is_found)) {
    const std::size_t end = bytes.find('\n');
    if (line_.empty()) line_begin_ = begin;
    line_ += bytes.substr(0, std::min(end, kLongestLine - line_.size()));
    if (end == bytes.npos) return;
    begin += end + 1;
    bytes.remove_prefix(end + 1);
    if (begin > kKept) keep_line();
    line_.clear();
  }
}

void KeptOutput::keep_line() {
  for (KeptLine& line : lines_) {
    if (line.is_found || !line.is_wanted(line_)) continue;
    line.text = line_ + "\n";
    line.begin = line_begin_;
    line.is_found = true;
  }
}

std::string KeptOutput::text() const {
  const std::size_t tail_size = std::min(tail_.size(), kKept);
  const std::uint64_t tail_begin = total_ - tail_size;
  std::array<const KeptLine*, 2> lines = {&lines_[0], &lines_[1]};
  if (lines[1]->begin < lines[0]->begin) std::swap(lines[0], lines[1]);
  std::string text = head_;
  std::uint64_t at = head_.size();  // in the output
  const auto leave_out_until = [&](std::uint64_t begin) {
    if (begin > at) text += "\n[" + std::to_string(begin - at) + " bytes left out]\n";
  };
  for (const KeptLine* const line : lines) {
    const bool is_repeated = line == lines[1] && line->begin == lines[0]->begin;
    if (line->text.empty() || line->begin >= tail_begin || is_repeated) continue;
    leave_out_until(line->begin);
    if (text.back() != '\n') text += '\n';  // it began in the head
    text += line->text;
    at = std::max(at, line->begin + line->text.size());
  }
  leave_out_until(tail_begin);
  return text.append(tail_, tail_.size() - tail_size);
}

}  // namespace cleave
