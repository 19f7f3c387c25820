#include "tests/cases/tally.h"

#include <algorithm>
#include <iomanip>

namespace cleave::cases {
namespace {

std::string shortened(const nlohmann::json& value) {
  constexpr std::size_t kMost = 600;
  std::string text = value.dump();
  if (text.size() > kMost) text.replace(kMost, text.npos, "...");
  return text;
}

}  // namespace

void Tally::begin_case(const std::string& id) {
  id_ = id;
  case_agrees_ = true;
}

void Tally::end_case() { ++(case_agrees_ ? passed_ : failed_); }

Tally::Field& Tally::field_of(std::string_view name) {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.name == name; });
  if (found != fields_.end()) return *found;
  fields_.push_back({std::string(name)});
  return fields_.back();
}

bool Tally::compare(std::string_view field, const nlohmann::json& recorded,
                    const nlohmann::json& ours) {
  Field& counts = field_of(field);
  ++counts.total;
  if (recorded == ours) {
    ++counts.agree;
    return true;
  }
  case_agrees_ = false;
  if (disagreements_.size() < most_shown_) {
    disagreements_.push_back(id_ + ": " + counts.name + "\n   recorded " + shortened(recorded) +
                             "\n   cleave   " + shortened(ours));
  }
  return false;
}

void Tally::print(std::ostream& out) const {
  for (const std::string& text : disagreements_) out << text << '\n';
  for (const Field& field : fields_) {
    out << std::left << std::setw(32) << field.name << std::right << std::setw(7) << field.agree
        << " of " << std::setw(7) << field.total << " agree\n";
  }
  out << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped\n";
}

}  // namespace cleave::cases
