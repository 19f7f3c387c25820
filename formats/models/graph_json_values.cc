#include "formats/models/graph_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cleave {

namespace {

enum ValueField : std::size_t {
  kName,
  kType,
  kDtype,
  kShape,
  kElements,
  kPyType,
  kTarget,
  kDefault,
  kGetAttr,
  kBuffer,
  kPersistent,
  kAliasOf,
  kLocation,
  kOffset,
  kBytes,
};
constexpr std::array<std::string_view, 15> kFields = {
    "name",     "type",   "dtype",      "shape",    "elements", "py_type", "target", "default",
    "get_attr", "buffer", "persistent", "alias_of", "location", "offset",  "bytes"};

// The fields that a value in this role may have.
std::span<const std::string_view> fields_of(ValueRole role) {
  switch (role) {
    case ValueRole::parameter:
      return kFields;
    case ValueRole::input:
      return std::span(kFields).first(kGetAttr);
    case ValueRole::output:
    case ValueRole::element:
      break;
  }
  return std::span(kFields).first(kTarget);
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

}  // namespace

// The declaration being read.
struct GraphJsonValues::Fields {
  JsonFields fields;
  JsonSubject& subject;
  ValueRole role;
  std::size_t depth;
  DeclaredValue value = {};
};

GraphJsonValues::GraphJsonValues(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                                 const ShapeBindings& bindings, const ModelLimits& limits)
    : cursor_(cursor), faults_(faults), builder_(builder), binder_(bindings), limits_(limits) {}

void GraphJsonValues::refuse_name(const JsonString& name) {
  faults_.add(name.offset, "a name has " + beyond_limit(limits_, &ModelLimits::name_bytes));
}

DeclaredValue GraphJsonValues::read(JsonSubject& subject, ValueRole role) {
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

DeclaredValue GraphJsonValues::read_fields(JsonSubject& subject, ValueRole role,
                                           std::size_t depth) {
  const std::uint64_t begin = cursor_.offset();
  Fields read{{cursor_, faults_, fields_of(role), subject, &order_of(role)}, subject, role, depth};
  while (const auto field = read.fields.next()) read_field(*field, read);
  ValueDecl& decl = read.value.decl;
  if (!read.fields.has(kType) && read.fields.has(kDtype)) decl.type = ValueType::tensor;
  if (decl.type == ValueType::tensor) {
    decl.holds_tensor = true;
  } else {
    decl.shape = kNone<ShapeId>;
  }
  const bool needs_name = role != ValueRole::element && !cursor_.fault();
  if (needs_name && !read.fields.has(kName))
    faults_.add(begin, subject.text() + " has no \"name\"");
  return read.value;
}

void GraphJsonValues::read_field(std::size_t field, Fields& read) {
  JsonFields& fields = read.fields;
  DeclaredValue& value = read.value;
  switch (field) {
    case kName:
      value.decl.name = read_name(fields);
      read.subject.name = value.decl.name;
      return builder_.expect_value(value.decl.name);
    case kType:
      return read_type(read);
    case kDtype:
      return read_dtype(read);
    case kShape:
      return read_value_shape(read);
    case kElements:
      value.decl.holds_tensor = read_elements(read);
      return;
    case kTarget:
      if (fields.is(JsonType::string)) value.target = kept_name(cursor_.take_string());
      return;
    case kAliasOf:
      value.alias_offset = cursor_.offset();
      if (fields.is(JsonType::string)) value.alias_of = kept_name(cursor_.take_string());
      return;
    case kGetAttr:
      if (fields.is(JsonType::boolean)) value.is_attribute_read = cursor_.take_boolean();
      return;
    case kBuffer:
    case kPersistent:
      if (fields.is(JsonType::boolean)) cursor_.take_boolean();
      return;
    case kPyType:
    case kLocation:
      if (fields.is(JsonType::string)) cursor_.take_string();
      return;
    case kOffset:
    case kBytes:
      return check_count(fields);
    default:
      return cursor_.skip();  // the default of an input may have any type
  }
}

std::string_view GraphJsonValues::read_name(JsonFields& fields) {
  const std::uint64_t offset = cursor_.offset();
  if (!fields.is(JsonType::string)) return {};
  const std::string_view name = kept_name(cursor_.take_string());
  if (name.empty() && !cursor_.fault()) faults_.add(offset, fields.field_text() + " is empty");
  return name;
}

void GraphJsonValues::read_type(Fields& read) {
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

void GraphJsonValues::read_dtype(Fields& read) {
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

void GraphJsonValues::read_value_shape(Fields& read) {
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
bool GraphJsonValues::read_shape(JsonFields& fields) {
  dims_.clear();
  const std::uint64_t offset = cursor_.offset();
  if (!fields.is(JsonType::list)) return false;
  cursor_.enter();
  while (cursor_.next_item()) read_dim(fields);
  if (dims_.size() > limits_.dims) {
    faults_.add(offset, fields.field_text() + " has " + beyond_limit(limits_, &ModelLimits::dims));
  }
  const auto is_fixed = [](Dim dim) { return dim.is_fixed(); };
  if (std::ranges::all_of(dims_, is_fixed) && !element_count(dims_)) {
    faults_.add(offset, fields.field_text() + " has more elements than 2^63-1");
  }
  return true;
}

void GraphJsonValues::read_dim(JsonFields& fields) {
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

Dim GraphJsonValues::symbol(std::string_view name) {
  const auto bound = binder_.size_of(name);
  return bound ? Dim::fixed(*bound) : Dim::symbol(builder_.intern(name));
}

// A shape from --input-shape replaces that of the input.
void GraphJsonValues::bind_input_shape(DeclaredValue& value) {
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

// True when one of the elements is a tensor or contains one.
bool GraphJsonValues::read_elements(Fields& read) {
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

void GraphJsonValues::check_count(JsonFields& fields) {
  const std::uint64_t offset = cursor_.offset();
  if (!fields.is(JsonType::number)) return;
  const JsonNumber number = cursor_.take_number();
  const auto count = number.is_whole() ? number.integer() : std::nullopt;
  if (count && *count >= 0) return;
  faults_.add(offset, fields.field_text() + " must be a whole number from 0 to 2^63-1, not " +
                          std::string(number.text.substr(0, 40)));
}

}  // namespace cleave
