// Near misses in spelling: "did you mean ...?".
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave {

// The number of insertions, deletions, replacements and swaps of neighbours that turn a into b;
// `limit + 1` when it is above `limit`. O(limit x length).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// Collects the candidate nearest to a name. A candidate counts when its distance is at most a third
// of the name's length (at least one).
class NearestName {
 public:
  explicit NearestName(std::string_view name);
  void offer(std::string_view candidate);
  // The nearest candidate, the first of equals; empty when none was near enough.
  std::string_view best() const { return best_; }

 private:
  std::string_view name_;
  std::string_view best_;
  std::size_t limit_;
};

}  // namespace cleave
