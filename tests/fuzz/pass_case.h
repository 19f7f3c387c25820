// A graph, support lists and settings made from bytes, to run the passes on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/split/options.h"

namespace cleave::fuzz {

// Numbers taken from bytes, in order; all 0 once these are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  std::size_t below(std::size_t bound);

 private:
  std::string_view bytes_;
};

// Why a node is unsupported, and what would make it supported.
struct Cause {
  enum class Kind : std::uint8_t { denied, no_rule, rule_failed };
  std::string node;
  Kind kind = Kind::denied;
};

struct PassCase {
  std::string text;  // of the graph, as tests/core/graph/graph_text.h has it
  Graph graph;
  std::vector<Cause> causes;  // one for each unsupported node; each has an op of its own
  SplitOptions options;
};

PassCase pass_case(std::string_view bytes);

// A list under which the causes hold, all but the one at `without`.
std::vector<SupportList> lists_of(const std::vector<Cause>& causes, std::size_t without);
inline constexpr std::size_t kAllCauses = static_cast<std::size_t>(-1);

}  // namespace cleave::fuzz
