#include "core/base/spelling.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cleave {

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

void NearestName::offer(std::string_view candidate) {
  if (candidate.empty() || candidate == name_) return;
  const std::size_t distance = edit_distance(name_, candidate, limit_);
  if (distance > limit_) return;
  best_ = candidate;
  limit_ = distance - 1;  // from here on only a nearer one replaces it
}

}  // namespace cleave
