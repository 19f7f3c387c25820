// Nodes of native graph JSON. The fields of a node may come in any order, so each node is read
// completely before it is passed to the builder.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/fields.h"
#include "formats/models/graph_json/attributes.h"
#include "formats/models/graph_json/values.h"

namespace cleave {

class GraphJsonNodes {
 public:
  GraphJsonNodes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                 GraphJsonValues& values, const ModelLimits& limits);

  // Reads the node at the cursor, number `position` of the file, into the builder. A node without a
  // name is a fault and is left out.
  void read(std::size_t position);
  // The values that nodes have read and made so far, counted each time.
  std::uint64_t value_count() const { return value_count_; }

 private:
  struct Reference {
    std::string_view value;
    OperandSlot slot;
  };

  void clear();
  void read_field(std::size_t field, JsonFields& fields);
  std::string_view read_text(JsonFields& fields);
  std::string_view read_required_text(JsonFields& fields);
  void read_kind(JsonFields& fields);
  void read_inputs(JsonFields& fields);
  void read_kwargs(JsonFields& fields);
  void read_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot);
  void read_list_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot);
  void read_module_parameters(JsonFields& fields);
  void read_outputs(JsonFields& fields);
  void read_cost(JsonFields& fields);
  void hand_over();

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  GraphJsonValues& values_;
  const ModelLimits& limits_;
  std::uint64_t value_count_ = 0;

  // The current node:
  NodeDecl decl_;
  JsonSubject subject_;
  JsonFieldOrder order_;
  std::size_t list_depth_ = 0;
  std::vector<Reference> inputs_, kwargs_;
  std::vector<std::string_view> module_parameters_;
  std::vector<std::pair<ValueDecl, std::uint32_t>> outputs_;  // with their positions
  GraphJsonAttributes attributes_;
  JsonKeys keys_;  // of the kwargs
  MeasuredCost cost_;
};

}  // namespace cleave
