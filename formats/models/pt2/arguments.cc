#include "formats/models/pt2/arguments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

template <std::size_t N>
std::string_view name_at(const std::array<std::string_view, N>& names, std::int64_t number) {
  if (number < 0 || static_cast<std::size_t>(number) >= N) return "unknown";
  return names[static_cast<std::size_t>(number)];
}

constexpr std::array<std::pair<int, DType>, 20> kDTypes = {{
    {1, DType::uint8},
    {2, DType::int8},
    {3, DType::int16},
    {4, DType::int32},
    {5, DType::int64},
    {6, DType::float16},
    {7, DType::float32},
    {8, DType::float64},
    {10, DType::complex64},
    {11, DType::complex128},
    {12, DType::boolean},
    {13, DType::bfloat16},
    {28, DType::uint16},
    {29, DType::float8_e4m3fn},
    {30, DType::float8_e5m2},
    {31, DType::float8_e4m3fnuz},
    {32, DType::float8_e5m2fnuz},
    {33, DType::float8_e8m0},
    {34, DType::uint32},
    {35, DType::uint64},
}};

}  // namespace

DType dtype_from_torch(std::int64_t number) {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == number) return dtype;
  }
  return DType::unknown;
}

std::string_view layout_name(std::int64_t number) {
  static constexpr std::array<std::string_view, 8> kNames = {"unknown", "coo", "csr",    "csc",
                                                             "bsr",     "bsc", "mkldnn", "strided"};
  return name_at(kNames, number);
}

std::string_view memory_format_name(std::int64_t number) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "unknown", "contiguous", "channels_last", "channels_last_3d", "preserve"};
  return name_at(kNames, number);
}

namespace {

constexpr int kMostNested = 16;

}  // namespace

void Pt2Arguments::fail(std::uint64_t offset, std::string message) {
  if (!is_over()) fault_ = {offset, std::move(message)};
}

void Pt2Arguments::enter(JsonType wanted) {
  if (is_over()) return;
  if (cursor_.type() == wanted) return cursor_.enter();
  if (cursor_.type() == JsonType::none) return;
  fail(cursor_.offset(), "must be " + std::string(json_type_name(wanted)) + ", not " +
                             std::string(json_type_name(cursor_.type())));
}

std::optional<std::string_view> Pt2Arguments::next_key() {
  if (is_over()) return std::nullopt;
  const auto key = cursor_.next_key();
  if (!key) return std::nullopt;
  return kept(*key);
}

bool Pt2Arguments::next_item() { return !is_over() && cursor_.next_item(); }

std::string_view Pt2Arguments::kept(JsonString text) {
  if (text.text.size() > limits_.name_bytes) {
    fail(text.offset, "a name has " + beyond_limit(limits_, &ModelLimits::name_bytes));
    return {};
  }
  return text.has_escapes ? program_.arena.keep(unescaped(text)) : text.text;
}

std::string_view Pt2Arguments::take_name() {
  if (is_over()) return {};
  if (cursor_.type() == JsonType::string) return kept(cursor_.take_string());
  fail(cursor_.offset(), "must be a name");
  return {};
}

std::uint32_t Pt2Arguments::value_named(std::string_view name) {
  const auto fresh = static_cast<std::uint32_t>(program_.values.size());
  const auto name_of = [this](std::uint32_t i) { return program_.values[i].name; };
  const std::uint32_t found = program_.value_table.find_or_insert(name, fresh, name_of);
  if (found != NameTable::kAbsent) return found;
  program_.values.push_back({.name = name});
  return fresh;
}

void Pt2Arguments::add_ref() {
  const std::uint64_t at = is_over() ? 0 : cursor_.offset();
  const std::string_view name = take_name();
  if (is_over()) return;
  if (name.empty()) return fail(at, "a value's name is empty");
  if (program_.refs.size() >= limits_.values) {
    return fail(at, "the graph has " + beyond_limit(limits_, &ModelLimits::values));
  }
  program_.refs.push_back({value_named(name), at});
}

// {"name": "x", ...}
void Pt2Arguments::read_ref() {
  enter(JsonType::object);
  while (const auto key = next_key()) {
    if (*key == "name") {
      add_ref();
    } else {
      cursor_.skip();
    }
  }
}

// {"as_tensor": {"name": "x"}} or {"as_none": true}
void Pt2Arguments::read_optional_ref() {
  enter(JsonType::object);
  while (const auto key = next_key()) {
    if (*key == "as_tensor") {
      read_ref();
    } else {
      cursor_.skip();
    }
  }
}

// {"as_name": "sym_size"}, or the number itself: {"as_int": 4}
void Pt2Arguments::read_symbol(Read& read) {
  enter(JsonType::object);
  while (const auto key = next_key()) {
    if (*key == "as_name") {
      add_ref();
    } else if (*key == "as_int") {
      take_integer(read);
    } else {
      cursor_.skip();
    }
  }
}

// A list of these; a list of integers if no item is a name.
void Pt2Arguments::read_symbols(Read& read) {
  const auto begin = static_cast<std::uint32_t>(program_.integers.size());
  const std::size_t refs = program_.refs.size();
  std::uint32_t count = 0;
  read.is_list = true;
  enter(JsonType::list);
  for (; next_item(); ++count) read_symbol(read);
  const bool all_integers =
      program_.refs.size() == refs && program_.integers.size() - begin == count;
  read.has_literal = true;
  read.literal = all_integers ? Pt2Literal{AttributeType::integers, begin, count} : Pt2Literal{};
}

void Pt2Arguments::take_integer(Read&) {
  if (is_over()) return;
  if (cursor_.type() != JsonType::number) return fail(cursor_.offset(), "must be a number");
  const std::uint64_t at = cursor_.offset();
  const auto number = cursor_.take_number().integer();
  if (!number) return fail(at, "must be a whole number of 64 bits");
  program_.integers.push_back(*number);
}

// Infinity and NaN are strings.
void Pt2Arguments::take_real() {
  if (is_over()) return;
  if (cursor_.type() == JsonType::number) {
    program_.reals.push_back(cursor_.take_number().real());
    return;
  }
  const std::uint64_t at = cursor_.offset();
  const std::string_view name = take_name();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "Infinity") return program_.reals.push_back(kInfinity);
  if (name == "-Infinity") return program_.reals.push_back(-kInfinity);
  if (name == "NaN") return program_.reals.push_back(std::numeric_limits<double>::quiet_NaN());
  fail(at, "must be a number");
}

// A list of literals; `type` is the type of the list.
void Pt2Arguments::read_list(AttributeType type, Read& read) {
  const auto size = [&]() -> std::size_t {
    if (type == AttributeType::reals) return program_.reals.size();
    return type == AttributeType::strings ? program_.strings.size() : program_.integers.size();
  };
  const std::size_t begin = size();
  enter(JsonType::list);
  while (next_item()) {
    if (type == AttributeType::reals) {
      take_real();
    } else if (type == AttributeType::strings) {
      program_.strings.push_back(take_name());
    } else if (cursor_.type() == JsonType::boolean) {
      program_.integers.push_back(cursor_.take_boolean() ? 1 : 0);
    } else {
      take_integer(read);
    }
  }
  read.has_literal = true;
  read.literal = {type, static_cast<std::uint32_t>(begin),
                  static_cast<std::uint32_t>(size() - begin)};
}

// {key: argument}: reads the arguments and ignores the keys.
void Pt2Arguments::read_named_arguments(Read& read) {
  if (depth_ == kMostNested) return fail(cursor_.offset(), "is nested too deep");
  ++depth_;
  read.is_list = true;
  enter(JsonType::object);
  while (next_key()) this->read();
  --depth_;
  read.has_literal = true;
  read.literal = {};
}

bool Pt2Arguments::read_values(std::string_view kind, Read& read) {
  if (kind == "as_tensor" || kind == "as_custom_obj") {
    if (kind == "as_custom_obj") read.kind = Pt2ValueKind::custom_obj;
    read_ref();
  } else if (kind == "as_tensors") {
    read.is_list = true;
    enter(JsonType::list);
    while (next_item()) read_ref();
  } else if (kind == "as_optional_tensor") {
    read_optional_ref();
  } else if (kind == "as_optional_tensors") {
    read.is_list = true;
    enter(JsonType::list);
    while (next_item()) read_optional_ref();
  } else if (kind == "as_nested_tensors") {
    read.is_list = true;
    enter(JsonType::list);
    while (next_item()) {
      enter(JsonType::list);
      while (next_item()) read_ref();
    }
  } else if (kind == "as_string_to_argument") {
    read_named_arguments(read);
  } else {
    return false;
  }
  return true;
}

bool Pt2Arguments::read_literal(std::string_view kind, Read& read) {
  const auto one = [&](AttributeType type, std::size_t end) {
    read.has_literal = true;
    read.literal = {type, static_cast<std::uint32_t>(end - 1), 1};
  };
  if (kind == "as_int") {
    take_integer(read);
    if (!is_over()) one(AttributeType::integer, program_.integers.size());
  } else if (kind == "as_float") {
    take_real();
    if (!is_over()) one(AttributeType::real, program_.reals.size());
  } else if (kind == "as_bool") {
    if (cursor_.type() != JsonType::boolean)
      return fail(cursor_.offset(), "must be true or false"), true;
    program_.integers.push_back(cursor_.take_boolean() ? 1 : 0);
    one(AttributeType::boolean, program_.integers.size());
  } else if (kind == "as_string" || kind == "as_operator") {
    program_.strings.push_back(take_name());
    one(AttributeType::string, program_.strings.size());
  } else if (kind == "as_ints" || kind == "as_bools") {
    read_list(AttributeType::integers, read);
  } else if (kind == "as_floats") {
    read_list(AttributeType::reals, read);
  } else if (kind == "as_strings") {
    read_list(AttributeType::strings, read);
  } else {
    return false;
  }
  return true;
}

// {"type": "cuda", "index": 0} as "cuda:0"
std::string Pt2Arguments::device_text() {
  std::string text, number;
  enter(JsonType::object);
  while (const auto key = next_key()) {
    if (*key == "type" && cursor_.type() == JsonType::string) {
      text = std::string(take_name());
    } else if (*key == "index" && cursor_.type() == JsonType::number) {
      number = ":" + std::string(cursor_.take_number().text.substr(0, 20));
    } else {
      cursor_.skip();
    }
  }
  return text + number;
}

bool Pt2Arguments::read_enumerator(std::string_view kind, Read& read) {
  std::string text;
  if (kind == "as_device") {
    text = device_text();
  } else if (kind == "as_scalar_type" || kind == "as_memory_format" || kind == "as_layout") {
    if (cursor_.type() != JsonType::number) return fail(cursor_.offset(), "must be a number"), true;
    const auto number = cursor_.take_number().integer().value_or(-1);
    text = kind == "as_scalar_type"     ? dtype_name(dtype_from_torch(number))
           : kind == "as_memory_format" ? memory_format_name(number)
                                        : layout_name(number);
  } else {
    return false;
  }
  program_.strings.push_back(program_.arena.keep(text));
  read.has_literal = true;
  read.literal = {AttributeType::string, static_cast<std::uint32_t>(program_.strings.size() - 1),
                  1};
  return true;
}

void Pt2Arguments::read_kind(std::string_view kind, Read& read) {
  constexpr std::array<std::string_view, 6> kOpaque = {"as_graph",       "as_complex",
                                                       "as_int_lists",   "as_float_lists",
                                                       "as_nested_ints", "as_bool_lists"};
  if (kind == "as_none") {
    read.is_none = true;
    return cursor_.skip();
  }
  if (kind.starts_with("as_sym_")) {
    const std::string_view type = kind.substr(7);
    if (type.starts_with("float")) read.kind = Pt2ValueKind::sym_float;
    if (type.starts_with("bool")) read.kind = Pt2ValueKind::sym_bool;
    if (type.starts_with("int")) read.kind = Pt2ValueKind::sym_int;
    const std::size_t integers = program_.integers.size();
    const std::size_t refs = program_.refs.size();
    if (type.ends_with('s')) return read_symbols(read);
    read_symbol(read);
    if (program_.refs.size() > refs) return;
    read.has_literal = true;
    if (program_.integers.size() > integers) {
      read.literal = {AttributeType::integer, static_cast<std::uint32_t>(integers), 1};
    }
    return;
  }
  if (read_values(kind, read) || read_literal(kind, read) || read_enumerator(kind, read)) return;
  for (const std::string_view known : kOpaque) {
    if (kind != known) continue;
    read.has_literal = true;
    const std::uint64_t begin = cursor_.offset();
    cursor_.skip();
    if (kind == "as_graph" && !is_over()) graphs_.push_back(span_from(begin));
    return;
  }
  fail(cursor_.offset(), "has an argument of a kind that cleave does not know, " +
                             escaped_in_quotes(kind) + ": a newer torch wrote it");
}

Pt2Arguments::Read Pt2Arguments::read() {
  Read read{.ref_begin = static_cast<std::uint32_t>(program_.refs.size())};
  const std::uint64_t at = is_over() ? 0 : cursor_.offset();
  enter(JsonType::object);
  int keys = 0;
  while (const auto key = next_key()) {
    ++keys;
    read_kind(*key, read);
  }
  if (!is_over() && keys != 1) fail(at, "an argument must have one key");
  const bool is_tensor = read.kind == Pt2ValueKind::tensor;  // the default kind of a value
  for (std::size_t i = read.ref_begin; i < program_.refs.size() && !is_tensor; ++i) {
    program_.values[program_.refs[i].value].kind = read.kind;
  }
  return read;
}

std::int64_t Pt2Arguments::take_integer() {
  if (is_over()) return 0;
  const std::uint64_t at = cursor_.offset();
  const auto number =
      cursor_.type() == JsonType::number ? cursor_.take_number().integer() : std::nullopt;
  if (!number) fail(at, "must be a whole number");
  return number.value_or(0);
}

SourceSpan Pt2Arguments::span_from(std::uint64_t begin) const {
  return {begin, static_cast<std::uint32_t>(cursor_.end_of_last() - begin)};
}

namespace {

// {"as_int": 4} or {"as_expr": {"expr_str": "...", "hint": {"as_int": 2}}}
Pt2Size read_size(const Pt2Reading& in) {
  Pt2Size size;
  in.arguments.each_field([&](std::string_view kind) {
    if (kind == "as_int") {
      const std::uint64_t at = in.cursor.offset();
      size.size = in.arguments.take_integer();
      if (size.size < 0) in.arguments.fail(at, "a size is below 0");
      return;
    }
    if (kind != "as_expr") return in.cursor.skip();
    in.arguments.each_field([&](std::string_view key) {
      if (key == "expr_str" && in.cursor.type() == JsonType::string) {
        size.expression = in.arguments.take_name();
      } else if (key == "hint" && in.cursor.type() == JsonType::object) {
        in.arguments.each_field([&](std::string_view type) {
          if (type != "as_int") return in.cursor.skip();
          size.traced = std::max<std::int64_t>(in.arguments.take_integer(), -1);
        });
      } else {
        in.cursor.skip();
      }
    });
  });
  return size;
}

void read_sizes(const Pt2Reading& in, std::uint32_t& begin, std::uint32_t& count) {
  const std::uint64_t at = in.cursor.offset();
  begin = static_cast<std::uint32_t>(in.program.sizes.size());
  in.arguments.each_item([&] {
    const Pt2Size size = read_size(in);
    in.program.sizes.push_back(size);
  });
  count = static_cast<std::uint32_t>(in.program.sizes.size()) - begin;
  if (count > in.limits.dims)
    in.arguments.fail(at, "a tensor has " + beyond_limit(in.limits, &ModelLimits::dims));
}

void read_tensor_meta(const Pt2Reading& in, Pt2Value& value) {
  value.has_meta = true;
  in.arguments.each_field([&](std::string_view key) {
    if (key == "dtype") {
      value.scalar_type = static_cast<int>(in.arguments.take_integer());
    } else if (key == "layout") {
      value.layout = static_cast<int>(in.arguments.take_integer());
    } else if (key == "sizes") {
      read_sizes(in, value.size_begin, value.size_count);
    } else if (key == "strides") {
      read_sizes(in, value.stride_begin, value.stride_count);
    } else {
      in.cursor.skip();
    }
  });
}

}  // namespace

void read_value_table(const Pt2Reading& in, std::uint8_t table) {
  in.arguments.each_field([&](std::string_view name) {
    const std::uint64_t begin = in.cursor.offset();
    const std::uint32_t number = in.arguments.value_named(name);
    Pt2Value described = in.program.values[number];
    if (table == 0) {
      read_tensor_meta(in, described);
    } else {
      in.cursor.skip();
    }
    described.entry = in.arguments.span_from(begin);
    described.table = table;
    in.program.values[number] = described;
  });
}

namespace {

constexpr std::array<std::string_view, 7> kInputKinds = {
    "parameter", "buffer",     "tensor_constant", "custom_obj",
    "token",     "user_input", "constant_input"};
constexpr std::array<std::string_view, 8> kOutputKinds = {
    "user_output",         "loss_output",           "buffer_mutation",        "parameter_mutation",
    "user_input_mutation", "gradient_to_parameter", "gradient_to_user_input", "token"};
constexpr std::array<std::string_view, 7> kTargetFields = {"parameter_name",
                                                           "buffer_name",
                                                           "tensor_constant_name",
                                                           "custom_obj_name",
                                                           "",
                                                           "user_input_name",
                                                           ""};

void read_output_spec(const Pt2Reading& in) {
  Pt2Output output;
  const std::uint64_t begin = in.cursor.offset();
  in.arguments.each_field([&](std::string_view kind) {
    const auto known = std::find(kOutputKinds.begin(), kOutputKinds.end(), kind);
    if (known == kOutputKinds.end()) {
      return in.arguments.fail(in.cursor.offset(),
                               "has an output of a kind that cleave does not know, " +
                                   escaped_in_quotes(kind) + ": a newer torch wrote it");
    }
    output.kind = static_cast<Pt2OutputKind>(known - kOutputKinds.begin());
    in.arguments.each_field([&](std::string_view key) {
      const bool is_text = in.cursor.type() == JsonType::string;
      const bool is_target =
          std::find(kTargetFields.begin(), kTargetFields.end(), key) != kTargetFields.end();
      if (is_text && is_target) {
        output.target = in.arguments.take_name();
      } else {
        in.cursor.skip();
      }
    });
  });
  output.spec = in.arguments.span_from(begin);
  in.program.outputs.push_back(output);
}

void read_input_spec(const Pt2Reading& in) {
  Pt2Input input;
  const std::uint64_t begin = in.cursor.offset();
  in.arguments.each_field([&](std::string_view kind) {
    const auto known = std::find(kInputKinds.begin(), kInputKinds.end(), kind);
    if (known == kInputKinds.end()) {
      return in.arguments.fail(in.cursor.offset(),
                               "has an input of a kind that cleave does not know, " +
                                   escaped_in_quotes(kind) + ": a newer torch wrote it");
    }
    const auto number = static_cast<std::size_t>(known - kInputKinds.begin());
    input.kind = static_cast<Pt2InputKind>(number);
    in.arguments.each_field([&](std::string_view key) {
      const bool is_text = in.cursor.type() == JsonType::string;
      if (is_text && number < 4 && key == kTargetFields[number]) {
        input.target = in.arguments.take_name();
      } else if (key == "persistent" && in.cursor.type() == JsonType::boolean) {
        input.is_persistent = in.cursor.take_boolean();
      } else {
        in.cursor.skip();
      }
    });
  });
  input.spec = in.arguments.span_from(begin);
  in.program.inputs.push_back(input);
}

}  // namespace

void read_pt2_signature(const Pt2Reading& in) {
  in.arguments.each_field([&](std::string_view key) {
    if (key == "input_specs") return in.arguments.each_item([&] { read_input_spec(in); });
    if (key == "output_specs") return in.arguments.each_item([&] { read_output_spec(in); });
    in.cursor.skip();
  });
}

namespace {

// Position of the next `wanted` outside brackets; npos when there is none.
std::size_t find_outside(std::string_view text, char wanted, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (depth <= 0 && c == wanted) return i;
    if (c == '(' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '>') --depth;
  }
  return text.npos;
}

}  // namespace

std::string_view innermost_scope(std::string_view stack) {
  std::size_t begin = 0;
  for (std::size_t at = find_outside(stack, ';', 0); at != stack.npos;
       at = find_outside(stack, ';', begin)) {
    begin = at + 1;
  }
  const std::string_view last = stack.substr(begin);
  const std::size_t key_end = find_outside(last, ',', 0);
  if (key_end == last.npos) return {};
  const std::size_t path_end = find_outside(last, ',', key_end + 1);
  std::string_view path = last.substr(key_end + 1);
  if (path_end != last.npos) path = last.substr(key_end + 1, path_end - key_end - 1);
  constexpr std::string_view kOldRoot = "L['self']";
  if (path.starts_with(kOldRoot)) {
    path.remove_prefix(kOldRoot.size());
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return path;
}

}  // namespace cleave
