// Reads native graph JSON in one pass: the fields of the graph may come in any order, and values
// may be read before they are declared, so names are resolved at the end, by the builder.
#include "formats/models/graph_json.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/json.h"
#include "formats/base/process.h"

namespace cleave {

namespace {

// ---- values ----

// Declarations of values in native graph JSON: graph inputs, parameters, outputs of nodes.
enum class ValueRole { input, parameter, output, element };

enum ValueField : std::size_t {
  kValueName,
  kValueType,
  kValueDtype,
  kValueShape,
  kValueElements,
  kValuePyType,
  kValueTarget,
  kValueDefault,
  kValueGetAttr,
  kValueBuffer,
  kValuePersistent,
  kValueAliasOf,
  kValueLocation,
  kValueOffset,
  kValueBytes,
};
constexpr std::array<std::string_view, 15> kValueFields = {
    "name",     "type",   "dtype",      "shape",    "elements", "py_type", "target", "default",
    "get_attr", "buffer", "persistent", "alias_of", "location", "offset",  "bytes"};

// The fields that a value in this role may have.
std::span<const std::string_view> fields_of(ValueRole role) {
  switch (role) {
    case ValueRole::parameter:
      return kValueFields;
    case ValueRole::input:
      return std::span(kValueFields).first(kValueGetAttr);
    case ValueRole::output:
    case ValueRole::element:
      break;
  }
  return std::span(kValueFields).first(kValueTarget);
}

// Each level is a call of this reader by itself. Lists within lists of torch are two or three deep.
constexpr std::size_t kMostNested = 100;

std::vector<std::string> suggestion(std::string_view nearest) {
  if (nearest.empty()) return {};
  return {"did you mean " + escaped_in_quotes(nearest) + "?"};
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (int i = 1; i < kDTypeCount; ++i) names.push_back(dtype_name(static_cast<DType>(i)));
  return names;
}

std::vector<std::string_view> value_type_names() {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ValueType::unknown); ++i) {
    names.push_back(value_type_name(static_cast<ValueType>(i)));
  }
  return names;
}

struct DeclaredValue {
  ValueDecl decl;  // an empty name: a fault was reported
  SourceSpan where;
  bool is_attribute_read = false;  // "get_attr": true
  std::string_view target = {};
  std::string_view alias_of = {};
  std::uint64_t alias_offset = 0;
};

class GraphJsonValues {
 public:
  GraphJsonValues(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                  const ShapeBindings& bindings, const ModelLimits& limits)
      : cursor_(cursor), faults_(faults), builder_(builder), binder_(bindings), limits_(limits) {}

  // Reads the declaration at the cursor, whose value may have any type. The subject gets its name
  // when the name is read. Names without escapes are views into the source.
  DeclaredValue read(JsonSubject& subject, ValueRole role) {
    const std::uint64_t begin = cursor_.offset();
    if (cursor_.type() != JsonType::object) {
      if (cursor_.type() == JsonType::none) return {};
      faults_.add(begin, subject.text() + " must be an object, not " +
                             std::string(json_type_name(cursor_.type())));
      cursor_.skip();
      return {};
    }
    value_dims_.clear();
    DeclaredValue value = read_fields(subject, role, 0);
    value.where = {begin, static_cast<std::uint32_t>(cursor_.end_of_last() - begin)};
    if (role == ValueRole::input) bind_input_shape(value);
    return value;
  }

  // The characters of a string, valid as long as the graph lives.
  std::string_view kept(const JsonString& string) {
    return string.has_escapes ? builder_.keep(unescaped(string)) : string.text;
  }
  // The same for a name; refuses one longer than the limit.
  std::string_view kept_name(const JsonString& string) {
    if (string.text.size() > limits_.name_bytes) refuse_name(string);
    return kept(string);
  }
  // A name at the cursor; "" and a fault where it is empty, or no text.
  std::string_view read_name(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::string)) return {};
    const std::string_view name = kept_name(cursor_.take_string());
    if (name.empty() && !cursor_.fault()) faults_.add(offset, fields.field_text() + " is empty");
    return name;
  }

  // Call after reading: bindings that name no input or symbolic dim are faults.
  void check_bindings() { binder_.report_faults(faults_); }

 private:
  // The declaration being read.
  struct Fields {
    JsonFields fields;
    JsonSubject& subject;
    ValueRole role;
    std::size_t depth;
    DeclaredValue value = {};
  };

  void refuse_name(const JsonString& name) {
    faults_.add(name.offset, "a name has " + beyond_limit(limits_, &ModelLimits::name_bytes));
  }

  DeclaredValue read_fields(JsonSubject& subject, ValueRole role, std::size_t depth) {
    const std::uint64_t begin = cursor_.offset();
    Fields read{
        {cursor_, faults_, fields_of(role), subject, &order_of(role)}, subject, role, depth};
    while (const auto field = read.fields.next()) read_field(*field, read);
    ValueDecl& decl = read.value.decl;
    if (!read.fields.has(kValueType) && read.fields.has(kValueDtype)) decl.type = ValueType::tensor;
    if (decl.type == ValueType::tensor) {
      decl.holds_tensor = true;
    } else {
      decl.shape = kNone<ShapeId>;
    }
    const bool needs_name = role != ValueRole::element && !cursor_.fault();
    if (needs_name && !read.fields.has(kValueName))
      faults_.add(begin, subject.text() + " has no \"name\"");
    return read.value;
  }

  void read_field(std::size_t field, Fields& read) {
    JsonFields& fields = read.fields;
    DeclaredValue& value = read.value;
    switch (field) {
      case kValueName:
        value.decl.name = read_name(fields);
        read.subject.name = value.decl.name;
        return builder_.expect_value(value.decl.name);
      case kValueType:
        return read_type(read);
      case kValueDtype:
        return read_dtype(read);
      case kValueShape:
        return read_value_shape(read);
      case kValueElements:
        value.decl.holds_tensor = read_elements(read);
        return;
      case kValueTarget:
        if (fields.is(JsonType::string)) value.target = kept_name(cursor_.take_string());
        return;
      case kValueAliasOf:
        value.alias_offset = cursor_.offset();
        if (fields.is(JsonType::string)) value.alias_of = kept_name(cursor_.take_string());
        return;
      case kValueGetAttr:
        if (fields.is(JsonType::boolean)) value.is_attribute_read = cursor_.take_boolean();
        return;
      case kValueBuffer:
      case kValuePersistent:
        if (fields.is(JsonType::boolean)) cursor_.take_boolean();
        return;
      case kValuePyType:
      case kValueLocation:
        if (fields.is(JsonType::string)) cursor_.take_string();
        return;
      case kValueOffset:
      case kValueBytes:
        return check_count(fields);
      default:
        return cursor_.skip();  // the default of an input may have any type
    }
  }

  void read_type(Fields& read) {
    const std::uint64_t offset = cursor_.offset();
    if (!read.fields.is(JsonType::string)) return;
    const std::string name = unescaped(cursor_.take_string());
    const auto type = parse_value_type(name);
    if (type) {
      read.value.decl.type = *type;
    } else if (!cursor_.fault()) {
      faults_.add(
          offset,
          read.fields.field_text() + " is " + escaped_in_quotes(name) + ", which is not a type",
          suggestion(nearest_name(name, value_type_names())));
    }
  }

  void read_dtype(Fields& read) {
    const std::uint64_t offset = cursor_.offset();
    if (!read.fields.is(JsonType::string)) return;
    const JsonString text = cursor_.take_string();
    if (!text.has_escapes && text.text == last_dtype_.name) {
      read.value.decl.dtype = last_dtype_.dtype;
      return;
    }
    const std::string name = unescaped(text);
    const auto dtype = parse_dtype(name);
    if (dtype) {
      read.value.decl.dtype = *dtype;
      last_dtype_ = {dtype_name(*dtype), *dtype};
    } else if (!cursor_.fault()) {
      faults_.add(offset,
                  read.fields.field_text() + " is " + escaped_in_quotes(name) +
                      ", which is not an element type",
                  suggestion(nearest_name(name, dtype_names())));
    }
  }

  void read_value_shape(Fields& read) {
    // Models have a few hundred shapes, which their values repeat. Where each value has a shape of
    // its own, the table finds nothing, and should not grow with the file.
    constexpr std::size_t kMostKnown = 4096;
    const bool may_be_known = read.role != ValueRole::element && read.role != ValueRole::input;
    const std::string_view text = may_be_known ? cursor_.short_number_list() : std::string_view();
    if (text.empty() || text != last_shape_.text) {
      const auto known = known_shapes_.find(text);
      last_shape_ = known == known_shapes_.end() ? KnownShape{} : KnownShape{text, known->second};
    }
    if (!last_shape_.text.empty()) {
      read.value.decl.shape = last_shape_.shape;
      return cursor_.pass_by(text);
    }
    if (!read_shape(read.fields) || read.role == ValueRole::element) return;
    value_dims_ = dims_;
    read.value.decl.shape = builder_.intern_shape(value_dims_);
    const bool is_good = faults_.empty() && !cursor_.fault();
    if (text.empty() || !is_good || known_shapes_.size() >= kMostKnown) return;
    known_shapes_.emplace(text, read.value.decl.shape);
  }

  // Leaves the dims in dims_. False when the value is not a list.
  bool read_shape(JsonFields& fields) {
    dims_.clear();
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::list)) return false;
    cursor_.enter();
    while (cursor_.next_item()) read_dim(fields);
    if (dims_.size() > limits_.dims) {
      faults_.add(offset,
                  fields.field_text() + " has " + beyond_limit(limits_, &ModelLimits::dims));
    }
    const auto is_fixed = [](Dim dim) { return dim.is_fixed(); };
    if (std::ranges::all_of(dims_, is_fixed) && !element_count(dims_)) {
      faults_.add(offset, fields.field_text() + " has more elements than 2^63-1");
    }
    return true;
  }

  void read_dim(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    const auto refuse = [&](const std::string& found) {
      faults_.add(offset, "dim " + std::to_string(dims_.size()) + " in " + fields.field_text() +
                              " is " + found + "; it must be a whole number from 0 to 2^63-1, " +
                              "a name in quotes, or null");
      dims_.emplace_back();
    };
    switch (cursor_.type()) {
      case JsonType::number: {
        const JsonNumber number = cursor_.take_number();
        const auto size = number.is_whole() ? number.integer() : std::nullopt;
        if (!size || *size < 0) return refuse(std::string(number.text.substr(0, 40)));
        dims_.push_back(Dim::fixed(*size));
        return;
      }
      case JsonType::string: {
        const std::string name = unescaped(cursor_.take_string());
        if (name.empty() && !cursor_.fault()) return refuse("an empty name");
        dims_.push_back(symbol(name));
        return;
      }
      case JsonType::null:
        cursor_.take_null();
        dims_.emplace_back();
        return;
      case JsonType::none:
        return;
      default:
        refuse(std::string(json_type_name(cursor_.type())));
        cursor_.skip();
    }
  }

  Dim symbol(std::string_view name) {
    const auto bound = binder_.size_of(name);
    return bound ? Dim::fixed(*bound) : Dim::symbol(builder_.intern(name));
  }

  // True when one of the elements is a tensor or contains one.
  bool read_elements(Fields& read) {
    if (!read.fields.is(JsonType::list)) return false;
    if (read.depth == kMostNested) {
      faults_.add(cursor_.offset(), read.subject.text() + " is nested more than " +
                                        std::to_string(kMostNested) + " deep");
      cursor_.skip();
      return false;
    }
    bool holds_tensor = false;
    JsonSubject element{"element", "elements", 0, {}, &read.subject};
    cursor_.enter();
    for (; cursor_.next_item(); ++element.position) {
      element.name = {};
      if (cursor_.type() == JsonType::object) {
        holds_tensor |= read_fields(element, ValueRole::element, read.depth + 1).decl.holds_tensor;
      } else {
        read.fields.refuse_item("an object");
      }
    }
    return holds_tensor;
  }

  void check_count(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return;
    const JsonNumber number = cursor_.take_number();
    const auto count = number.is_whole() ? number.integer() : std::nullopt;
    if (count && *count >= 0) return;
    faults_.add(offset, fields.field_text() + " must be a whole number from 0 to 2^63-1, not " +
                            std::string(number.text.substr(0, 40)));
  }

  // A shape from --input-shape replaces that of the input.
  void bind_input_shape(DeclaredValue& value) {
    const std::vector<std::int64_t>* const shape = binder_.shape_of(value.decl.name);
    if (shape == nullptr) return;
    const std::string intro = "--input-shape gives " + escaped_in_quotes(value.decl.name) + " ";
    if (value.decl.type != ValueType::tensor) {
      return faults_.add(value.where.offset, intro + "a shape, but it is not a tensor");
    }
    const bool has_rank = value.decl.shape != kNone<ShapeId>;
    if (has_rank && value_dims_.size() != shape->size()) {
      return faults_.add(value.where.offset, intro + std::to_string(shape->size()) +
                                                 " dims, but it has " +
                                                 std::to_string(value_dims_.size()));
    }
    value_dims_.resize(shape->size());
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] >= 0) {
        value_dims_[i] = Dim::fixed((*shape)[i]);
      } else if (value_dims_[i].is_fixed()) {
        value_dims_[i] = Dim();
      }
    }
    value.decl.shape = builder_.intern_shape(value_dims_);
  }

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

// ---- nodes ----
//
// Nodes of native graph JSON. The fields of a node may come in any order, so each node is read
// completely before it is passed to the builder.

// Attributes of nodes in native graph JSON: numbers, strings, booleans and lists of them, which
// rules can ask about. All others are opaque and stay in the source.
class GraphJsonAttributes {
 public:
  GraphJsonAttributes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                      GraphJsonValues& values)
      : cursor_(cursor), faults_(faults), builder_(builder), values_(values) {}

  void clear() {
    attributes_.clear();
    integers_.clear();
    reals_.clear();
    strings_.clear();
  }

  std::size_t count() const { return attributes_.size(); }

  // Reads the field "attributes" at the cursor, whose value may have any type.
  void read(JsonFields& fields) {
    if (!fields.is(JsonType::object)) return;
    keys_.clear();
    cursor_.enter();
    while (const auto key = cursor_.next_key()) {
      const std::string_view name = values_.kept_name(*key);
      keys_.add(name, key->offset);
      read_value(builder_.intern(name));
    }
    keys_.report_repeated(faults_, fields);
  }

  // Passes the attributes read since clear() to the node that the builder started last.
  void hand_over() {
    const auto part_of = [](const auto& pool, const Pending& attribute) {
      return std::span(pool).subspan(attribute.begin, attribute.count);
    };
    for (const Pending& attribute : attributes_) {
      switch (attribute.type) {
        case AttributeType::opaque:
          builder_.add_opaque_attribute(attribute.name);
          break;
        case AttributeType::real:
        case AttributeType::reals:
          builder_.add_attribute(attribute.name, part_of(reals_, attribute), attribute.type);
          break;
        case AttributeType::string:
        case AttributeType::strings:
          builder_.add_attribute(attribute.name, part_of(strings_, attribute), attribute.type);
          break;
        default:
          builder_.add_attribute(attribute.name, part_of(integers_, attribute), attribute.type);
      }
    }
  }

 private:
  struct Pending {
    NameId name;
    AttributeType type;
    std::size_t begin, count;  // in integers_, reals_ or strings_
  };
  struct Sizes {
    std::size_t integers, reals, strings;
  };

  void read_value(NameId name) {
    switch (cursor_.type()) {
      case JsonType::number:
        return read_number(name);
      case JsonType::string:
        attributes_.push_back({name, AttributeType::string, strings_.size(), 1});
        strings_.push_back(values_.kept(cursor_.take_string()));
        return;
      case JsonType::boolean:
        attributes_.push_back({name, AttributeType::boolean, integers_.size(), 1});
        integers_.push_back(cursor_.take_boolean() ? 1 : 0);
        return;
      case JsonType::list:
        return read_list(name);
      default:
        attributes_.push_back({name, AttributeType::opaque, 0, 0});
        cursor_.skip();
    }
  }

  void read_number(NameId name) {
    const JsonNumber number = cursor_.take_number();
    if (const auto integer = number.integer()) {
      attributes_.push_back({name, AttributeType::integer, integers_.size(), 1});
      integers_.push_back(*integer);
    } else {
      attributes_.push_back({name, AttributeType::real, reals_.size(), 1});
      reals_.push_back(number.real());
    }
  }

  void read_list(NameId name) {
    const Sizes before{integers_.size(), reals_.size(), strings_.size()};
    std::size_t count = 0;
    is_whole_ = true;
    cursor_.enter();
    while (cursor_.next_item()) {
      ++count;
      if (!read_item()) cursor_.skip();
    }
    settle_list(name, before, count);
  }

  // Adds numbers and booleans to both pools until it is known whether all are whole. Returns false,
  // without taking the item, when it is neither of these nor a string.
  bool read_item() {
    switch (cursor_.type()) {
      case JsonType::number: {
        const JsonNumber number = cursor_.take_number();
        const auto integer = number.integer();
        is_whole_ = is_whole_ && integer;
        integers_.push_back(integer.value_or(0));
        reals_.push_back(integer ? static_cast<double>(*integer) : number.real());
        return true;
      }
      case JsonType::boolean: {
        const bool is_true = cursor_.take_boolean();
        integers_.push_back(is_true ? 1 : 0);
        reals_.push_back(is_true ? 1 : 0);
        return true;
      }
      case JsonType::string:
        strings_.push_back(values_.kept(cursor_.take_string()));
        return true;
      default:
        return false;
    }
  }

  // Decides the type of a list from all its items, and removes them from the other pools.
  void settle_list(NameId name, Sizes before, std::size_t count) {
    const bool all_numbers = integers_.size() - before.integers == count;
    const bool all_strings = !all_numbers && strings_.size() - before.strings == count;
    Pending attribute{name, AttributeType::opaque, 0, 0};
    if (all_numbers && is_whole_)
      attribute = {name, AttributeType::integers, before.integers, count};
    if (all_numbers && !is_whole_) attribute = {name, AttributeType::reals, before.reals, count};
    if (all_strings) attribute = {name, AttributeType::strings, before.strings, count};
    if (attribute.type != AttributeType::integers) integers_.resize(before.integers);
    if (attribute.type != AttributeType::reals) reals_.resize(before.reals);
    if (attribute.type != AttributeType::strings) strings_.resize(before.strings);
    attributes_.push_back(attribute);
  }

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

enum NodeField : std::size_t {
  kNodeName,
  kNodeOp,
  kNodeDomain,
  kNodeKind,
  kNodeInputs,
  kNodeKwargs,
  kNodeTarget,
  kNodeModuleParameters,
  kNodeOutputs,
  kNodeAttributes,
  kNodeScope,
  kNodeCost,
};
constexpr std::array<std::string_view, 12> kNodeFields = {
    "name",    "op",         "domain", "kind", "inputs", "kwargs", "target", "module_parameters",
    "outputs", "attributes", "scope",  "cost"};

constexpr std::array<std::string_view, 3> kCostFields = {"flops", "time_us", "bytes"};

constexpr std::string_view kReference = "a value's name, null or {\"list\": [...]}";

class GraphJsonNodes {
 public:
  GraphJsonNodes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                 GraphJsonValues& values, const ModelLimits& limits)
      : cursor_(cursor),
        faults_(faults),
        builder_(builder),
        values_(values),
        limits_(limits),
        attributes_(cursor, faults, builder, values) {}

  // Reads the node at the cursor, number `position` of the file, into the builder. A node without a
  // name is a fault and is left out.
  void read(std::size_t position) {
    clear();
    subject_ = {"node", "nodes", position};
    const std::uint64_t begin = cursor_.offset();
    if (cursor_.type() != JsonType::object) {
      if (cursor_.type() == JsonType::none) return;
      faults_.add(begin, subject_.text() + " must be an object, not " +
                             std::string(json_type_name(cursor_.type())));
      return cursor_.skip();
    }
    JsonFields fields(cursor_, faults_, kNodeFields, subject_, &order_);
    while (const auto field = fields.next()) read_field(*field, fields);
    if (cursor_.fault()) return;
    for (const std::size_t needed : {kNodeName, kNodeOp}) {
      if (fields.has(needed)) continue;
      faults_.add(begin, subject_.text() + " has no " + escaped_in_quotes(kNodeFields[needed]));
    }
    decl_.source = {begin, static_cast<std::uint32_t>(cursor_.end_of_last() - begin)};
    value_count_ += inputs_.size() + kwargs_.size() + outputs_.size();
    if (attributes_.count() > limits_.attributes) {
      faults_.add(begin,
                  subject_.text() + " has " + beyond_limit(limits_, &ModelLimits::attributes));
    }
    if (!decl_.name.empty()) hand_over();
  }

  // The values that nodes have read and made so far, counted each time.
  std::uint64_t value_count() const { return value_count_; }

 private:
  struct Reference {
    std::string_view value;
    OperandSlot slot;
  };

  void clear() {
    decl_ = {};
    subject_ = {};
    cost_ = {};
    inputs_.clear();
    kwargs_.clear();
    module_parameters_.clear();
    outputs_.clear();
    attributes_.clear();
  }

  void read_field(std::size_t field, JsonFields& fields) {
    switch (field) {
      case kNodeName:
        subject_.name = decl_.name = values_.read_name(fields);
        return builder_.expect_node(decl_.name);
      case kNodeOp:
        decl_.op = values_.read_name(fields);
        return;
      case kNodeDomain:
        decl_.domain = read_text(fields);
        return;
      case kNodeScope:
        decl_.scope = read_text(fields);
        return;
      case kNodeTarget:
        decl_.target = read_text(fields);
        return;
      case kNodeKind:
        return read_kind(fields);
      case kNodeInputs:
        return read_inputs(fields);
      case kNodeKwargs:
        return read_kwargs(fields);
      case kNodeModuleParameters:
        return read_module_parameters(fields);
      case kNodeOutputs:
        return read_outputs(fields);
      case kNodeAttributes:
        return attributes_.read(fields);
      default:
        return read_cost(fields);
    }
  }

  std::string_view read_text(JsonFields& fields) {
    return fields.is(JsonType::string) ? values_.kept_name(cursor_.take_string())
                                       : std::string_view();
  }

  void read_kind(JsonFields& fields) {
    constexpr std::array<std::pair<std::string_view, NodeKind>, 3> kKinds = {
        {{"call_function", NodeKind::call_function},
         {"call_method", NodeKind::call_method},
         {"call_module", NodeKind::call_module}}};
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::string)) return;
    const std::string name = unescaped(cursor_.take_string());
    for (const auto& [known, kind] : kKinds) {
      if (known != name) continue;
      decl_.kind = kind;
      return;
    }
    if (cursor_.fault()) return;
    faults_.add(offset, fields.field_text() + " is " + escaped_in_quotes(name) +
                            "; it must be call_function, call_method or call_module");
  }

  void read_inputs(JsonFields& fields) {
    if (!fields.is(JsonType::list)) return;
    cursor_.enter();
    for (std::uint32_t position = 0; cursor_.next_item(); ++position) {
      if (position > OperandSlot::kMaxPosition) {
        faults_.add(cursor_.offset(), fields.field_text() + " has too many items");
        return cursor_.skip();
      }
      read_reference(fields, inputs_, OperandSlot::positional(position));
    }
  }

  void read_kwargs(JsonFields& fields) {
    if (!fields.is(JsonType::object)) return;
    keys_.clear();
    cursor_.enter();
    while (const auto key = cursor_.next_key()) {
      const std::string_view name = values_.kept_name(*key);
      keys_.add(name, key->offset);
      read_reference(fields, kwargs_, OperandSlot::keyword(builder_.intern(name)));
    }
    keys_.report_repeated(faults_, fields);
  }

  // Reads a value's name, null, a literal, or a list of values. The recursion ends at kMostNested.
  void read_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot) {
    switch (cursor_.type()) {
      case JsonType::string:
        to.push_back({values_.kept_name(cursor_.take_string()), slot});
        return builder_.expect_value(to.back().value);
      case JsonType::null:
        return cursor_.take_null();
      case JsonType::object:
        return read_list_reference(fields, to, slot.inside_list());
      default:
        return fields.refuse_item(kReference);
    }
  }

  void read_list_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot) {
    const std::uint64_t begin = cursor_.offset();
    if (list_depth_ == kMostNested) {
      faults_.add(begin, fields.field_text() + " is nested more than " +
                             std::to_string(kMostNested) + " deep");
      return cursor_.skip();
    }
    ++list_depth_;
    bool has_list = false;
    cursor_.enter();
    while (const auto key = cursor_.next_key()) {
      if (key->text != "list") {
        faults_.warn_of_unknown(*key, subject_, "list");
        cursor_.skip();
      } else if (has_list) {
        faults_.add(key->offset, "\"list\" is given twice in an item of " + fields.field_text());
        cursor_.skip();
      } else if (cursor_.type() != JsonType::list) {
        has_list = true;
        fields.refuse_item(kReference);
      } else {
        has_list = true;
        cursor_.enter();
        while (cursor_.next_item()) read_reference(fields, to, slot);
      }
    }
    if (!has_list && !cursor_.fault()) {
      faults_.add(begin,
                  "an item of " + fields.field_text() + " must be " + std::string(kReference));
    }
    --list_depth_;
  }

  void read_module_parameters(JsonFields& fields) {
    if (!fields.is(JsonType::list)) return;
    cursor_.enter();
    while (cursor_.next_item()) {
      if (cursor_.type() == JsonType::string) {
        module_parameters_.push_back(values_.kept_name(cursor_.take_string()));
      } else {
        fields.refuse_item("a parameter's name");
      }
    }
  }

  // null marks an optional output that the node omits.
  void read_outputs(JsonFields& fields) {
    if (!fields.is(JsonType::list)) return;
    cursor_.enter();
    for (std::uint32_t position = 0; cursor_.next_item(); ++position) {
      if (cursor_.type() == JsonType::null) {
        cursor_.take_null();
        continue;
      }
      JsonSubject output{"output", "outputs", position, {}, &subject_};
      const DeclaredValue value = values_.read(output, ValueRole::output);
      if (!value.decl.name.empty()) outputs_.emplace_back(value.decl, position);
    }
  }

  void read_cost(JsonFields& fields) {
    if (!fields.is(JsonType::object)) return;
    const JsonSubject cost{"cost", {}, 0, {}, &subject_};
    const std::array<double*, 3> to = {&cost_.flops, &cost_.time_us, &cost_.bytes};
    JsonFields costs(cursor_, faults_, kCostFields, cost);
    while (const auto field = costs.next()) {
      const std::uint64_t offset = cursor_.offset();
      if (!costs.is(JsonType::number)) continue;
      const double number = cursor_.take_number().real();
      if (number >= 0) {
        *to[*field] = number;
      } else {
        faults_.add(offset, costs.field_text() + " is below 0");
      }
    }
  }

  void hand_over() {
    builder_.add_node(decl_);
    for (const auto* references : {&inputs_, &kwargs_}) {
      for (const Reference& reference : *references) {
        builder_.add_operand(builder_.value_named(reference.value), reference.slot);
      }
    }
    for (const auto& [decl, slot] : outputs_) builder_.add_output(decl, slot);
    for (const std::string_view parameter : module_parameters_) {
      builder_.add_module_parameter(builder_.value_named(parameter));
    }
    attributes_.hand_over();
    const bool is_measured = cost_.flops >= 0 || cost_.time_us >= 0 || cost_.bytes >= 0;
    if (is_measured) builder_.set_measured_cost(cost_);
  }

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

// ---- the graph ----

enum GraphField : std::size_t {
  kFormat,
  kVersion,
  kName,
  kInputs,
  kOutputs,
  kOutputTree,
  kParameters,
  kNodes,
};
constexpr std::array<std::string_view, 8> kFields = {
    "format", "version", "name", "inputs", "outputs", "output_tree", "parameters", "nodes"};

constexpr std::string_view kFormatName = "cleave.graph";
constexpr std::int64_t kNewestVersion = 1;
constexpr std::size_t kLargestJson = 0xFFFFFFFF - 1024;  // simdjson uses 32-bit offsets
constexpr std::size_t kNodesBetweenTold = 4096;
constexpr std::size_t kBytesOfNode = 240;  // while it is read and split; approximate
// reserves memory for at most this many times the nodes read so far
constexpr std::size_t kMostTimes = 16;

class GraphJsonReader {
 public:
  GraphJsonReader(const SourceFile& source, const ShapeBindings& bindings,
                  const ModelLimits& limits, const Progress& progress)
      : source_(source),
        limits_(limits),
        progress_(progress),
        faults_(source),
        cursor_(std::make_unique<JsonCursor>(source.bytes(), limits.depth)),
        values_(*cursor_, faults_, builder_, bindings, limits_),
        nodes_(*cursor_, faults_, builder_, values_, limits_),
        header_faults_(source) {}

  Loaded<GraphJson> read() {
    read_graph();
    if (cursor_->fault()) {
      report_syntax();
    } else if (header_faults_.empty() && !(has_format_ && has_version_)) {
      find_header_fault();
    }
    if (!header_faults_.empty()) return errors();
    if (!cursor_->fault()) {
      tie_parameters();
      tie_aliases();
      values_.check_bindings();
    }
    if (!faults_.empty()) return errors();
    return finish();
  }

 private:
  struct Parameter {
    std::string_view name;
    ValueHandle handle;
    bool is_attribute_read;
  };
  struct Alias {
    std::string_view name, of;
    std::uint64_t offset;  // of `of`
    ValueHandle handle;
  };

  void read_graph() {
    const JsonSubject graph;
    const JsonType type = cursor_->type();
    if (type == JsonType::none) return;
    if (type != JsonType::object) {
      return header_faults_.add(
          0, "a graph must be an object, not " + std::string(json_type_name(type)));
    }
    JsonFields fields(*cursor_, faults_, kFields, graph);
    while (const auto field = fields.next()) {
      read_field(*field, fields);
      if (faults_.is_full() || !header_faults_.empty()) return;
    }
    cursor_->expect_end();
    if (!fields.has(kNodes) && !cursor_->fault()) faults_.add("has no \"nodes\"");
  }

  void read_field(std::size_t field, JsonFields& fields) {
    switch (field) {
      case kFormat:
        return read_format(fields);
      case kVersion:
        return read_version(fields);
      case kName:
        if (fields.is(JsonType::string))
          builder_.set_name(values_.kept_name(cursor_->take_string()));
        return;
      case kInputs:
        return read_values(
            fields, {"input", "inputs"}, ValueRole::input,
            [&](const DeclaredValue& value) { builder_.add_input(value.decl, value.where); });
      case kOutputs:
        return read_outputs(fields);
      case kParameters:
        return read_values(fields, {"parameter", "parameters"}, ValueRole::parameter,
                           [&](const DeclaredValue& value) { add_parameter(value); });
      case kNodes:
        return read_nodes(fields);
      default: {
        const std::uint64_t begin = cursor_->offset();
        cursor_->skip();
        output_tree_ = {begin, static_cast<std::uint32_t>(cursor_->end_of_last() - begin)};
      }
    }
  }

  void read_format(JsonFields& fields) {
    has_format_ = true;
    const std::uint64_t offset = cursor_->offset();
    if (!fields.is(JsonType::string)) return;
    const std::string format = unescaped(cursor_->take_string());
    if (format == kFormatName || cursor_->fault()) return;
    header_faults_.add(offset,
                       "not a cleave.graph file (\"format\" is " + escaped_in_quotes(format) + ")");
  }

  void read_version(JsonFields& fields) {
    has_version_ = true;
    const std::uint64_t offset = cursor_->offset();
    if (!fields.is(JsonType::number)) return;
    const JsonNumber number = cursor_->take_number();
    const auto version = number.integer();
    if (version == kNewestVersion || cursor_->fault()) return;
    const std::string intro = "\"version\" is " + std::string(number.text.substr(0, 40));
    const std::string newest = std::to_string(kNewestVersion);
    if (number.is_whole() && number.real() > static_cast<double>(kNewestVersion)) {
      header_faults_.add(offset, intro + ", newer than what this cleave reads (" + newest + ")");
    } else {
      header_faults_.add(offset, intro + "; it must be " + newest);
    }
  }

  // Inputs or parameters: each is handed to `add`.
  void read_values(JsonFields& fields, JsonSubject subject, ValueRole role, const auto& add) {
    if (!fields.is(JsonType::list)) return;
    cursor_->enter();
    for (; cursor_->next_item() && !faults_.is_full(); ++subject.position) {
      subject.name = {};
      const DeclaredValue value = values_.read(subject, role);
      if (!value.decl.name.empty()) add(value);
    }
  }

  void read_outputs(JsonFields& fields) {
    if (!fields.is(JsonType::list)) return;
    cursor_->enter();
    while (cursor_->next_item() && !faults_.is_full()) {
      if (cursor_->type() != JsonType::string) {
        fields.refuse_item("a value's name");
        continue;
      }
      const std::uint64_t begin = cursor_->offset();
      const std::string_view name = values_.kept_name(cursor_->take_string());
      const auto length = static_cast<std::uint32_t>(cursor_->end_of_last() - begin);
      builder_.add_graph_output(builder_.value_named(name), {begin, length});
    }
  }

  void add_parameter(const DeclaredValue& value) {
    const ValueHandle handle = builder_.add_parameter(value.decl, value.where);
    const bool reads_target = value.is_attribute_read && !value.target.empty();
    parameters_.push_back({value.decl.name, handle, reads_target});
    if (!value.alias_of.empty()) {
      aliases_.push_back({value.decl.name, value.alias_of, value.alias_offset, handle});
    }
    if (!reads_target) return;
    const auto [first, is_new] = targets_.emplace(value.target, handle);
    if (!is_new) builder_.set_alias(handle, first->second);
  }

  void read_nodes(JsonFields& fields) {
    if (!fields.is(JsonType::list)) return;
    const std::uint64_t begin = cursor_->offset();
    std::size_t next_expected = kNodesBetweenTold;
    cursor_->enter();
    for (std::size_t i = 0; cursor_->next_item() && !faults_.is_full(); ++i) {
      if (i % kNodesBetweenTold == 0) {
        tell(progress_, {"reading", "bytes", cursor_->offset(), source_.size()});
      }
      if (i == next_expected) {
        expect_more(i, begin);
        next_expected *= kMostTimes;
      }
      if (i == limits_.nodes) return add_beyond_limit(&ModelLimits::nodes);
      nodes_.read(i);
      if (nodes_.value_count() > limits_.values) return add_beyond_limit(&ModelLimits::values);
    }
  }

  // The rest of the file most likely has nodes like those read so far. The estimate never reserves
  // much more than what is there already.
  void expect_more(std::size_t nodes, std::uint64_t begin) {
    const auto read = static_cast<double>(cursor_->offset() - begin);
    const auto left = static_cast<double>(source_.size() - cursor_->offset());
    const double times = std::min(1.05 * (read + left) / read, static_cast<double>(kMostTimes));
    prefer_large_pages(static_cast<std::size_t>(times * static_cast<double>(nodes)) * kBytesOfNode);
    builder_.expect_times(times);
  }

  void add_beyond_limit(std::uint64_t ModelLimits::*limit) {
    header_faults_.add(cursor_->offset(), "the graph has " + beyond_limit(limits_, limit));
  }

  // Whether the file is native JSON at all matters more than its other faults: searches for the
  // header after them, and a missing header becomes the fault.
  void find_header_fault() {
    cursor_ = std::make_unique<JsonCursor>(source_.bytes());
    JsonFaults ignored(source_);
    const JsonSubject graph;
    if (cursor_->type() != JsonType::object) return;
    JsonFields fields(*cursor_, ignored, kFields, graph);
    while (const auto field = fields.next()) {
      if (field == kFormat && !has_format_) {
        read_format(fields);
      } else if (field == kVersion && !has_version_) {
        read_version(fields);
      } else {
        cursor_->skip();
      }
    }
    if (cursor_->fault()) return;
    if (!has_format_) return header_faults_.add("not a cleave.graph file (\"format\" is missing)");
    if (!has_version_) header_faults_.add("\"version\" is missing; it must be 1");
  }

  // A module's own parameter and reads of the attribute with the same path are one parameter.
  void tie_parameters() {
    if (targets_.empty()) return;
    for (const Parameter& parameter : parameters_) {
      const auto read = targets_.find(parameter.name);
      if (!parameter.is_attribute_read && read != targets_.end()) {
        builder_.set_alias(read->second, parameter.handle);
      }
    }
  }

  void tie_aliases() {
    if (aliases_.empty()) return;
    std::unordered_map<std::string_view, ValueHandle> by_name;
    for (const Parameter& parameter : parameters_)
      by_name.emplace(parameter.name, parameter.handle);
    for (const Alias& alias : aliases_) {
      const auto canonical = by_name.find(alias.of);
      if (canonical != by_name.end()) {
        if (canonical->second != alias.handle) builder_.set_alias(alias.handle, canonical->second);
        continue;
      }
      std::vector<std::string_view> names;
      for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
      const std::string nearest = nearest_name(alias.of, names);
      std::vector<std::string> notes;
      if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
      faults_.add(alias.offset,
                  "parameter " + escaped_in_quotes(alias.name) + " is an alias of " +
                      escaped_in_quotes(alias.of) + ", which is not a parameter",
                  std::move(notes));
      if (faults_.is_full()) return;
    }
  }

  void report_syntax() {
    const JsonFault& fault = *cursor_->fault();
    std::vector<std::string> notes;
    if (fault.opened_at) {
      const bool is_object = source_.bytes()[*fault.opened_at] == '{';
      notes.push_back((is_object ? "the object that is open here begins at "
                                 : "the list that is open here begins at ") +
                      faults_.place_of(*fault.opened_at));
    }
    faults_.add(fault.offset, fault.message, std::move(notes));
  }

  void report(const GraphFault& fault) {
    std::vector<std::string> notes = fault.notes;
    if (fault.first.length > 0) {
      notes.push_back("the first one is at " +
                      faults_.place_of(place_of_fault(source_.bytes(), fault, fault.first)));
    }
    if (fault.where.length == 0) return faults_.add(fault.message, std::move(notes));
    faults_.add(place_of_fault(source_.bytes(), fault, fault.where), fault.message,
                std::move(notes));
  }

  void check_module_parameters(const Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      for (const ValueId value : graph.module_parameters(id)) {
        if (graph.is_parameter(value) || faults_.is_full()) continue;
        const Node& node = graph.node(id);
        const std::string_view name = graph.value(value).name;
        faults_.add(place_in_field(source_.bytes(), node.source, "module_parameters", name),
                    "\"module_parameters\" of node " + escaped_in_quotes(node.name) + " names " +
                        escaped_in_quotes(name) + ", which is not a parameter");
      }
    }
  }

  Diagnostics errors() const {
    return header_faults_.empty() ? faults_.errors() : header_faults_.errors();
  }

  Loaded<GraphJson> finish() {
    cursor_.reset();  // its index is as large as the graph: free it before the builder finishes
    Result<Graph, std::vector<GraphFault>> graph = builder_.finish();
    if (!graph) {
      for (const GraphFault& fault : graph.error()) report(fault);
      return errors();
    }
    check_module_parameters(*graph);
    if (!faults_.empty()) return errors();
    const bool was_sorted = builder_.was_sorted();
    GraphJson result{was_sorted ? graph->with_order(order_of_writes(*graph)) : *std::move(graph),
                     faults_.warnings(),
                     {},
                     output_tree_};
    if (!was_sorted) {
      result.notes.emplace_back(
          "the nodes were not in topological order; they were sorted, and keep the file's order "
          "where possible");
    }
    return result;
  }

  const SourceFile& source_;
  const ModelLimits& limits_;
  const Progress& progress_;
  JsonFaults faults_;
  std::unique_ptr<JsonCursor> cursor_;
  GraphBuilder builder_;
  GraphJsonValues values_;
  GraphJsonNodes nodes_;

  // The file is not native JSON, or beyond a limit: other faults are not reported then.
  JsonFaults header_faults_;
  bool has_format_ = false, has_version_ = false;
  SourceSpan output_tree_;
  std::vector<Parameter> parameters_;
  std::vector<Alias> aliases_;
  std::unordered_map<std::string_view, ValueHandle> targets_;  // the first read of each attribute
};

}  // namespace

bool looks_like_json(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

Loaded<GraphJson> read_graph_json(const SourceFile& source, const ShapeBindings& bindings,
                                  const ModelLimits& limits, const Progress& progress) {
  if (source.size() > kLargestJson) {
    return Diagnostics{
        diagnostic_of(source.path(), "is larger than 4 GiB, the most that can be read as JSON")};
  }
  return GraphJsonReader(source, bindings, limits, progress).read();
}

}  // namespace cleave
