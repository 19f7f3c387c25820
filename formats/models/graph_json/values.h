// Declarations of values in native graph JSON: graph inputs, parameters, outputs of nodes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph_builder.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/fields.h"
#include "formats/base/text/limits.h"
#include "formats/models/bind/shape_binder.h"

namespace cleave {

enum class ValueRole { input, parameter, output, element };

struct DeclaredValue {
  ValueDecl decl;  // an empty name: a fault was reported
  SourceSpan where;
  std::uint64_t name_offset = 0;
  bool is_attribute_read = false;  // "get_attr": true
  std::string_view target = {};
  std::string_view alias_of = {};
  std::uint64_t alias_offset = 0;
};

class GraphJsonValues {
 public:
  GraphJsonValues(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                  const ShapeBindings& bindings, const ModelLimits& limits);

  // Reads the declaration at the cursor, whose value may have any type. The subject gets its name
  // when the name is read. Names without escapes are views into the source.
  DeclaredValue read(JsonSubject& subject, ValueRole role);
  // The characters of a string, valid as long as the graph lives.
  std::string_view kept(const JsonString& string) {
    return string.has_escapes ? builder_.keep(unescaped(string)) : string.text;
  }
  // The same for a name; refuses one longer than the limit.
  std::string_view kept_name(const JsonString& string) {
    if (string.text.size() > limits_.name_bytes) refuse_name(string);
    return kept(string);
  }
  // Call after reading: bindings that name no input or symbolic dim are faults.
  void check_bindings() { binder_.report_faults(faults_); }

 private:
  struct Fields;
  void refuse_name(const JsonString& name);
  DeclaredValue read_fields(JsonSubject& subject, ValueRole role, std::size_t depth);
  void read_field(std::size_t field, Fields& read);
  std::string_view read_name(JsonFields& fields);
  void read_type(Fields& read);
  void read_dtype(Fields& read);
  void read_value_shape(Fields& read);
  bool read_shape(JsonFields& fields);
  void read_dim(JsonFields& fields);
  Dim symbol(std::string_view name);
  bool read_elements(Fields& read);
  void check_count(JsonFields& fields);
  void bind_input_shape(DeclaredValue& value);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  ShapeBinder binder_;
  const ModelLimits& limits_;
  // Each role has its own fields, and so its own order.
  JsonFieldOrder& order_of(ValueRole role) { return orders_[static_cast<std::size_t>(role)]; }
  std::array<JsonFieldOrder, 4> orders_;
  // Shapes by their text: graphs repeat a few shapes, and finding a known one is cheaper than
  // reading it again.
  std::unordered_map<std::string_view, ShapeId> known_shapes_;
  struct KnownShape {
    std::string_view text = {};
    ShapeId shape = kNone<ShapeId>;
  };
  KnownShape last_shape_;  // an entry of known_shapes_, or empty
  struct KnownDType {
    std::string_view name = {};
    DType dtype = DType::unknown;
  };
  KnownDType last_dtype_;
  std::vector<Dim> dims_;        // of the shape read last
  std::vector<Dim> value_dims_;  // of the current value, without its elements
};

}  // namespace cleave
