// A pool of ONNX types, each stored once: a model with a million values has a few hundred types.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "formats/models/onnx/index/type.h"

namespace cleave {

class OnnxTypePool {
 public:
  // The unknown type.
  static const OnnxType* unknown();
  // The stored type: equal types have the same address, which stays valid as long as the pool
  // lives, also when it is moved.
  const OnnxType* keep(OnnxType type);

 private:
  struct Hash {
    std::size_t operator()(const OnnxType& type) const;
  };
  std::unordered_set<OnnxType, Hash> types_;
};

}  // namespace cleave
