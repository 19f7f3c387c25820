#include "formats/base/text/limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

// Ids are 32 bits wide, and so are the tables of what nodes read and make.
constexpr std::uint64_t kMostIds = 4'000'000'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;

constexpr std::array<LimitRow, 7> kRows = {{
    {"nodes", &ModelLimits::nodes, kMostIds, "nodes"},
    {"values", &ModelLimits::values, kMostIds, "values that nodes read and make"},
    {"attributes", &ModelLimits::attributes, kMostIds, "attributes"},
    {"dims", &ModelLimits::dims, kMostIds, "dims"},
    {"depth", &ModelLimits::depth, 1000, "levels of nesting"},
    {"name-bytes", &ModelLimits::name_bytes, kMostIds, "bytes"},
    {"file-bytes", &ModelLimits::file_bytes, kMostBytes, "bytes"},
}};

constexpr std::string_view kUtf8 = "utf8";

const LimitRow& row_of(std::uint64_t ModelLimits::*limit) {
  return *std::find_if(kRows.begin(), kRows.end(),
                       [&](const LimitRow& row) { return row.value == limit; });
}

std::string unknown_limit(std::string_view name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const LimitRow& row : kRows) names.push_back(row.name);
  names.push_back(kUtf8);
  for (const std::string_view each : names) all += (all.empty() ? "" : ", ") + std::string(each);
  const std::string nearest = nearest_name(name, names);
  return escaped_in_quotes(name) + " is not a limit: " +
         (nearest.empty() ? "there are " + all : "did you mean " + nearest + "?");
}

Status<std::string> set_utf8(ModelLimits& limits, std::string_view word) {
  if (word != "strict" && word != "lenient")
    return escaped_in_quotes(word) + " is not strict or lenient";
  limits.names = word == "strict" ? NameBytes::utf8 : NameBytes::any;
  return Done{};
}

}  // namespace

std::span<const LimitRow> limit_rows() { return kRows; }

Status<std::string> set_limit(ModelLimits& limits, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return escaped_in_quotes(text) + " is not of the form nodes=5000000";
  const std::string_view name = text.substr(0, equals), number = text.substr(equals + 1);
  if (name == kUtf8) return set_utf8(limits, number);
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const LimitRow& each) { return each.name == name; });
  if (row == kRows.end()) return unknown_limit(name);
  std::uint64_t value = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stop != end) {
    return escaped_in_quotes(number) + " is not a limit of " + std::string(name) +
           ": give a whole number";
  }
  if (value > row->most) {
    return std::string(number) + " is above the most that " + std::string(name) +
           " can be limited to, " + count_text(row->most);
  }
  limits.*row->value = value;
  return Done{};
}

std::string limit_hint(std::uint64_t ModelLimits::*limit) {
  return "--limit " + std::string(row_of(limit).name) + "=N sets the most that is read";
}

std::string beyond_limit(const ModelLimits& limits, std::uint64_t ModelLimits::*limit) {
  return "more than " + count_text(limits.*limit) + " " + std::string(row_of(limit).what) + "; " +
         limit_hint(limit);
}

}  // namespace cleave
