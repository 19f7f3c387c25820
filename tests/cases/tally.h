// Tally: what was compared, how much of it agreed, and the first disagreements.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::cases {

class Tally {
 public:
  explicit Tally(std::size_t most_shown) : most_shown_(most_shown) {}

  void begin_case(const std::string& id);
  void end_case();
  void skip_case() { ++skipped_; }
  // One comparison of the current case. True when both are equal.
  bool compare(std::string_view field, const nlohmann::json& recorded, const nlohmann::json& ours);

  // A line a field, the first disagreements, and last `N passed, M failed, K skipped`.
  void print(std::ostream& out) const;
  // True when a case was checked and none failed.
  bool passed() const { return passed_ != 0 && failed_ == 0; }

 private:
  struct Field {
    std::string name;
    std::size_t agree = 0;
    std::size_t total = 0;
  };
  Field& field_of(std::string_view name);

  std::size_t most_shown_;
  std::vector<Field> fields_;  // in the order in which they were first compared
  std::vector<std::string> disagreements_;
  std::string id_;
  bool case_agrees_ = true;
  std::size_t passed_ = 0;
  std::size_t failed_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace cleave::cases
