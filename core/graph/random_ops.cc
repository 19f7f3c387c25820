#include "core/graph/random_ops.h"

#include <algorithm>
#include <array>

namespace cleave {

bool is_random_op(std::string_view op) {
  constexpr std::array<std::string_view, 6> kRandomOps = {"Bernoulli",     "Multinomial",
                                                          "RandomNormal",  "RandomNormalLike",
                                                          "RandomUniform", "RandomUniformLike"};
  return std::find(kRandomOps.begin(), kRandomOps.end(), op) != kRandomOps.end();
}

}  // namespace cleave
