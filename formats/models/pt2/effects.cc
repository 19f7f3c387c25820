// Three rounds over the nodes:
//   1. join values that share memory to classes, and those that are one tensor, an argument and the
//      result of the operator that wrote it, to families (union-find)
//   2. find the written classes in which a stale tensor is read: one of a family that was there when
//      another family was written
//   3. give new names after each write, and order writers and readers
#include "formats/models/pt2/effects.h"

#include <algorithm>
#include <unordered_map>

#include "formats/models/pt2/node_effects.h"

namespace cleave {
namespace {

class EffectFinder {
 public:
  explicit EffectFinder(const Pt2Program& program)
      : program_(program),
        parent_(program.values.size()),
        family_(program.values.size()),
        newest_(program.values.size()) {
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = family_[i] = newest_[i] = i;
  }

  Pt2Effects run() {
    const auto count = static_cast<std::uint32_t>(program_.nodes.size());
    const std::vector<Pt2NodeEffects> effects = find_node_effects(program_);
    for (const Pt2NodeEffects& node : effects) {
      for (const Pt2Share& share : node.shares) {
        join(parent_, share.from, share.to);
        if (share.is_same) join(family_, share.from, share.to);
      }
      for (const std::uint32_t value : node.writes) classes_.try_emplace(value);
    }
    find_classes(effects);
    found_.is_renamed.assign(count, false);
    found_.read_as.resize(program_.refs.size());
    for (std::size_t i = 0; i < found_.read_as.size(); ++i) {
      found_.read_as[i] = program_.refs[i].value;
    }
    if (!classes_.empty()) {
      for (std::uint32_t i = 0; i < count; ++i) order_node(i, effects[i]);
    }
    finish();
    return std::move(found_);
  }

 private:
  struct Write {
    std::uint32_t node = kNoPt2;  // kNoPt2: none
    std::uint32_t family = kNoPt2;
  };

  struct MemoryClass {
    Write last, last_of_another;  // the latter of another family than the former
    bool has_stale_reads = false;
    bool has_input = false;
    std::uint32_t last_writer = kNoPt2;
    std::vector<std::uint32_t> readers;  // since the last write
    std::vector<std::uint32_t> nodes;
  };

  using Sets = std::vector<std::uint32_t>;
  // The representative of the value's set is its first value.
  static std::uint32_t find(Sets& sets, std::uint32_t value) {
    while (sets[value] != value) value = sets[value] = sets[sets[value]];
    return value;
  }
  static void join(Sets& sets, std::uint32_t a, std::uint32_t b) {
    sets[find(sets, b)] = find(sets, a);
  }
  std::uint32_t root(std::uint32_t value) { return find(parent_, value); }
  std::uint32_t newest(std::uint32_t value) {
    while (newest_[value] != value) value = newest_[value] = newest_[newest_[value]];
    return value;
  }

  void find_classes(const std::vector<Pt2NodeEffects>& effects) {
    const auto written = std::move(classes_);
    classes_.clear();
    for (const auto& [value, memory] : written) classes_.try_emplace(root(value));
    if (classes_.empty()) return;
    for (std::uint32_t i = 0; i < effects.size(); ++i) note_node(i, effects[i]);
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      note_read(input.value);  // the caller sees what was written
      const auto found = classes_.find(root(input.value));
      if (found != classes_.end()) found->second.has_input = true;
    }
    for (const Pt2Output& output : program_.outputs) {
      for (const Pt2Ref& ref : output.refs) note_read(ref.value);
    }
  }

  void note_node(std::uint32_t number, const Pt2NodeEffects& effects) {
    const Pt2Node& node = program_.nodes[number];
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        note_read(program_.refs[r].value);
      }
    }
    for (const std::uint32_t value : effects.writes) {
      MemoryClass& memory = classes_.at(root(value));
      const std::uint32_t family = find(family_, value);
      if (memory.last.family != family) memory.last_of_another = memory.last;
      memory.last = {number, family};
    }
  }

  void note_read(std::uint32_t value) {
    const auto found = classes_.find(root(value));
    if (found == classes_.end()) return;
    MemoryClass& memory = found->second;
    const std::uint32_t family = find(family_, value);
    const Write& write = memory.last.family == family ? memory.last_of_another : memory.last;
    if (write.node == kNoPt2) return;
    const std::uint32_t maker = program_.values[family].maker;
    if (maker == kNoPt2 || maker < write.node) memory.has_stale_reads = true;
  }

  // The written classes that the node uses, each once, in order of its values.
  std::vector<std::uint32_t> touch(std::uint32_t number) {
    const Pt2Node& node = program_.nodes[number];
    std::vector<std::uint32_t> touched;
    const auto note = [&](std::uint32_t value) {
      const auto found = classes_.find(root(value));
      if (found == classes_.end()) return false;
      if (std::find(touched.begin(), touched.end(), found->first) == touched.end()) {
        touched.push_back(found->first);
      }
      return !found->second.has_stale_reads;
    };
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        const std::uint32_t value = program_.refs[r].value;
        if (!note(value)) continue;
        found_.read_as[r] = newest(value);
        if (found_.read_as[r] != value) found_.is_renamed[number] = true;
      }
    }
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      note(program_.refs[r].value);
    }
    return touched;
  }

  void order_node(std::uint32_t number, const Pt2NodeEffects& effects) {
    for (const std::uint32_t key : touch(number)) {
      MemoryClass& memory = classes_.at(key);
      memory.nodes.push_back(number);
      if (memory.last_writer != kNoPt2) found_.order.emplace_back(memory.last_writer, number);
      const bool is_writer = std::any_of(effects.writes.begin(), effects.writes.end(),
                                         [&](std::uint32_t value) { return root(value) == key; });
      if (!is_writer) {
        memory.readers.push_back(number);
        continue;
      }
      for (const std::uint32_t reader : memory.readers) found_.order.emplace_back(reader, number);
      memory.readers.clear();
      memory.last_writer = number;
    }
    for (const std::uint32_t value : effects.writes) {
      if (classes_.at(root(value)).has_stale_reads) continue;
      for (const Pt2Share& share : effects.shares) {
        if (share.from != value || !share.is_same || newest(value) == share.to) continue;
        newest_[newest(value)] = share.to;
        break;
      }
    }
  }

  // After the last write all that is read is up to date, and can be handed to other partitions. An
  // input of the program is handed to all that read it as it was at the beginning.
  static std::vector<std::uint32_t> kept_together(const MemoryClass& memory) {
    std::vector<std::uint32_t> nodes = memory.nodes;
    if (memory.has_input) return nodes;
    nodes.erase(std::upper_bound(nodes.begin(), nodes.end(), memory.last_writer), nodes.end());
    return nodes;
  }

  void finish() {
    found_.newest.resize(program_.values.size());
    for (std::uint32_t i = 0; i < found_.newest.size(); ++i) found_.newest[i] = newest(i);
    std::vector<std::uint32_t> keys;
    for (const auto& [key, memory] : classes_) {
      if (memory.has_stale_reads && memory.nodes.size() > 1) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    for (const std::uint32_t key : keys) found_.whole.push_back(kept_together(classes_.at(key)));
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      const auto found = classes_.find(root(input.value));
      if (found == classes_.end() || found->second.last_writer == kNoPt2) continue;
      found_.written_inputs.push_back(
          {input.value, newest(input.value), found->second.last_writer, found->second.nodes});
    }
  }

  const Pt2Program& program_;
  Pt2Effects found_;
  Sets parent_, family_;               // values of one class; values that are one tensor
  std::vector<std::uint32_t> newest_;  // by value
  std::unordered_map<std::uint32_t, MemoryClass> classes_;  // written ones, by root
};

}  // namespace

Pt2Effects find_effects(const Pt2Program& program) { return EffectFinder(program).run(); }

}  // namespace cleave
