// Fields of reports: a table of rows says what a struct has to tell; JSON, its schema and columns of
// tables are made from the same row.
//
//   const Fields<CapCost> kCapFields = {
//       kOneLine,
//       {{"kept", the<&CapCost::kept>, "Accelerator subgraphs that stay."},
//        {"bytes", [](const CapCost& cap) { return known(cap.bytes); }, "Null: not known."}}};
//
// (g++ 12 takes no constexpr here.)
//
//   write(json, kCapFields, cap);                        {"kept": 3, "bytes": null}
//
// What the accessor returns decides the type: bool, integer, double, text, an std::optional (null), a
// vector, span or array (a list), a pair (a list of two), Entries (an object by names of the user), or a struct with a table of
// its own, which the row names last: {"cap", the<&Split::cap>, "What the limit costs.", kCapFields}.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "formats/base/json.h"

namespace cleave {

inline constexpr JsonText::Layout kOneLine = JsonText::Layout::one_line;
inline constexpr JsonText::Layout kLines = JsonText::Layout::lines;

// An accessor: the member of a struct, or of the struct that a member is or points to,
// the<&Row::pattern, &Pattern::name>; or what a function makes of the struct, the<parts_of>.
template <auto First, auto... Rest>
struct MemberOf {
  template <class T>
  constexpr decltype(auto) operator()(const T& object) const {
    if constexpr (!std::is_member_pointer_v<decltype(First)>) {
      return First(object);
    } else if constexpr (std::is_pointer_v<T>) {
      return (*this)(*object);
    } else if constexpr (sizeof...(Rest) > 0) {
      return MemberOf<Rest...>{}(object.*First);
    } else {
      return (object.*First);
    }
  }
  template <class T>
  requires std::is_invocable_v<decltype(First), JsonText&, const T&>
  void operator()(JsonText& json, const T& object) const { First(json, object); }
};
template <auto... Members>
inline constexpr MemberOf<Members...> the = {};

// An accessor: the struct as a whole, for fields that are told of it in an object of their own.
struct Itself {
  template <class T>
  constexpr const T& operator()(const T& object) const {
    return object;
  }
};

// An accessor for fields that others write, here only described; they are left_out.
struct WrittenElsewhere {};

// An object by names that come from the user, in this order.
template <class Value, class Name = std::string_view>
struct Entries {
  std::vector<std::pair<Name, Value>> list;
};
template <class Value, class Name>
Entries(std::vector<std::pair<Name, Value>>) -> Entries<Value, Name>;

// The value where something is so; else nothing.
template <class Value>
std::optional<Value> when(bool is_so, const Value& value) {
  return is_so ? std::optional<Value>(value) : std::nullopt;
}

// A value that is JSON already; left_out where there is none.
struct JsonValue {
  std::string text;
  bool empty() const { return text.empty(); }
};

// What is made of each of a range, as a list.
template <class Range, class Make>
auto each(const Range& range, const Make& make) {
  std::vector<std::decay_t<decltype(make(*std::begin(range)))>> made;
  for (const auto& one : range) made.push_back(make(one));
  return made;
}

// ---- rows ----

// What is seldom said of a field.
struct FieldForm {
  bool left_out = false;                             // if false, "", null or an empty list
  bool one_line = false;                             // a list or object
  bool one_line_items = false;                       // lists in a list
  std::string_view words = {};                       // those of a text, by spaces: "yes maybe no"
  std::vector<std::string> (*words_of)() = nullptr;  // the same
  std::string (*schema)() = nullptr;  // the whole schema as JSON, in place of what the row says
};

inline constexpr FieldForm kLeftOut = {.left_out = true};
inline constexpr FieldForm kOnOneLine = {.one_line = true};
constexpr FieldForm words(std::string_view words) { return {.words = words}; }
constexpr FieldForm words(std::vector<std::string> (*words_of)()) { return {.words_of = words_of}; }

// For the second of these: the words of a table of names.
template <const auto& Names>
std::vector<std::string> all_of() {
  return {Names.begin(), Names.end()};
}

// The same: what a function calls the enumerators up to this one.
template <auto Name, auto Last, auto First = decltype(Last){}>
std::vector<std::string> all_up_to() {
  std::vector<std::string> names;
  for (int i = static_cast<int>(First); i <= static_cast<int>(Last); ++i) {
    names.emplace_back(Name(static_cast<decltype(Last)>(i)));
  }
  return names;
}

struct FieldTable;

// The type of a field, for its schema.
struct FieldType {
  enum class Kind : std::uint8_t { flag, integer, count, number, text, object, list, entries, any };
  Kind kind = Kind::any;
  std::uint8_t optionals = 0;       // one in another: the outer may be left out, the inner be null
  const FieldType* item = nullptr;  // of a list or entries
};

// A row for any struct.
struct FieldRow {
  std::string_view key;    // empty: the fields of `fields` as rows here
  std::string_view about;  // for the schema; may be empty
  FieldForm form;
  FieldType type;
  FieldTable (*table)(const void* fields) = nullptr;  // of objects in it
  const void* fields = nullptr;
  void (*write)(JsonText& json, const void* object, const FieldRow& row) = nullptr;
};

// Any table.
struct FieldTable {
  JsonText::Layout layout;
  const FieldRow* rows;
  std::size_t count;
  std::string_view name;
};

template <class T>
struct FieldOf;

template <class T>
struct Fields {
  JsonText::Layout layout;
  std::initializer_list<FieldOf<T>> rows;
  std::string_view name = {};  // of its definition in schemas that have it in several places

  FieldTable table() const { return {layout, rows.begin(), rows.size(), name}; }
};

// ---- writing ----

// Without the braces around the fields.
template <class T>
void write_fields(JsonText& json, const Fields<T>& fields, const T& object) {
  for (const FieldOf<T>& row : fields.rows) row.write(json, &object, row);
}

template <class T>
void write(JsonText& json, const Fields<T>& fields, const T& object,
           JsonText::Layout layout = kLines) {
  json.begin_object(layout == kOneLine ? layout : fields.layout);
  write_fields(json, fields, object);
  json.end_object();
}

// The same as the next field.
template <class T>
void write(JsonText& json, std::string_view key, const Fields<T>& fields, const T& object) {
  json.key(key);
  write(json, fields, object);
}

namespace field {

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;
template <class Value>
inline constexpr bool is_optional<const Value*> = true;
template <>
inline constexpr bool is_optional<const char*> = false;
template <class Value>
inline constexpr bool is_pair = false;
template <class First, class Second>
inline constexpr bool is_pair<std::pair<First, Second>> = true;
template <class Value>
inline constexpr bool is_entries = false;
template <class Value, class Name>
inline constexpr bool is_entries<Entries<Value, Name>> = true;
// What is in an optional or behind a pointer, in Entries, in a list.
template <class Value>
using Inner = std::decay_t<decltype(*std::declval<Value>())>;
template <class Value>
using Entry = decltype(Value{}.list[0].second);
template <class Value>
using Item = std::decay_t<decltype(*std::declval<const Value&>().begin())>;
template <class Value>
concept Text = std::convertible_to<const Value&, std::string_view>;
template <class Value>
concept List = !Text<Value> && requires(const Value& value) {
  value.begin();
};

template <class Value>
constexpr FieldType type_of();
template <class Value>
inline constexpr FieldType kTypeOf = type_of<Value>();

template <class Value>
constexpr FieldType type_of() {
  using Kind = FieldType::Kind;
  if constexpr (is_optional<Value>) {
    FieldType type = type_of<Inner<Value>>();
    ++type.optionals;
    return type;
  } else if constexpr (is_entries<Value>) {
    return {.kind = Kind::entries, .item = &kTypeOf<Entry<Value>>};
  } else if constexpr (std::same_as<Value, JsonValue> || is_pair<Value>) {
    return {};
  } else if constexpr (Text<Value>) {
    return {.kind = Kind::text};
  } else if constexpr (List<Value>) {
    return {.kind = Kind::list, .item = &kTypeOf<Item<Value>>};
  } else if constexpr (std::same_as<Value, bool>) {
    return {.kind = Kind::flag};
  } else if constexpr (std::integral<Value>) {
    return {.kind = std::unsigned_integral<Value> ? Kind::count : Kind::integer};
  } else if constexpr (std::floating_point<Value>) {
    return {.kind = Kind::number};
  } else {
    return {.kind = Kind::object};
  }
}

// The struct in lists, optionals and entries.
template <class Value>
struct Leaf {
  using Type = Value;
};
template <class Value>
requires is_optional<Value>
struct Leaf<Value> : Leaf<Inner<Value>> {
};
template <class Value>
requires is_entries<Value>
struct Leaf<Value> : Leaf<Entry<Value>> {
};
template <class Value>
requires List<Value>
struct Leaf<Value> : Leaf<Item<Value>> {
};

template <class Value>
void put(JsonText& json, const Value& value, const FieldRow& row, JsonText::Layout layout) {
  if constexpr (is_optional<Value>) {
    value ? put(json, *value, row, layout) : json.null();
  } else if constexpr (is_entries<Value>) {
    json.begin_object(layout);
    for (const auto& [name, entry] : value.list) {
      json.key(name);
      put(json, entry, row, kLines);
    }
    json.end_object();
  } else if constexpr (std::same_as<Value, JsonValue>) {
    json.document(value.text);
  } else if constexpr (is_pair<Value>) {
    json.begin_list(layout);
    put(json, value.first, row, kLines);
    put(json, value.second, row, kLines);
    json.end_list();
  } else if constexpr (Text<Value>) {
    json.text(value);
  } else if constexpr (List<Value>) {
    json.begin_list(layout);
    const auto own = row.form.one_line_items ? kOneLine : kLines;
    for (const auto& item : value) put(json, item, row, own);
    json.end_list();
  } else if constexpr (std::same_as<Value, bool>) {
    json.flag(value);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    json.number(value);
  } else {
    cleave::write(json, *static_cast<const Fields<Value>*>(row.fields), value, layout);
  }
}

template <class Value>
bool is_nothing(const Value& value) {
  if constexpr (is_optional<Value>) {
    return !value;
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (std::same_as<Value, bool>) {
    return !value;
  } else {
    return false;
  }
}

template <class Accessor, class T>
concept Writes = std::invocable<const Accessor&, JsonText&, const T&>;
template <class Accessor, class T>
using ValueOf = std::decay_t<decltype(Accessor{}(std::declval<const T&>()))>;

template <class Accessor, class T>
void write_value(JsonText& json, const void* object, const FieldRow& row) {
  const T& owner = *static_cast<const T*>(object);
  if constexpr (Writes<Accessor, T>) {
    json.key(row.key);
    Accessor{}(json, owner);
  } else if constexpr (!std::same_as<Accessor, WrittenElsewhere>) {
    const auto& value = Accessor{}(owner);
    if (row.form.left_out && is_nothing(value)) return;
    json.key(row.key);
    put(json, value, row, row.form.one_line ? kOneLine : kLines);
  }
}

template <class Accessor, class T, class Object>
void write_group(JsonText& json, const void* object, const FieldRow& row) {
  const auto& value = Accessor{}(*static_cast<const T*>(object));
  const auto& fields = *static_cast<const Fields<Object>*>(row.fields);
  if constexpr (is_optional<ValueOf<Accessor, T>>) {
    if (value) write_fields(json, fields, *value);
  } else {
    write_fields(json, fields, value);
  }
}

template <class Accessor, class T>
constexpr FieldType accessor_type() {
  if constexpr (Writes<Accessor, T> || std::same_as<Accessor, WrittenElsewhere>) {
    return {};
  } else {
    return type_of<ValueOf<Accessor, T>>();
  }
}

template <class Accessor>
constexpr FieldForm form_of(FieldForm form) {
  form.left_out |= std::same_as<Accessor, WrittenElsewhere>;
  return form;
}

template <class Object>
FieldTable table_of(const void* fields) {
  return static_cast<const Fields<Object>*>(fields)->table();
}

}  // namespace field

// A row for a T. The accessor is the<&T::member>, or a lambda without captures that takes a const T&
// and, where it writes the value by itself, before it a JsonText&.
template <class T>
struct FieldOf : FieldRow {
  template <class Accessor>
  constexpr FieldOf(std::string_view key_, const Accessor&, std::string_view about_ = {},
                    FieldForm form_ = {})
      : FieldRow{.key = key_,
                 .about = about_,
                 .form = field::form_of<Accessor>(form_),
                 .type = field::accessor_type<Accessor, T>(),
                 .write = field::write_value<Accessor, T>} {}
  template <class Accessor>
  constexpr FieldOf(std::string_view key_, const Accessor& accessor, FieldForm form_)
      : FieldOf(key_, accessor, {}, form_) {}

  // The fields of a struct as if they were rows here; all are left out where the accessor returns nullptr.
  template <class Accessor, class Object>
  constexpr FieldOf(const Accessor&, const Fields<Object>& of)
      : FieldRow{.key = {},
                 .about = {},
                 .form = {.left_out = field::is_optional<field::ValueOf<Accessor, T>>},
                 .type = {},
                 .table = field::table_of<Object>,
                 .fields = &of,
                 .write = field::write_group<Accessor, T, Object>} {}

  // Of objects, or lists of them.
  template <class Accessor, class Object>
  constexpr FieldOf(std::string_view key_, const Accessor&, std::string_view about_,
                    const Fields<Object>& of, FieldForm form_ = {})
      : FieldRow{key_,
                 about_,
                 form_,
                 field::accessor_type<Accessor, T>(),
                 field::table_of<Object>,
                 &of,
                 field::write_value<Accessor, T>} {
    static_assert(std::same_as<typename field::Leaf<field::ValueOf<Accessor, T>>::Type, Object>);
  }
  template <class Accessor, class Object>
  constexpr FieldOf(std::string_view key_, const Accessor& accessor, const Fields<Object>& of,
                    FieldForm form_ = {})
      : FieldOf(key_, accessor, {}, of, form_) {}
};

// ---- documents ----

// A kind of report, "cleave.NAME", version 1. Its schema, formats/report/schema/NAME.schema.json, is
// made from the rows. With a title: JSON that is no document of its own, without format and version.
struct Document {
  std::string_view name;
  std::string_view about;
  FieldTable fields;
  std::string_view rules = {};  // JSON: conditions of the schema beside the rows, for "allOf"
  std::string_view title = {};
};

// The schema as JSON. Each named table is written once, as a definition.
std::string schema_text(const Document& document);

// A list of objects as the next field.
template <class T>
void write_list(JsonText& json, std::string_view key, const Fields<T>& fields,
                const std::vector<T>& objects) {
  json.begin_list(key);
  for (const T& object : objects) write(json, fields, object);
  json.end_list();
}

// The object as text.
template <class T>
std::string json_text(const Fields<T>& fields, const T& object) {
  JsonText json;
  write(json, fields, object);
  return std::move(json).finish();
}

// The object as a document, which may be within another.
template <class T>
void write_as_document(JsonText& json, std::string_view name, const Fields<T>& fields,
                       const T& object) {
  json.begin_object();
  json.text("format", "cleave." + std::string(name));
  json.number("version", 1);
  write_fields(json, fields, object);
  json.end_object();
}

// The document as text, or handed over in pieces.
template <class T>
std::string document_text(std::string_view name, const Fields<T>& fields, const T& object,
                          const TakeText& take = {}) {
  JsonText json(take);
  write_as_document(json, name, fields, object);
  return std::move(json).finish();
}

}  // namespace cleave
