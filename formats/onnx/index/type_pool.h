// Types of ONNX values, each kept once: a model of a million values has a few hundred types.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "formats/onnx/index/type.h"

namespace cleave {

class OnnxTypePool {
 public:
  // The type of which nothing is known.
  static const OnnxType* unknown();
  // The type as it is kept: at the same address for equal types, for as long as the pool lives,
  // also when it is moved.
  const OnnxType* keep(OnnxType type);

 private:
  struct Hash {
    std::size_t operator()(const OnnxType& type) const;
  };
  std::unordered_set<OnnxType, Hash> types_;
};

}  // namespace cleave
