// The nodes of a main graph, of which a model may have millions. Their bytes are walked once, by the
// index: what a node reads and makes is kept as numbers of names, and what it is as the number of a
// kind, so that linking, inference and the maker of the graph compare numbers and decode nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/name_table.h"
#include "formats/models/onnx/index/records.h"

namespace cleave {

// The names of values and nodes of a main graph, each once: a name is hashed when its record is
// indexed, and is a number from then on. Names stay where they are, in the file or in OnnxModel::made.
class OnnxNames {
  auto text_of() const {
    return [this](std::uint32_t number) { return texts_[number]; };
  }

 public:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;
  static constexpr std::uint32_t kEmpty = 0;  // of "", the name of what is left out

  OnnxNames() { number(""); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(texts_.size()); }
  std::string_view text(std::uint32_t number) const { return texts_[number]; }
  // The number of the name, a new one if it has none.
  std::uint32_t number(std::string_view name) { return number(name, NameTable::hash_of(name)); }
  // The same for a name whose hash is known, by NameTable; announced, the lookup is faster.
  void fetch(std::uint32_t hash) const { table_.fetch_hash(hash); }
  std::uint32_t number(std::string_view name, std::uint32_t hash) {
    const std::uint32_t known = table_.find_or_insert(name, hash, count(), text_of());
    if (known != kNone) return known;
    texts_.push_back(name);
    return count() - 1;
  }
  // kNone for a name that has no number.
  std::uint32_t find(std::string_view name) const { return table_.find(name, text_of()); }
  // Frees what finds names: from then on numbers have texts, but texts have no numbers.
  void forget_numbers() { table_ = NameTable::dense(); }

 private:
  std::vector<std::string_view> texts_;
  NameTable table_ = NameTable::dense();
};

// What many nodes have in common: operator, attributes, and how many inputs and outputs are listed.
// Whatever is asked of one node but for its names and its place has the same answer for all of its kind.
struct OnnxNodeKind {
  std::string_view op_type;
  std::string_view domain;  // as in the file
  std::string_view overload;
  std::uint32_t inputs = 0, outputs = 0;
  // The attributes are not compared, as they hold tensors or bodies or are long: nodes of the kind
  // have attributes of their own.
  bool has_own_attributes = false;
};

class OnnxNodeKinds {
 public:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;

  std::uint32_t count() const { return static_cast<std::uint32_t>(kinds_.size()); }
  const OnnxNodeKind& operator[](std::uint32_t kind) const { return kinds_[kind]; }

  // The number of the attribute with this payload; kNone when none before had it.
  std::uint32_t find_attribute(std::string_view payload) const;
  // Gives the attribute a number; kNone for one that is not compared.
  std::uint32_t add_attribute(const OnnxAttribute& attribute);
  // The kind of a node with these attributes, by number; with any kNone they are its own.
  std::uint32_t kind_of(const OnnxNode& node, std::span<const std::uint32_t> attributes);

 private:
  // Longer ones, and those beyond so many, are no more compared: they seldom repeat.
  static constexpr std::size_t kMostBytes = 128;
  static constexpr std::size_t kMostAttributes = 1U << 16U;

  std::vector<std::string_view> attributes_;  // payloads
  NameTable attribute_table_;
  std::vector<OnnxNodeKind> kinds_;
  std::vector<std::string> keys_;  // by kind: its parts in one string
  NameTable table_;                // over keys_
  std::string key_;                // reused for its memory
};

// 24 bytes a node, and 4 for its name and each value that it lists. A node with bodies is stored decoded, so that
// the address of a body identifies it. What is asked of few nodes, or of each at most once, such as its
// bytes for a writer, is decoded anew.
class OnnxNodes {
 public:
  OnnxNodes() : names_(std::make_shared<OnnxNames>()), kinds_(std::make_shared<OnnxNodeKinds>()) {}
  // No nodes, for some of these and others beside them: the same names and kinds have the same numbers.
  OnnxNodes emptied() const { return OnnxNodes(names_, kinds_); }

  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

  // The names that nodes and links have in common; it only grows.
  const std::shared_ptr<OnnxNames>& names() const { return names_; }
  const OnnxNodeKinds& kinds() const { return *kinds_; }

  std::uint32_t kind_number(std::size_t i) const { return places_[i].kind; }
  const OnnxNodeKind& kind(std::size_t i) const { return (*kinds_)[places_[i].kind]; }
  // The node's name as in the file, and its number.
  std::string_view name(std::size_t i) const { return names_->text(name_number(i)); }
  std::uint32_t name_number(std::size_t i) const { return numbers_[places_[i].first]; }
  // Numbers of the names of its values as listed; OnnxNames::kEmpty where one is left out.
  std::span<const std::uint32_t> inputs(std::size_t i) const {
    return std::span(numbers_).subspan(places_[i].first + 1, kind(i).inputs);
  }
  std::span<const std::uint32_t> outputs(std::size_t i) const {
    const OnnxNodeKind& its = kind(i);
    return std::span(numbers_).subspan(places_[i].first + 1 + its.inputs, its.outputs);
  }
  bool has_bodies(std::size_t i) const { return places_[i].has_bodies; }
  bool has_metadata(std::size_t i) const { return places_[i].has_metadata; }
  OnnxRecord record(std::size_t i) const;

  // Node i: decoded into `room`, whose memory is reused, or a stored one. Valid until `room` is
  // used for another node.
  const OnnxNode& read(std::size_t i, OnnxNode& room) const;
  // The same, but with attributes and metadata only if the node has bodies.
  const OnnxNode& read_names(std::size_t i, OnnxNode& room) const;

  // Adds a checked node. Leaves `node` for reuse.
  void add(OnnxNode& node);

  // For the index, which walks each node once: an attribute that a node before had is not decoded again.
  // Its number, or kNone for one that must be.
  std::uint32_t find_attribute(std::string_view payload) const {
    return kinds_->find_attribute(payload);
  }
  std::uint32_t add_attribute(const OnnxAttribute& attribute) {
    return kinds_->add_attribute(attribute);
  }
  // Adds a checked node whose attributes have these numbers; node.attributes has those that have none
  // (kNone), unless there are bodies: then all. Its names are looked up with those of other nodes, by
  // the time of settle(): each lookup is a cache miss, and the processor waits for many at once.
  void add(OnnxNode& node, std::span<const std::uint32_t> attributes);
  void settle();

  // When the graph has been made: frees the names and their numbers, so that nothing is left but what
  // read() and read_names() need.
  void release_names();

  // Adds node i to other nodes, with its label; it cannot be read from these afterwards. The others must
  // be emptied() from these.
  void move_to(std::size_t i, OnnxNodes& to);

  // What a node without a name is called by: its place in the file, whatever was folded before it, so
  // that names in lists hold for every command. Nodes that were put in its place have it before a
  // number of their own: "12_0".
  std::string label(std::size_t i) const;
  // Sets what the node that was added last is called by.
  void set_label(std::string label);

 private:
  struct Place {
    const char* payload;
    std::uint32_t size;
    std::uint32_t kind;
    std::uint32_t first;  // into numbers_: its name, then its inputs, then its outputs
    std::uint16_t head;   // bytes of the field before its payload
    bool has_bodies;
    bool has_metadata;
  };
  OnnxNodes(std::shared_ptr<OnnxNames> names, std::shared_ptr<OnnxNodeKinds> kinds)
      : names_(std::move(names)), kinds_(std::move(kinds)) {}
  void add_name(std::string_view name);
  template <class TakeField>
  const OnnxNode& read_fields(std::size_t i, OnnxNode& room, const TakeField& take) const;

  std::shared_ptr<OnnxNames> names_;
  std::shared_ptr<OnnxNodeKinds> kinds_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> numbers_;
  // Names whose numbers are still to be looked up, in the order of numbers_.
  struct Waiting {
    std::string_view name;
    std::uint32_t hash;
  };
  std::vector<Waiting> waiting_;
  std::unordered_map<std::size_t, std::unique_ptr<OnnxNode>> kept_;
  std::vector<std::string> labels_;  // "" and beyond the end: the node's place
};

}  // namespace cleave
