// OnnxTypeMemo: the types that were inferred for nodes, so that nodes of one kind whose inputs have the
// same types are inferred once. A deep model has thousands of nodes and a few dozen such cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/name_table.h"
#include "core/base/string_arena.h"
#include "formats/models/onnx/index/type.h"

namespace cleave {

class OnnxTypeMemo {
  struct Entry {
    std::string_view key;
    std::size_t outputs;  // into outputs_
  };
  std::string_view key() const {
    return {reinterpret_cast<const char*>(key_.data()), key_.size() * sizeof key_[0]};
  }
  auto key_of() const {
    return [this](std::uint32_t i) { return entries_[i].key; };
  }

 public:
  // An input of a node: its type, which is in a pool, and whether elements of it are known. Null type: it
  // is left out.
  struct Input {
    const OnnxType* type = nullptr;
    bool has_values = false;
  };

  // Starts the key of a node of this kind: number of the kind, then each input.
  void start(std::uint32_t kind) { key_.assign(1, kind); }
  void add(Input input) {
    key_.push_back(reinterpret_cast<std::uintptr_t>(input.type) | (input.has_values ? 1U : 0U));
  }

  // The types of the outputs of the node whose key was made last; null when they are not known.
  const OnnxType* const* find() const {
    const std::uint32_t found = table_.find(key(), key_of());
    return found == NameTable::kAbsent ? nullptr : outputs_.data() + entries_[found].outputs;
  }
  // Keeps them, in a pool that lives as long as this, unless there are too many cases already. Only for
  // what follows from the key: not for a node whose elements were read, or whose inference failed.
  void keep(std::span<const OnnxType* const> outputs) {
    if (entries_.size() == kMost) return;
    const std::string_view kept = texts_.keep(key());
    entries_.push_back({kept, outputs_.size()});
    const auto fresh = static_cast<std::uint32_t>(entries_.size() - 1);
    if (table_.find_or_insert(kept, fresh, key_of()) != NameTable::kAbsent) {
      entries_.pop_back();
      return;
    }
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
  }

 private:
  static constexpr std::size_t kMost = 1U << 16U;

  std::vector<std::uintptr_t> key_;
  std::vector<Entry> entries_;
  std::vector<const OnnxType*> outputs_;
  NameTable table_;
  StringArena texts_;
};

}  // namespace cleave
