// Numbers and names as text, and the arena that names lie in.
#include "core/base/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"

namespace cleave {

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

// ---- letters ----

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

// ---- spelling ----

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t over = limit + 1;
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > limit) return over;
  // Three rows of the classic table, each computed only within `limit` of the diagonal.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.assign(b.size() + 1, over);
  for (std::size_t j = 0; j <= std::min(b.size(), limit); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const auto& before = rows[(i + 1) % 3];  // row i-2
    const auto& above = rows[(i - 1) % 3];
    auto& row = rows[i % 3];
    const std::size_t first = i > limit ? i - limit : 1;
    const std::size_t last = std::min(b.size(), i + limit);
    // The next two rows read one cell beyond the band; cells further away are never read.
    row[first - 1] = first == 1 && i <= limit ? i : over;
    if (last < b.size()) row[last + 1] = over;
    std::size_t least = row[first - 1];
    for (std::size_t j = first; j <= last; ++j) {
      std::size_t best = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best = std::min({best, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, before[j - 2] + 1);
      }
      row[j] = std::min(best, over);
      least = std::min(least, row[j]);
    }
    if (least > limit) return over;
  }
  return rows[a.size() % 3][b.size()];
}

NearestName::NearestName(std::string_view name)
    : name_(name), limit_(std::max<std::size_t>(name.size() / 3, 1)) {
  limit_ = std::min<std::size_t>(limit_, 8);  // names of thousands of bytes are not worth more
}

namespace {

constexpr std::string_view kNormalization = "Normalization";  // Norm for short

}  // namespace

void NearestName::offer(std::string_view candidate) {
  if (candidate.empty() || candidate == name_) return;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::string_view short_form = candidate;
  if (candidate.ends_with(kNormalization)) short_form.remove_suffix(kNormalization.size() - 4);
  const bool is_same = std::ranges::equal(name_, short_form, {}, lower, lower) ||
                       std::ranges::equal(name_, candidate, {}, lower, lower);
  if (is_same) {
    best_ = candidate;
    limit_ = 0;  // none is nearer
    return;
  }
  const std::size_t distance = edit_distance(name_, candidate, limit_);
  if (distance > limit_) return;
  best_ = candidate;
  limit_ = distance - 1;  // from here on only a nearer one replaces it
}

// ---- number text ----

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) { return byte_amount(static_cast<double>(bytes)); }

std::string flops_text(double flops) {
  static constexpr std::array<std::string_view, 7> kUnits = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                                             "TFLOP", "PFLOP", "EFLOP"};
  if (!std::isfinite(flops) || flops < 0 || flops >= 1e24) return "? FLOP";
  return with_unit(flops, 1000, kUnits);
}

std::string joules_text(double millijoules) {
  static constexpr std::array<std::string_view, 5> kUnits = {"pJ", "nJ", "uJ", "mJ", "J"};
  if (!std::isfinite(millijoules) || millijoules < 0 || millijoules >= 1e24) return "? J";
  return with_unit(millijoules * 1e9, 1000, kUnits);
}

std::string duration_text(double microseconds) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  if (!std::isfinite(microseconds) || microseconds < 0 || microseconds >= 1e24) return "? s";
  return with_unit(microseconds * 1000, 1000, kUnits);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return count_text(count) + " " + std::string(count == 1 ? one : many);
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return count_text(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string percent_text(double ratio) {
  double percent = ratio * 100;
  if (ratio < 1) percent = std::min(percent, 99.9);
  if (ratio > 0 && percent < 0.1) return "<0.1%";
  std::string digits = fixed_text(percent, 1);
  if (digits.ends_with(".0")) digits.erase(digits.size() - 2);
  return digits + "%";
}

std::string rate_text(double rate) {
  if (rate >= 100 && rate < 1e15) return count_text(static_cast<std::uint64_t>(std::llround(rate)));
  return rounded_text(rate, 3);
}

// ---- decimal ----

namespace {

// 1.8e308 in full has 309 digits; callers ask for at most 60 decimals.
using Digits = std::array<char, 400>;

template <class... Format>
std::string text_of(double number, Format... format) {
  Digits digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, format...).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string shortest_text(double number) { return text_of(number); }

std::string fixed_text(double number, int decimals) {
  return text_of(number, std::chars_format::fixed, decimals);
}

std::string rounded_text(double number, int digits) {
  return text_of(number, std::chars_format::general, digits);
}

// ---- capped list ----

std::string CappedList::rest(std::string_view one, std::string_view many) const {
  if (left_out() == 0) return {};
  std::string text(left_out() == 1 ? one : many);
  const std::size_t number = text.find('#');
  if (number != text.npos) text.replace(number, 1, count_text(left_out()));
  return text;
}

// ---- string arena ----

std::string_view StringArena::keep(std::string_view text) {
  if (text.empty()) return {};
  // Some thousand names: large enough that blocks are few, small enough that a small graph costs little.
  constexpr std::size_t kBlock = std::size_t{64} * 1024;
  if (capacity_ - used_ < text.size()) {
    capacity_ = std::max(kBlock, text.size());
    used_ = 0;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(capacity_));
  }
  char* const at = blocks_.back().get() + used_;
  std::memcpy(at, text.data(), text.size());
  used_ += text.size();
  return {at, text.size()};
}

}  // namespace cleave
