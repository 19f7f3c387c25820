// Reads the program: nodes, arguments, expressions of sizes.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- arguments ----

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

// Each level is a call of this reader by itself; arguments of torch nest two or three deep.
constexpr int kMostNestedArguments = 16;

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
  each_field([&](std::string_view key) { key == "name" ? add_ref() : cursor_.skip(); });
}

// {"as_tensor": {"name": "x"}} or {"as_none": true}
void Pt2Arguments::read_optional_ref() {
  each_field([&](std::string_view key) { key == "as_tensor" ? read_ref() : cursor_.skip(); });
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
  if (depth_ == kMostNestedArguments) return fail(cursor_.offset(), "is nested too deep");
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

// The number of the kind in `kinds`; nullopt, and a fault, where it is none.
std::optional<std::size_t> kind_in(const Pt2Reading& in, std::span<const std::string_view> kinds,
                                   std::string_view kind, const std::string& what) {
  const auto known = std::ranges::find(kinds, kind);
  if (known != kinds.end()) return static_cast<std::size_t>(known - kinds.begin());
  in.arguments.fail(in.cursor.offset(), "has " + what + " of a kind that cleave does not know, " +
                                            escaped_in_quotes(kind) + ": a newer torch wrote it");
  return std::nullopt;
}

void read_output_spec(const Pt2Reading& in) {
  Pt2Output output;
  const std::uint64_t begin = in.cursor.offset();
  in.arguments.each_field([&](std::string_view kind) {
    const auto number = kind_in(in, kOutputKinds, kind, "an output");
    if (!number) return;
    output.kind = static_cast<Pt2OutputKind>(*number);
    in.arguments.each_field([&](std::string_view key) {
      const bool is_text = in.cursor.type() == JsonType::string;
      const bool is_target = contains(kTargetFields, key);
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
    const auto number = kind_in(in, kInputKinds, kind, "an input");
    if (!number) return;
    input.kind = static_cast<Pt2InputKind>(*number);
    in.arguments.each_field([&](std::string_view key) {
      const bool is_text = in.cursor.type() == JsonType::string;
      if (is_text && *number < 4 && key == kTargetFields[*number]) {
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

// ---- size expression ----

namespace {

// Each level is a call. A dim that depends on another through a hundred operators is no longer a
// text to read.
constexpr int kMostNestedTerms = 100;
using Number = std::optional<std::int64_t>;

struct Term {
  std::string text;
  Number value;
  bool is_sum = false;  // needs brackets inside a product
};

Number multiplied(Number a, Number b) {
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

Number added(Number a, Number b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Number floor_divided(Number a, Number b) {
  if (!a || !b || *b == 0 || *b == -1) return std::nullopt;
  return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0) ? 1 : 0);
}

Number modulo(Number a, Number b) {
  const Number quotient = floor_divided(a, b);
  if (!quotient) return std::nullopt;
  return *a - *quotient * *b;
}

Number power(Number base, Number exponent) {
  // 2 to the power of 63 is more than a size, so a larger exponent overflows in any case; the loop
  // stays short whatever the file says.
  constexpr std::int64_t kMost = 64;
  if (!exponent || *exponent < 0 || *exponent > kMost) return std::nullopt;
  Number result = 1;
  for (std::int64_t i = 0; i < *exponent; ++i) result = multiplied(result, base);
  return result;
}

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const SymbolValue& value_of)
      : text_(text), value_of_(value_of) {}

  SizeText read() {
    Term term = read_term(0);
    pass_blanks();
    if (is_bad_ || at_ != text_.size()) return {std::string(text_), symbols_in(text_), {}};
    if (term.value && *term.value < 0) term.value.reset();
    return {std::move(term.text), symbols_in(text_), term.value};
  }

 private:
  Term bad() {
    is_bad_ = true;
    return {};
  }
  void pass_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool pass(char c) {
    pass_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view take_word() {
    pass_blanks();
    const std::size_t begin = at_;
    const auto is_of_word = [](char c) { return is_word_char(c) || c == '-' || c == '.'; };
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Term read_term(int depth) {
    if (depth > kMostNestedTerms || is_bad_) return bad();
    const std::string_view name = take_word();
    if (!pass('(')) return bad();
    if (name == "Symbol") return read_symbol();
    if (name == "Integer") return read_integer();
    std::vector<Term> terms;
    while (!is_bad_ && !pass(')')) {
      terms.push_back(read_term(depth + 1));
      pass(',');
      if (at_ >= text_.size()) return bad();
    }
    return is_bad_ ? Term{} : combined(name, terms);
  }

  // Symbol('s77', positive=True, integer=True)
  Term read_symbol() {
    if (!pass('\'')) return bad();
    const std::size_t end = text_.find('\'', at_);
    const std::size_t close = text_.find(')', at_);
    if (end == text_.npos || close == text_.npos || close < end) return bad();
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = close + 1;
    return {std::string(name), value_of_(name)};
  }

  Term read_integer() {
    const std::string_view digits = take_word();
    const auto number = parse_number<std::int64_t>(digits);
    if (!number || !pass(')')) return bad();
    return {std::string(digits), *number};
  }

  static std::string in_product(const Term& term) {
    return term.is_sum ? "(" + term.text + ")" : term.text;
  }

  Term combined(std::string_view name, const std::vector<Term>& terms) {
    if (terms.empty()) return bad();
    if (name == "Mul") return product(terms);
    if (name == "Add") return sum(terms);
    if (name == "Min" || name == "Max") return extreme(name, terms);
    if (terms.size() != 2) return bad();
    const std::string left = in_product(terms[0]), right = in_product(terms[1]);
    const Number a = terms[0].value, b = terms[1].value;
    if (name == "Pow") return {left + "^" + right, power(a, b)};
    if (name == "FloorDiv") return {left + "//" + right, floor_divided(a, b)};
    if (name == "Mod" || name == "PythonMod") return {left + "%" + right, modulo(a, b)};
    return bad();
  }

  static Term sum(const std::vector<Term>& terms) {
    Term all = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all.text += " + " + terms[i].text;
      all.value = added(all.value, terms[i].value);
    }
    all.is_sum = true;
    return all;
  }

  static Term product(const std::vector<Term>& terms) {
    Term all = terms.front();
    all.text = in_product(all);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all.text += "*" + in_product(terms[i]);
      all.value = multiplied(all.value, terms[i].value);
    }
    all.is_sum = false;
    return all;
  }

  static Term extreme(std::string_view name, const std::vector<Term>& terms) {
    Term all{name == "Min" ? "min(" : "max(", terms.front().value};
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i > 0) all.text += ", ";
      all.text += terms[i].text;
      if (!all.value || !terms[i].value) {
        all.value.reset();
      } else {
        all.value = name == "Min" ? std::min(*all.value, *terms[i].value)
                                  : std::max(*all.value, *terms[i].value);
      }
    }
    all.text += ")";
    return all;
  }

  std::string_view text_;
  const SymbolValue& value_of_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
};

}  // namespace

SizeText read_size_expression(std::string_view expression, const SymbolValue& value_of) {
  return ExpressionReader(expression, value_of).read();
}

std::vector<std::string_view> symbols_in(std::string_view text) {
  constexpr std::string_view kSymbol = "Symbol('";
  std::vector<std::string_view> symbols;
  for (std::size_t at = text.find(kSymbol); at != text.npos; at = text.find(kSymbol, at)) {
    at += kSymbol.size();
    const std::size_t end = text.find('\'', at);
    if (end == text.npos) break;
    symbols.push_back(text.substr(at, end - at));
  }
  return symbols;
}

namespace {

// Finds rounded terms by the names of functions and their brackets.
class TermFinder {
 public:
  explicit TermFinder(std::string_view text) : text_(text) {}

  std::vector<std::string_view> find() {
    pass_term(0);
    if (is_bad_ || at_ != text_.size()) return {text_};
    return std::move(found_);
  }

 private:
  // Goes behind the term at at_, and adds what is rounded in it. Whether it has symbols.
  bool pass_term(int depth) {
    const std::size_t begin = at_, open = text_.find('(', at_);
    if (depth > kMostNestedTerms || open == text_.npos) return bad();
    const std::string_view name = text_.substr(begin, open - begin);
    at_ = open + 1;
    if (name == "Symbol" || name == "Integer") {
      at_ = text_.find(')', at_);
      if (at_ == text_.npos) return bad();
      ++at_;
      return name == "Symbol";
    }
    const std::size_t known = found_.size();
    std::size_t count = 0;  // of operands with symbols
    while (!is_bad_ && at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == ',' || text_[at_] == ' ') {
        ++at_;
        continue;
      }
      count += pass_term(depth + 1) ? 1U : 0U;
    }
    if (is_bad_ || at_ == text_.size()) return bad();
    ++at_;
    const bool is_linear = name == "Add" || (name == "Mul" && count <= 1) || count == 0;
    if (!is_linear) {
      found_.resize(known);
      found_.push_back(text_.substr(begin, at_ - begin));
    }
    return count > 0;
  }

  bool bad() {
    is_bad_ = true;
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
  std::vector<std::string_view> found_;
};

}  // namespace

std::vector<std::string_view> rounded_terms(std::string_view expression) {
  return TermFinder(expression).find();
}

// ---- size ranges ----

namespace {

// The sizes of a symbol that the model was exported for. nullopt: it has no such bound.
struct SymbolRange {
  std::optional<std::int64_t> least = {}, most = {};
};

SymbolRange range_in(std::string_view constraint) {
  SymbolRange range;
  JsonCursor cursor(constraint);
  if (cursor.type() != JsonType::object) return range;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const bool is_bound = key->text == "min_val" || key->text == "max_val";
    if (is_bound && cursor.type() == JsonType::number) {
      (key->text == "min_val" ? range.least : range.most) = cursor.take_number().integer();
    } else {
      cursor.skip();  // null or a text: there is no bound
    }
  }
  // Some versions of torch write a number near 2^63 where there is no bound.
  constexpr std::int64_t kNoBound = std::int64_t{1} << 60U;
  if (range.most && *range.most >= kNoBound) range.most.reset();
  return range;
}

// "1 to 64", "at most 64", "at least 2"
std::string range_text(const SymbolRange& range) {
  if (range.least && range.most) {
    return std::to_string(*range.least) + " to " + std::to_string(*range.most);
  }
  return range.most ? "at most " + std::to_string(*range.most)
                    : "at least " + std::to_string(*range.least);
}

}  // namespace

void report_sizes_out_of_range(const Pt2Program& program, const ShapeBindings& bound,
                               JsonFaults& faults) {
  for (const auto& range_of_symbol : program.ranges) {
    const std::string_view symbol = range_of_symbol.first;
    const auto given =
        std::ranges::find_if(bound.dims, [&](const auto& dim) { return dim.first == symbol; });
    if (given == bound.dims.end() || given->second < 0) continue;
    const SymbolRange range = range_in(program.text_of(range_of_symbol.second));
    const std::int64_t size = given->second;
    const bool fits =
        (!range.least || size >= *range.least) && (!range.most || size <= *range.most);
    if (fits) continue;
    faults.add("the size " + std::to_string(size) + " of " + escaped_in_quotes(symbol) +
               " is not one that the model was exported for: " + range_text(range));
  }
}

// ---- program reader ----
//
// Reads the document of a program in one pass:
//   1. the graph: inputs, outputs, nodes, tables of values
//   2. the signature: the kinds of the inputs and outputs
//   3. positions of the rest: module calls, ranges of symbols, versions
// Unknown fields of objects are ignored: newer torch adds fields that older readers do not need.

namespace {

constexpr std::int64_t kSchemaMajor = 8;
constexpr std::string_view kBodyCalls = "torch.ops.higher_order.";
// Bodies of torch.cond within each other: each takes a reader of its own on the stack. Deeper ones
// stay empty.
constexpr std::size_t kMostNestedBodies = 8;

class ProgramReader {
 public:
  ProgramReader(const Pt2Archive& archive, const std::string& file, const ModelLimits& limits)
      : ProgramReader(archive, archive.program, file, limits) {}
  // Reads `text`, a part of the archive's program.
  ProgramReader(const Pt2Archive& archive, std::string_view text, const std::string& file,
                const ModelLimits& limits)
      : archive_(archive),
        file_(file),
        limits_(limits),
        cursor_(text, limits.depth),
        arguments_(cursor_, program_, limits) {
    program_.text = text;
  }

  Loaded<Pt2Program> read();
  // Reads the body of a node at that depth; an empty program if it is none.
  Pt2Program read_body(std::size_t depth);

 private:
  void each_field(const auto& visit) { arguments_.each_field(visit); }
  void each_item(const auto& visit) { arguments_.each_item(visit); }
  // Skips the value at the cursor and returns its position.
  SourceSpan pass() {
    const std::uint64_t begin = cursor_.offset();
    cursor_.skip();
    return span_from(begin);
  }
  SourceSpan span_from(std::uint64_t begin) const { return arguments_.span_from(begin); }
  Pt2Reading reading() { return {cursor_, arguments_, program_, limits_}; }
  void fail(std::uint64_t at, std::string what) { arguments_.fail(at, std::move(what)); }

  void read_document();
  void read_schema_version();
  void read_module();
  void read_graph();
  void read_node();
  void name_node(Pt2Node& node);
  void read_node_argument();
  void read_metadata(Pt2Node& node);
  void read_results(Pt2Node& node);
  void add_maker(std::uint32_t value);
  void read_modules();
  void check_inputs();
  void check_refs();
  void read_bodies(std::size_t depth);
  Diagnostics errors() const;

  const Pt2Archive& archive_;
  const std::string& file_;
  const ModelLimits& limits_;
  Pt2Program program_;
  JsonCursor cursor_;
  Pt2Arguments arguments_;
  bool has_graph_ = false, has_signature_ = false, has_version_ = false;
  std::vector<SourceSpan> graph_inputs_, graph_outputs_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> input_refs_, output_refs_;
  std::vector<SourceSpan> bodies_;
  NameTable node_names_;
};

void ProgramReader::read_document() {
  each_field([&](std::string_view key) {
    if (key == "graph_module") return read_module();
    if (key == "range_constraints") {
      return each_field(
          [&](std::string_view symbol) { program_.ranges.emplace_back(symbol, pass()); });
    }
    const std::uint64_t begin = cursor_.offset();
    if (key == "schema_version") {
      read_schema_version();
    } else {
      cursor_.skip();
    }
    program_.fields.emplace_back(key, span_from(begin));
  });
  cursor_.expect_end();
  if (!has_graph_) fail(0, "has no graph");
  if (!has_version_) fail(0, "has no \"schema_version\"");
}

void ProgramReader::read_schema_version() {
  const std::uint64_t begin = cursor_.offset();
  has_version_ = true;
  each_field([&](std::string_view key) {
    if (key != "major") return cursor_.skip();
    const std::int64_t major = arguments_.take_integer();
    if (major == kSchemaMajor || major == 0) return;
    fail(begin, "is of schema version " + std::to_string(major) + "; cleave reads version " +
                    std::to_string(kSchemaMajor) + ": save it again with torch 2.6 to 2.15");
  });
}

void ProgramReader::read_module() {
  each_field([&](std::string_view key) {
    if (key == "graph") return read_graph();
    if (key == "signature") {
      has_signature_ = true;
      return read_pt2_signature(reading());
    }
    if (key == "module_call_graph") return read_modules();
    cursor_.skip();
  });
}

void ProgramReader::read_graph() {
  if (has_graph_) return fail(cursor_.offset(), "has two graphs");
  has_graph_ = true;
  const auto read_list = [&](std::vector<SourceSpan>& spans, auto& refs) {
    each_item([&] {
      const std::uint64_t begin = cursor_.offset();
      const Pt2Arguments::Read read = arguments_.read();
      spans.push_back(span_from(begin));
      refs.emplace_back(read.ref_begin, static_cast<std::uint32_t>(program_.refs.size()));
    });
  };
  each_field([&](std::string_view key) {
    if (key == "inputs") return read_list(graph_inputs_, input_refs_);
    if (key == "outputs") return read_list(graph_outputs_, output_refs_);
    if (key == "nodes") {
      const std::uint64_t begin = cursor_.offset();
      each_item([&] { read_node(); });
      program_.nodes_at = span_from(begin);
      return;
    }
    for (std::uint8_t table = 0; table < std::size(kPt2ValueTables); ++table) {
      if (key == kPt2ValueTables[table]) return read_value_table(reading(), table);
    }
    cursor_.skip();
  });
}

void ProgramReader::read_node() {
  const std::uint64_t begin = cursor_.offset();
  if (program_.nodes.size() >= limits_.nodes) {
    return fail(begin, "the graph has " + beyond_limit(limits_, &ModelLimits::nodes));
  }
  Pt2Node node;
  bool has_body_flag = false;
  node.argument_begin = static_cast<std::uint32_t>(program_.arguments.size());
  each_field([&](std::string_view key) {
    if (key == "target") {
      node.target = arguments_.take_name();
    } else if (key == "name" && cursor_.type() == JsonType::string) {
      node.name = arguments_.take_name();
    } else if (key == "inputs") {
      each_item([&] { read_node_argument(); });
    } else if (key == "outputs") {
      read_results(node);
    } else if (key == "metadata") {
      read_metadata(node);
    } else if (key == "is_hop_single_tensor_return") {
      has_body_flag = true;
      cursor_.skip();
    } else {
      cursor_.skip();
    }
  });
  if (arguments_.is_over()) return;
  node.argument_end = static_cast<std::uint32_t>(program_.arguments.size());
  if (node.argument_end - node.argument_begin > limits_.attributes) {
    return fail(begin, "a node has " + beyond_limit(limits_, &ModelLimits::attributes));
  }
  node.span = span_from(begin);
  if (node.target.empty()) return fail(begin, "a node has no \"target\"");
  node.body_begin = static_cast<std::uint32_t>(bodies_.size());
  for (const SourceSpan body : arguments_.take_graphs()) bodies_.push_back(body);
  node.body_end = static_cast<std::uint32_t>(bodies_.size());
  node.is_old_body_call = node.target.starts_with(kBodyCalls) && !has_body_flag;
  name_node(node);
  program_.nodes.push_back(node);
}

// Torch up to 2.7 has no node names: a node is named after its only result, else after the
// operator.
void ProgramReader::name_node(Pt2Node& node) {
  const std::string number = std::to_string(program_.nodes.size());
  const bool has_one = node.result_end - node.result_begin == 1 && !node.lists_results;
  if (node.name.empty() && has_one) {
    node.name = program_.values[program_.refs[node.result_begin].value].name;
  }
  const auto is_taken = [&](std::string_view name) {
    const auto fresh = static_cast<std::uint32_t>(program_.nodes.size());
    return node_names_.find_or_insert(name, fresh, [&](std::uint32_t i) {
      return program_.nodes[i].name;
    }) != NameTable::kAbsent;
  };
  if (!node.name.empty() && !is_taken(node.name)) return;
  const std::string_view path =
      node.target;  // torch.ops.aten.add.Tensor, torch.ops.higher_order.cond
  const bool has_overload = std::ranges::count(path, '.') > 3;
  const std::string_view whole = has_overload ? path.substr(0, path.rfind('.')) : path;
  const std::string name = std::string(whole.substr(whole.rfind('.') + 1)) + "__" + number;
  node.name = program_.arena.keep(name);
  is_taken(node.name);
}

void ProgramReader::read_node_argument() {
  Pt2Argument argument;
  argument.ref_begin = static_cast<std::uint32_t>(program_.refs.size());
  each_field([&](std::string_view key) {
    if (key == "name") {
      argument.name = arguments_.take_name();
    } else if (key == "kind" && cursor_.type() == JsonType::number) {
      argument.is_keyword = arguments_.take_integer() == 2;
    } else if (key == "arg") {
      const Pt2Arguments::Read read = arguments_.read();
      argument.is_list = read.is_list;
      argument.has_literal = read.has_literal;
      argument.literal = read.literal;
    } else {
      cursor_.skip();
    }
  });
  argument.ref_end = static_cast<std::uint32_t>(program_.refs.size());
  program_.arguments.push_back(argument);
}

void ProgramReader::read_metadata(Pt2Node& node) {
  const std::uint64_t begin = cursor_.offset();
  if (cursor_.type() != JsonType::object) return cursor_.skip();
  each_field([&](std::string_view key) {
    if (key != "nn_module_stack" || cursor_.type() != JsonType::string) return cursor_.skip();
    const JsonString stack = cursor_.take_string();
    const std::string_view text =
        stack.has_escapes ? program_.arena.keep(unescaped(stack)) : stack.text;
    node.scope = innermost_scope(text);
  });
  node.metadata = span_from(begin);
}

void ProgramReader::read_results(Pt2Node& node) {
  const std::uint64_t begin = cursor_.offset();
  node.result_begin = static_cast<std::uint32_t>(program_.refs.size());
  each_item([&] {
    if (arguments_.read().is_list) node.lists_results = true;
  });
  node.result_end = static_cast<std::uint32_t>(program_.refs.size());
  node.results = span_from(begin);
  for (std::uint32_t i = node.result_begin; i < node.result_end; ++i) {
    add_maker(program_.refs[i].value);
  }
}

void ProgramReader::add_maker(std::uint32_t number) {
  Pt2Value& value = program_.values[number];
  if (value.maker != kNoPt2) {
    return fail(cursor_.end_of_last(), "value " + escaped_in_quotes(value.name) + " is made twice");
  }
  value.maker = static_cast<std::uint32_t>(program_.nodes.size());
}

void ProgramReader::read_modules() {
  const std::uint64_t list = cursor_.offset();
  each_item([&] {
    const std::uint64_t begin = cursor_.offset();
    std::string_view name;
    each_field([&](std::string_view key) {
      if (key == "fqn" && cursor_.type() == JsonType::string) {
        name = arguments_.take_name();
      } else {
        cursor_.skip();
      }
    });
    program_.modules.emplace_back(name, span_from(begin));
  });
  program_.modules_at = span_from(list);
}

// Joins the graph's lists of inputs and outputs with the signature.
void ProgramReader::check_inputs() {
  if (!has_signature_) return fail(0, "has no signature");
  if (program_.modules_at.length == 0) return fail(0, "has no \"module_call_graph\"");
  if (program_.inputs.size() != graph_inputs_.size() ||
      program_.outputs.size() != graph_outputs_.size()) {
    return fail(0, "has a signature that does not fit the graph's inputs and outputs");
  }
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    Pt2Input& input = program_.inputs[i];
    input.argument = graph_inputs_[i];
    const auto [begin, end] = input_refs_[i];
    if (begin == end) {
      if (is_lifted(input.kind)) fail(input.argument.offset, "an input has no name");
      input.kind = Pt2InputKind::constant_input;
      continue;
    }
    input.value = program_.refs[begin].value;
    Pt2Value& value = program_.values[input.value];
    if (value.maker != kNoPt2 || value.input != kNoPt2 || end - begin > 1) {
      return fail(input.argument.offset,
                  "value " + escaped_in_quotes(value.name) + " is made twice");
    }
    value.input = static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    program_.outputs[i].argument = graph_outputs_[i];
    const auto [begin, end] = output_refs_[i];
    program_.outputs[i].refs.assign(program_.refs.begin() + begin, program_.refs.begin() + end);
  }
}

// Checks that every value that is read is an input or made by an earlier node.
void ProgramReader::check_refs() {
  const auto check = [&](const Pt2Ref& ref, std::uint32_t reader) {
    const Pt2Value& value = program_.values[ref.value];
    if (value.input != kNoPt2) return;
    if (value.maker == kNoPt2) {
      return fail(ref.name_at, "nothing makes the value " + escaped_in_quotes(value.name));
    }
    if (value.maker >= reader) {
      fail(ref.name_at, "value " + escaped_in_quotes(value.name) + " is read before it is made");
    }
  };
  const auto count = static_cast<std::uint32_t>(program_.nodes.size());
  for (std::uint32_t i = 0; i < count && !arguments_.is_over(); ++i) {
    each_ref(program_, program_.nodes[i], [&](std::uint32_t r) { check(program_.refs[r], i); });
  }
  for (const Pt2Output& output : program_.outputs) {
    for (const Pt2Ref& ref : output.refs) check(ref, count);
  }
}

Diagnostics ProgramReader::errors() const {
  const std::string name = file_ + ":" + archive_.program_name;
  if (const auto& fault = arguments_.fault()) {  // it came before any fault of the JSON
    return {diagnostic_at(name, program_.text, fault->offset, fault->message)};
  }
  return {diagnostic_at(name, program_.text, cursor_.fault()->offset, cursor_.fault()->message)};
}

Loaded<Pt2Program> ProgramReader::read() {
  read_document();
  if (!arguments_.is_over()) check_inputs();
  if (!arguments_.is_over()) check_refs();
  if (arguments_.is_over()) return errors();
  read_bodies(0);
  return std::move(program_);
}

void ProgramReader::read_bodies(std::size_t depth) {
  program_.bodies.reserve(bodies_.size());
  for (const SourceSpan body : bodies_) {
    program_.bodies.push_back(
        depth == kMostNestedBodies
            ? Pt2Program()
            : ProgramReader(archive_, program_.text_of(body), file_, limits_).read_body(depth + 1));
  }
}

//   {"name": "body", "graph": {"inputs": [...], "outputs": [...], "nodes": [...], ...}}
Pt2Program ProgramReader::read_body(std::size_t depth) {
  each_field([&](std::string_view key) { key == "graph" ? read_graph() : cursor_.skip(); });
  for (std::size_t i = 0; i < input_refs_.size() && !arguments_.is_over(); ++i) {
    const auto [begin, end] = input_refs_[i];
    Pt2Input& input = program_.inputs.emplace_back();
    if (begin == end) continue;
    input.value = program_.refs[begin].value;
    program_.values[input.value].input = static_cast<std::uint32_t>(i);
  }
  for (const auto& [begin, end] : output_refs_) {
    program_.outputs.emplace_back().refs.assign(program_.refs.begin() + begin,
                                                program_.refs.begin() + end);
  }
  if (!arguments_.is_over()) check_refs();
  if (arguments_.is_over() || !has_graph_) return {};
  read_bodies(depth);
  return std::move(program_);
}

}  // namespace

bool is_region(std::string_view target) {
  constexpr std::array<std::string_view, 5> kRegions = {
      "wrap_with_set_grad_enabled", "wrap_with_autocast", "wrap", "wrap_activation_checkpoint",
      "tag_activation_checkpoint"};
  if (!target.starts_with(kBodyCalls)) return false;
  return std::ranges::find(kRegions, target.substr(kBodyCalls.size())) != kRegions.end();
}

std::uint32_t Pt2Program::find_value(std::string_view name) const {
  const std::uint32_t found =
      value_table.find(name, [this](std::uint32_t i) { return values[i].name; });
  return found == NameTable::kAbsent ? kNoPt2 : found;
}

Loaded<Pt2Program> read_pt2_program(const Pt2Archive& archive, const std::string& file,
                                    const ModelLimits& limits) {
  return ProgramReader(archive, file, limits).read();
}

}  // namespace cleave
