// Attributes of nodes in native graph JSON: numbers, strings, booleans and lists of them, which
// rules can ask about. All others are opaque and stay in the source.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph_builder.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/fields.h"
#include "formats/models/graph_json/values.h"

namespace cleave {

class GraphJsonAttributes {
 public:
  GraphJsonAttributes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                      GraphJsonValues& values);

  void clear();
  std::size_t count() const { return attributes_.size(); }
  // Reads the field "attributes" at the cursor, whose value may have any type.
  void read(JsonFields& fields);
  // Passes the attributes read since clear() to the node that the builder started last.
  void hand_over();

 private:
  struct Pending {
    NameId name;
    AttributeType type;
    std::size_t begin, count;  // in integers_, reals_ or strings_
  };
  struct Sizes {
    std::size_t integers, reals, strings;
  };

  void read_value(NameId name);
  void read_number(NameId name);
  void read_list(NameId name);
  bool read_item();
  void settle_list(NameId name, Sizes before, std::size_t count);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  GraphJsonValues& values_;
  std::vector<Pending> attributes_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::string_view> strings_;
  bool is_whole_ = true;  // all numbers of the current list are whole
  JsonKeys keys_;
};

}  // namespace cleave
