// Sizes that a TensorFlow Lite model computes: shapes of tensors, and numbers that shapes are made of.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "formats/tflite/internal.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- rules ----
//
// What an operator makes, as its kernel says before it runs: the dims of its outputs, and their numbers where these are few.
// Axes are batch, height, width, channels.

namespace {

using Dims = TfliteSizes::Dims;
using Numbers = TfliteSizes::Numbers;
using Known = TfliteSizes::Known;

// Numbers are followed where they may become sizes: shapes, axes, begins. Larger tensors are data.
constexpr std::int64_t kMostNumbers = 256;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::int64_t times(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 ? -1 : checked_product(a, b).value_or(-1);
}
std::int64_t plus(std::int64_t a, std::int64_t b) { return a < 0 || b < 0 ? -1 : a + b; }
std::int64_t over(std::int64_t a, std::int64_t b) { return a < 0 || b < 1 ? -1 : a / b; }
std::int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, times);
}
std::int64_t size_from(double number) {
  return number >= 0 && number < 1e9 ? static_cast<std::int64_t>(number) : -1;
}

// An operator with what is known of its inputs.
class Call {
 public:
  using Compute = double (*)(double, double);
  Call(const TfliteOperator& op, const std::vector<const Known*>& in, std::vector<Known>& outputs,
       Compute computes)
      : out(outputs), compute(computes), op_(op), in_(in) {}

  std::size_t inputs() const { return in_.size(); }
  bool has(std::size_t i) const { return i < in_.size() && in_[i] != nullptr; }
  Dims dims(std::size_t i) const { return has(i) ? in_[i]->dims : Dims{}; }
  // Of a small tensor, as many as it has elements.
  Numbers numbers(std::size_t i) const {
    const std::int64_t count = has(i) ? count_of(in_[i]->dims) : 0;
    if (count < 0 || count > kMostNumbers) return {};
    const Numbers none(static_cast<std::size_t>(count), kUnknown);
    return has(i) && in_[i]->numbers.size() == none.size() ? in_[i]->numbers : none;
  }
  double number(std::size_t i, std::size_t element = 0) const {
    const Numbers all = numbers(i);
    return element < all.size() ? all[element] : kUnknown;
  }
  // The numbers as sizes; what the file says of the output where not even their count is known.
  Dims sizes(std::size_t i) const {
    if (!has(i) || count_of(in_[i]->dims) < 0) return out[0].dims;
    Dims sizes;
    for (const double one : numbers(i)) sizes.push_back(size_from(one));
    return sizes;
  }

  // Fields of the options, by name.
  std::int64_t option(std::string_view name, std::int64_t otherwise = 0) const {
    const SchemaFieldId field = field_of(name);
    return field == kNoSchema ? otherwise : op_.options.integer(field);
  }
  FlatInts options(std::string_view name) const {
    const SchemaFieldId field = field_of(name);
    return field == kNoSchema ? FlatInts{} : op_.options.ints(field);
  }

  std::vector<Known>& out;  // has what the file says, -1 for what is open
  const Compute compute;    // of numbers; null: there is none

 private:
  SchemaFieldId field_of(std::string_view name) const {
    if (op_.options.is_absent()) return kNoSchema;
    const SchemaTable& table = kSchemaTables[op_.options.type()];
    for (SchemaFieldId field = table.first; field < table.first + table.count; ++field) {
      if (kSchemaFields[field].name == name) return field;
    }
    return kNoSchema;
  }
  const TfliteOperator& op_;
  const std::vector<const Known*>& in_;
};

std::int64_t broadcast_size(std::int64_t a, std::int64_t b) {
  if (a == 1 || a == b) return b;
  if (b == 1) return a;
  return a < 0 ? b : (b < 0 ? a : -1);
}

Dims broadcast(Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (std::size_t back = 1; back <= b.size(); ++back) {
    std::int64_t& size = a[a.size() - back];
    size = broadcast_size(size, b[b.size() - back]);
  }
  return a;
}

void like_first(Call& call) {
  call.out[0].dims = call.dims(0);
  if (call.compute == nullptr) return;
  for (const double one : call.numbers(0)) call.out[0].numbers.push_back(call.compute(one, 0));
}

void broadcasting(Call& call) {
  Dims dims;
  for (std::size_t i = 0; i < call.inputs(); ++i) dims = broadcast(std::move(dims), call.dims(i));
  call.out[0].dims = std::move(dims);
  const Numbers a = call.numbers(0), b = call.numbers(1);
  const bool fits = a.size() == b.size() || a.size() == 1 || b.size() == 1;
  if (call.compute == nullptr || !fits || a.empty() || b.empty()) return;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    call.out[0].numbers.push_back(call.compute(a[i % a.size()], b[i % b.size()]));
  }
}

void shape(Call& call) {
  const Dims dims = call.dims(0);
  call.out[0].dims = {static_cast<std::int64_t>(dims.size())};
  for (const std::int64_t size : dims) {
    call.out[0].numbers.push_back(size < 0 ? kUnknown : static_cast<double>(size));
  }
}

void rank(Call& call) { call.out[0].numbers = {static_cast<double>(call.dims(0).size())}; }

// The same elements with these dims.
void give_dims(Call& call, Dims dims) { call.out[0] = {std::move(dims), call.numbers(0)}; }

// One size that is -1, or not known, follows from the count of elements.
void reshape(Call& call) {
  Dims to = call.sizes(1);
  if (!call.has(1)) {
    const FlatInts stated = call.options("new_shape");
    to.clear();
    for (std::uint32_t i = 0; i < stated.size(); ++i) to.push_back(stated[i]);
  }
  if (const auto open = std::ranges::find(to, -1); open != to.end()) {
    *open = 1;
    const std::int64_t all = count_of(call.dims(0)), rest = count_of(to);
    *open = rest > 0 && all >= 0 && all % rest == 0 ? all / rest : -1;
  }
  give_dims(call, std::move(to));
}

// Where a slice of an axis begins, its step, and how many elements it has.
struct Cut {
  double begin = 0, step = 1;
  std::int64_t count = -1;
};

std::int64_t steps_between(double begin, double end, double step) {
  return step == 0 ? -1 : size_from(std::ceil((end - begin) / step));
}

Cut cut_of(std::int64_t size, double begin, double end, double step) {
  if (size < 0) return {};
  const auto all = static_cast<double>(size);
  const auto within = [&](double at) {
    if (at < 0) at += all;
    return step > 0 ? std::clamp(at, 0.0, all) : std::clamp(at, -1.0, all - 1);
  };
  const double first = within(begin), last = std::isinf(end) ? (step > 0 ? all : -1) : within(end);
  if (std::isnan(first + last + step)) return {};
  return {first, step, (last - first) * step <= 0 ? 0 : steps_between(first, last, step)};
}

// The elements of the cut, of a tensor with one axis.
void take_numbers(Call& call, const Cut& cut) {
  const Numbers from = call.numbers(0);
  if (cut.count < 0 || cut.count > static_cast<std::int64_t>(from.size())) return;
  for (std::int64_t i = 0; i < cut.count; ++i) {
    const double at = cut.begin + static_cast<double>(i) * cut.step;
    const bool is_inside = at >= 0 && at < static_cast<double>(from.size());
    call.out[0].numbers.push_back(is_inside ? from[static_cast<std::size_t>(at)] : kUnknown);
  }
}

void strided_slice(Call& call) {
  const auto has = [&](std::string_view mask, std::size_t i) {
    return i < 31 && (call.option(mask) >> i & 1) != 0;
  };
  const Dims from = call.dims(0);
  const std::size_t specs = call.numbers(1).size();
  std::size_t axes = 0;  // that have a spec of their own
  for (std::size_t i = 0; i < specs; ++i) {
    axes += has("ellipsis_mask", i) || has("new_axis_mask", i) ? 0U : 1U;
  }
  if (axes > from.size() || count_of(call.dims(1)) != static_cast<std::int64_t>(specs)) return;
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  Dims dims;
  std::size_t axis = 0;
  Cut cut;
  for (std::size_t i = 0; i < specs; ++i) {
    if (has("ellipsis_mask", i)) {
      for (; axes < from.size(); ++axes) dims.push_back(from[axis++]);
    } else if (has("new_axis_mask", i)) {
      dims.push_back(1);
    } else {
      const double step = call.number(3, i);
      const double begin = has("begin_mask", i) ? (step > 0 ? 0 : kEnd) : call.number(1, i);
      const double length = call.option("offset") != 0 ? begin : 0;
      cut =
          cut_of(from[axis++], begin, has("end_mask", i) ? kEnd : length + call.number(2, i), step);
      if (has("shrink_axis_mask", i)) cut = {cut.begin, 1, std::isnan(begin) ? -1 : 1};
      if (!has("shrink_axis_mask", i)) dims.push_back(cut.count);
    }
  }
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(axis), from.end());
  call.out[0].dims = std::move(dims);
  if (from.size() == 1 && specs == 1 && axis == 1) take_numbers(call, cut);
}

void slice(Call& call) {
  Dims dims = call.dims(0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double size = call.number(2, i);
    const bool is_rest = size == -1 && dims[i] >= 0;
    dims[i] = size_from(is_rest ? static_cast<double>(dims[i]) - call.number(1, i) : size);
  }
  if (dims.size() == 1 && call.number(1) >= 0) take_numbers(call, {call.number(1), 1, dims[0]});
  call.out[0].dims = std::move(dims);
}

// An axis that a tensor states, counted from the end when below 0.
std::optional<std::size_t> stated_axis(double axis, std::size_t rank) {
  if (!(std::fabs(axis) < 64)) return std::nullopt;
  return axis_of(static_cast<std::int64_t>(axis), rank);
}

// Puts a size into the dims at an axis.
std::optional<Dims> with_axis(Dims dims, double axis, std::int64_t size) {
  const auto at = stated_axis(axis, dims.size() + 1);
  if (at) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*at), size);
  return at ? std::optional(std::move(dims)) : std::nullopt;
}

// The dims without the axes, or with 1 in their place.
std::optional<Dims> without(Dims dims, const Numbers& axes, bool keeps) {
  for (const double one : axes) {
    const auto axis = stated_axis(one, dims.size());
    if (!axis) return std::nullopt;
    dims[*axis] = keeps ? 1 : -2;
  }
  std::erase(dims, -2);
  return dims;
}

void set_dims(Call& call, std::optional<Dims> dims) {
  if (dims) call.out[0].dims = *std::move(dims);
}

void pack(Call& call) {
  const auto count = static_cast<std::int64_t>(call.inputs());
  set_dims(call, with_axis(call.dims(0), static_cast<double>(call.option("axis")), count));
  if (!call.dims(0).empty()) return;
  for (std::size_t i = 0; i < call.inputs(); ++i) call.out[0].numbers.push_back(call.number(i));
}

void unpack(Call& call) {
  const auto dims = without(call.dims(0), {static_cast<double>(call.option("axis"))}, false);
  for (std::size_t i = 0; dims && i < call.out.size(); ++i) {
    call.out[i].dims = *dims;
    if (dims->empty()) call.out[i].numbers = {call.number(0, i)};
  }
}

void concatenate(Call& call) {
  Dims dims = call.dims(0);
  const auto axis = axis_of(call.option("axis"), dims.size());
  if (!axis) return;
  dims[*axis] = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const Dims one = call.dims(i);
    if (one.size() != dims.size()) return;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (k == *axis || dims[k] < 0) dims[k] = k == *axis ? plus(dims[k], one[k]) : one[k];
    }
    const Numbers more = call.numbers(i);
    if (dims.size() == 1) {
      call.out[0].numbers.insert(call.out[0].numbers.end(), more.begin(), more.end());
    }
  }
  call.out[0].dims = std::move(dims);
}

void split_into(Call& call, std::size_t value, double along, const Dims* given) {
  const Dims from = call.dims(value);
  const auto axis = stated_axis(along, from.size());
  if (!axis) return;
  const Numbers numbers = call.numbers(value);
  const auto count = static_cast<std::int64_t>(call.out.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const std::int64_t size =
        given == nullptr ? over(from[*axis], count) : (i < given->size() ? (*given)[i] : -1);
    call.out[i].dims = from;
    call.out[i].dims[*axis] = size;
    for (std::int64_t k = 0; k < size && at < numbers.size() && from.size() == 1; ++k) {
      call.out[i].numbers.push_back(numbers[at++]);
    }
  }
}
void split(Call& call) { split_into(call, 1, call.number(0), nullptr); }
void split_v(Call& call) {
  Dims sizes = call.sizes(1);
  if (std::ranges::count(sizes, -1) > 0) sizes.clear();  // also where one is the rest
  split_into(call, 0, call.number(2), &sizes);
}

void gather_from(Call& call, std::size_t table, std::size_t indices, std::int64_t along) {
  const Dims from = call.dims(table), at = call.dims(indices);
  const auto axis = axis_of(along, from.size());
  const std::int64_t batch = call.option("batch_dims");
  if (!axis || batch < 0 || batch > static_cast<std::int64_t>(at.size())) return;
  Dims dims(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), at.begin() + batch, at.end());
  dims.insert(dims.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from.end());
  call.out[0].dims = std::move(dims);
  if (from.size() != 1) return;
  for (const double one : call.numbers(indices)) {
    call.out[0].numbers.push_back(one >= 0 ? call.number(table, static_cast<std::size_t>(one))
                                           : kUnknown);
  }
}
void gather(Call& call) { gather_from(call, 0, 1, call.option("axis")); }
void look_up(Call& call) { gather_from(call, 1, 0, 0); }

void range(Call& call) {
  const double begin = call.number(0), end = call.number(1), step = call.number(2);
  const std::int64_t count = steps_between(begin, end, step);
  call.out[0].dims = {count};
  for (std::int64_t i = 0; i < count && count <= kMostNumbers; ++i) {
    call.out[0].numbers.push_back(begin + static_cast<double>(i) * step);
  }
}

template <std::size_t input>
void sized_by(Call& call) {
  call.out[0].dims = call.sizes(input);
}

void fill(Call& call) {
  call.out[0].dims = call.sizes(0);
  const std::int64_t count = count_of(call.out[0].dims);
  if (count > kMostNumbers) return;
  call.out[0].numbers.assign(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)),
                             call.number(1));
}

void one_hot(Call& call) {
  const auto axis = static_cast<double>(call.option("axis"));
  set_dims(call, with_axis(call.dims(0), axis, size_from(call.number(1))));
}

void expand_dims(Call& call) {
  if (auto dims = with_axis(call.dims(0), call.number(1), 1)) give_dims(call, *std::move(dims));
}

void squeeze(Call& call) {
  const Dims from = call.dims(0);
  const FlatInts stated = call.options("squeeze_dims");
  Numbers axes;
  for (std::uint32_t i = 0; i < stated.size(); ++i) axes.push_back(stated[i]);
  for (std::size_t i = 0; i < from.size() && stated.empty(); ++i) {
    if (from[i] < 0) return;  // gone if it is 1
    if (from[i] == 1) axes.push_back(static_cast<double>(i));
  }
  if (auto dims = without(from, axes, false)) give_dims(call, *std::move(dims));
}

void reduce(Call& call) {
  set_dims(call, without(call.dims(0), call.numbers(1), call.option("keep_dims") != 0));
  const Numbers from = call.numbers(0);
  if (call.compute == nullptr || from.empty()) return;
  call.out[0].numbers = {std::accumulate(from.begin() + 1, from.end(), from[0], call.compute)};
}

void best_along(Call& call) { set_dims(call, without(call.dims(0), {call.number(1)}, false)); }

void transpose(Call& call) {
  const Dims from = call.dims(0);
  Dims& dims = call.out[0].dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<std::size_t>(size_from(call.number(1, i)));
    dims[i] = axis < from.size() ? from[axis] : -1;
  }
}

void tile(Call& call) {
  Dims dims = call.dims(0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] = times(dims[i], size_from(call.number(1, i)));
  }
  call.out[0].dims = std::move(dims);
}

void pad(Call& call) {
  Dims dims = call.dims(0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] = plus(dims[i], size_from(call.number(1, 2 * i) + call.number(1, 2 * i + 1)));
  }
  call.out[0].dims = std::move(dims);
}

void top_k(Call& call) {
  for (Known& made : call.out) {
    made.dims = call.dims(0);
    if (!made.dims.empty()) made.dims.back() = size_from(call.number(1));
  }
}

// The axis of a picture behind windows of `width`. Padding 0 is SAME, 1 VALID.
std::int64_t windows(const Call& call, std::int64_t size, std::int64_t width, bool is_height) {
  const std::int64_t stride = call.option(is_height ? "stride_h" : "stride_w");
  const std::int64_t dilation =
      call.option(is_height ? "dilation_h_factor" : "dilation_w_factor", 1);
  if (size < 0 || width < 1 || stride < 1 || dilation < 0) return -1;
  const std::int64_t used = call.option("padding") == 0 ? size : size - times(width - 1, dilation);
  return used < 0 ? -1 : (used + stride - 1) / stride;
}

template <std::size_t channels>
void convolve(Call& call) {
  const Dims from = call.dims(0), weight = call.dims(1);
  if (from.size() != 4 || weight.size() != 4) return;
  call.out[0].dims = {from[0], windows(call, from[1], weight[1], true),
                      windows(call, from[2], weight[2], false), weight[channels]};
}

void pool(Call& call) {
  const Dims from = call.dims(0);
  if (from.size() != 4) return;
  call.out[0].dims = {from[0], windows(call, from[1], call.option("filter_height"), true),
                      windows(call, from[2], call.option("filter_width"), false), from[3]};
}

void resize(Call& call) {
  const Dims from = call.dims(0);
  if (from.size() != 4) return;
  const auto size = [&](std::size_t i) { return size_from(call.number(1, i)); };
  call.out[0].dims = {from[0], size(0), size(1), from[3]};
}

void dense(Call& call) {
  Dims dims = call.dims(0);
  const Dims weight = call.dims(1);
  if (dims.empty() || weight.size() != 2) return;
  if (call.option("keep_num_dims") == 0) dims = {over(count_of(dims), weight[1]), -1};
  dims.back() = weight[0];
  call.out[0].dims = std::move(dims);
}

void multiply_matrices(Call& call) {
  const Dims a = call.dims(0), b = call.dims(1);
  if (a.size() < 2 || b.size() < 2) return;
  Dims dims = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  dims.push_back(a[a.size() - (call.option("adj_x") != 0 ? 1 : 2)]);
  dims.push_back(b[b.size() - (call.option("adj_y") != 0 ? 2 : 1)]);
  call.out[0].dims = std::move(dims);
}

void real_fft(Call& call) {
  Dims dims = call.dims(0);
  if (dims.size() < 2) return;
  dims[dims.size() - 2] = size_from(call.number(1));
  dims.back() = plus(over(size_from(call.number(1, 1)), 2), 1);
  call.out[0].dims = std::move(dims);
}

// All but the last dim of the first input, and the last one as the file has it.
void rows(Call& call) {
  for (Known& made : call.out) {
    if (made.dims.empty() || call.dims(0).empty()) continue;
    const std::int64_t last = made.dims.back();
    made.dims = call.dims(0);
    made.dims.back() = last;
  }
}

double add(double a, double b) { return a + b; }
double multiply(double a, double b) { return a * b; }
double greatest(double a, double b) { return std::isnan(a + b) ? kUnknown : std::max(a, b); }
double least(double a, double b) { return std::isnan(a + b) ? kUnknown : std::min(a, b); }

struct Row {
  std::string_view ops;
  void (*rule)(Call& call);
  Call::Compute compute = nullptr;
};

constexpr Row kRows[] = {
    {"CAST", like_first, [](double a, double) { return a; }},
    {"NEG", like_first, [](double a, double) { return -a; }},
    {"ABS", like_first, [](double a, double) { return std::fabs(a); }},
    {"FLOOR", like_first, [](double a, double) { return std::floor(a); }},
    {"CEIL", like_first, [](double a, double) { return std::ceil(a); }},
    {"ADD_N BUCKETIZE COMPLEX_ABS COS CUMSUM DEQUANTIZE DYNAMIC_UPDATE_SLICE ELU EXP FAKE_QUANT "
     "GELU HARD_SWISH IMAG L2_NORMALIZATION LEAKY_RELU LOCAL_RESPONSE_NORMALIZATION LOG "
     "LOGICAL_NOT LOGISTIC LOG_SOFTMAX MATRIX_SET_DIAG QUANTIZE REAL RELU RELU6 RELU_0_TO_1 "
     "RELU_N1_TO_1 REVERSE_SEQUENCE REVERSE_V2 ROUND RSQRT SIGN SIN SOFTMAX SQRT SQUARE TANH "
     "ZEROS_LIKE",
     like_first},
    {"ADD", broadcasting, add},
    {"SUB", broadcasting, [](double a, double b) { return a - b; }},
    {"MUL", broadcasting, multiply},
    {"DIV", broadcasting, [](double a, double b) { return a / b; }},
    {"FLOOR_DIV", broadcasting, [](double a, double b) { return std::floor(a / b); }},
    {"FLOOR_MOD", broadcasting, [](double a, double b) { return a - std::floor(a / b) * b; }},
    {"MAXIMUM", broadcasting, greatest},
    {"MINIMUM", broadcasting, least},
    {"ATAN2 BITWISE_XOR EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR "
     "NOT_EQUAL POW PRELU RIGHT_SHIFT SELECT SELECT_V2 SQUARED_DIFFERENCE",
     broadcasting},
    {"SHAPE", shape},
    {"RANK", rank},
    {"RESHAPE", reshape},
    {"STRIDED_SLICE", strided_slice},
    {"SLICE", slice},
    {"PACK", pack},
    {"UNPACK", unpack},
    {"CONCATENATION", concatenate},
    {"SPLIT", split},
    {"SPLIT_V", split_v},
    {"GATHER", gather},
    {"EMBEDDING_LOOKUP", look_up},
    {"RANGE", range},
    {"FILL", fill},
    {"CONV_3D_TRANSPOSE RANDOM_STANDARD_NORMAL RANDOM_UNIFORM TRANSPOSE_CONV", sized_by<0>},
    {"BROADCAST_TO SPARSE_TO_DENSE", sized_by<1>},
    {"SCATTER_ND", sized_by<2>},
    {"ONE_HOT", one_hot},
    {"EXPAND_DIMS", expand_dims},
    {"SQUEEZE", squeeze},
    {"SUM", reduce, add},
    {"REDUCE_PROD", reduce, multiply},
    {"REDUCE_MAX", reduce, greatest},
    {"REDUCE_MIN", reduce, least},
    {"MEAN REDUCE_ALL REDUCE_ANY", reduce},
    {"ARG_MAX ARG_MIN", best_along},
    {"TRANSPOSE", transpose},
    {"TILE", tile},
    {"MIRROR_PAD PAD PADV2", pad},
    {"TOPK_V2", top_k},
    {"CONV_2D", convolve<0>},
    {"DEPTHWISE_CONV_2D", convolve<3>},
    {"AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D", pool},
    {"RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR", resize},
    {"FULLY_CONNECTED", dense},
    {"BATCH_MATMUL", multiply_matrices},
    {"RFFT2D", real_fft},
    {"BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN LSTM RNN SVDF "
     "UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN",
     rows},
};

// By number of the operator; null: there is no rule for it.
constexpr auto kRowOf = [] {
  std::array<const Row*, kSchemaOperatorCount> found{};
  for (const Row& row : kRows) {
    for (std::string_view rest = row.ops; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      std::size_t number = 0;
      while (kSchemaOperators[number].name != rest.substr(0, end)) ++number;
      found[number] = &row;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return found;
}();

}  // namespace

// ---- what the file says ----

bool is_open_axis(const TfliteTensor& tensor, std::size_t axis) {
  const FlatInts open = tensor.table.ints(tfl::tensor::signature);
  return open.size() == tensor.shape.size() && open[static_cast<std::uint32_t>(axis)] < 0;
}

std::string size_symbol(const TfliteTensor& tensor, std::size_t axis, bool is_given) {
  return is_given && axis == 0 ? "N" : std::string(tensor.name) + ":" + std::to_string(axis);
}

namespace {

// The shape in the file; -1 for what is open.
Dims stored_dims(const TfliteTensor& tensor) {
  Dims dims;
  for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
    dims.push_back(is_open_axis(tensor, i) ? -1 : tensor.shape[i]);
  }
  return dims;
}

template <class T>
Numbers loaded(std::string_view bytes, std::int64_t count) {
  Numbers numbers;
  for (std::uint64_t at = 0; count > 0 && at + sizeof(T) <= bytes.size();
       at += sizeof(T), --count) {
    numbers.push_back(static_cast<double>(load_flat<T>(bytes, at)));
  }
  return numbers;
}

// Those of a small tensor in the file.
Numbers stored_numbers(const TfliteModel& model, const TfliteTensor& tensor) {
  const std::int64_t count = count_of(stored_dims(tensor));
  if (!is_stored(tensor) || tensor.external != 0 || tensor.table.has(tfl::tensor::sparsity))
    return {};
  if (count < 1 || count > kMostNumbers) return {};
  const TfliteBytes& at = model.buffers[tensor.buffer];
  const std::string_view bytes = model.bytes.substr(at.offset, at.size);
  const DType dtype = tflite_dtype(tensor.type);
  if (dtype == DType::int32) return loaded<std::int32_t>(bytes, count);
  if (dtype == DType::int64) return loaded<std::int64_t>(bytes, count);
  return dtype == DType::float32 ? loaded<float>(bytes, count) : Numbers{};
}

// As a tensor of the type holds it.
double held(double number, DType dtype) {
  if (dtype == DType::float32) return static_cast<double>(static_cast<float>(number));
  const double most = dtype == DType::int32 ? 2147483647.0 : 9007199254740991.0;
  const bool is_whole = dtype == DType::int32 || dtype == DType::int64;
  return is_whole && std::fabs(number) <= most ? std::trunc(number) : kUnknown;
}

// What both agree on.
void join(Known& known, const Known& other) {
  if (known.dims.size() != other.dims.size()) known.dims.assign(known.dims.size(), -1);
  for (std::size_t i = 0; i < std::min(known.dims.size(), other.dims.size()); ++i) {
    if (known.dims[i] != other.dims[i]) known.dims[i] = -1;
  }
  if (known.numbers != other.numbers) known.numbers.clear();
}

}  // namespace

// ---- run ----

// The sizes of all tensors for one set of sizes of the inputs.
class TfliteSizes::Run {
 public:
  Run(const TfliteModel& model, const Stated& stated)
      : known(model.subgraphs.size()),
        model_(model),
        stated_(stated),
        is_mixed_(model.subgraphs.size()) {}

  // By subgraph and tensor; empty: the subgraph was not reached, or is called with several sizes.
  std::vector<std::vector<Known>> known;

  void begin(std::uint32_t subgraph) {
    for (const TfliteTensor& tensor : model_.subgraphs[subgraph].tensors) {
      known[subgraph].push_back({stored_dims(tensor), stored_numbers(model_, tensor)});
    }
  }

  void run_operators(std::uint32_t subgraph) {
    const bool is_main = subgraph == model_.main;
    const TfliteSubgraph& graph = model_.subgraphs[subgraph];
    for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
      if (is_main && model_.state.is_hidden[i] != 0) continue;
      const TfliteOperator& op = graph.operators[i];
      std::vector<const Known*> inputs;
      for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
        const auto read = static_cast<std::uint32_t>(op.inputs[k]);
        const bool is_there = op.inputs[k] >= 0;
        inputs.push_back(is_there ? &known[subgraph][is_main ? model_.state.read_as[read] : read]
                                  : nullptr);
      }
      std::vector<Known> made;
      for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
        made.push_back({known[subgraph][static_cast<std::uint32_t>(op.outputs[k])].dims, {}});
      }
      run_operator(op, std::move(inputs), made);
      for (std::uint32_t k = 0; k < op.outputs.size(); ++k) {
        const auto tensor = static_cast<std::uint32_t>(op.outputs[k]);
        finish(graph.tensors[tensor], made[k]);
        known[subgraph][tensor] = std::move(made[k]);
      }
    }
  }

 private:
  void run_operator(const TfliteOperator& op, std::vector<const Known*> inputs,
                    std::vector<Known>& made) {
    const TfliteCode& code = model_.code_of(op);
    if (code.is_custom || made.empty()) return;
    if (const Row* const row = kRowOf[code.builtin]; row != nullptr) {
      Call call(op, inputs, made, row->compute);
      return row->rule(call);
    }
    if (code.name == "WHILE") return run_loop(op, inputs, made);
    if (code.name == "IF" && !inputs.empty()) inputs.erase(inputs.begin());
    if (code.name != "IF" && code.name != "CALL" && code.name != "STABLEHLO_COMPOSITE") return;
    bool is_first = true;
    for (const TfliteBody& body : bodies_of(op)) {
      std::vector<Known> outputs = outputs_of(body, inputs);
      if (outputs.size() != made.size()) outputs = made;
      for (std::size_t i = 0; i < made.size() && !is_first; ++i) join(outputs[i], made[i]);
      made = std::move(outputs);
      is_first = false;
    }
  }

  // What the body gives back is what it is given next. Where these differ, nothing is known in it.
  void run_loop(const TfliteOperator& op, const std::vector<const Known*>& inputs,
                std::vector<Known>& made) {
    std::vector<Known> given(made.size());
    std::vector<const Known*> again;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i < inputs.size() && inputs[i] != nullptr) given[i].dims = inputs[i]->dims;
      again.push_back(&given[i]);
    }
    for (const TfliteBody& body : bodies_of(op)) {
      const std::vector<Known> outputs = outputs_of(body, again);
      if (kSchemaFields[body.field].name != "body_subgraph_index") continue;
      made = given;
      bool is_same = true;
      for (std::size_t i = 0; i < made.size(); ++i) {
        join(made[i], i < outputs.size() ? outputs[i] : Known{});
        is_same = is_same && made[i].dims == given[i].dims;
      }
      if (is_same) continue;
      for (const TfliteBody& one : bodies_of(op)) forget(one);
    }
  }

  // From now on the body has what the file says of it.
  void forget(const TfliteBody& body) {
    is_mixed_[static_cast<std::size_t>(body.subgraph)] = true;
    known[static_cast<std::size_t>(body.subgraph)].clear();
  }

  // Of a body that is called with these.
  std::vector<Known> outputs_of(const TfliteBody& body, const std::vector<const Known*>& given) {
    const auto number = static_cast<std::uint32_t>(body.subgraph);
    const TfliteSubgraph& graph = model_.subgraphs[number];
    // Each level is a call of this by itself.
    constexpr std::size_t kMostDepth = 16;
    if (depth_ == kMostDepth || given.size() != graph.inputs.size() || is_mixed_[number]) return {};
    const bool is_first = known[number].empty();
    if (is_first) begin(number);
    for (std::uint32_t i = 0; i < given.size(); ++i) {
      Known& input = known[number][static_cast<std::uint32_t>(graph.inputs[i])];
      if (is_first && given[i] != nullptr) input = *given[i];
      if (given[i] == nullptr || input.dims == given[i]->dims) continue;
      forget(body);
      return {};
    }
    if (is_first) {
      ++depth_;
      run_operators(number);
      --depth_;
    }
    std::vector<Known> outputs;
    for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
      outputs.push_back(known[number][static_cast<std::uint32_t>(graph.outputs[i])]);
    }
    return outputs;
  }

  // What the file or the user states fills in what is not known; numbers are as the tensor holds them.
  void finish(const TfliteTensor& tensor, Known& made) const {
    for (std::size_t i = 0; i < made.dims.size(); ++i) {
      const bool is_stored = made.dims.size() == tensor.shape.size() && !is_open_axis(tensor, i);
      if (is_stored && made.dims[i] < 0) made.dims[i] = tensor.shape[static_cast<std::uint32_t>(i)];
      if (is_stored) continue;
      if (const auto stated = stated_(tensor, i)) made.dims[i] = *stated;
    }
    const auto count = static_cast<std::int64_t>(made.numbers.size());
    if (count > kMostNumbers || count_of(made.dims) != count) made.numbers.clear();
    for (double& number : made.numbers) number = held(number, tflite_dtype(tensor.type));
  }

  const TfliteModel& model_;
  const Stated& stated_;
  std::vector<bool> is_mixed_;  // by subgraph: it is called with several sizes
  std::size_t depth_ = 0;
};

// ---- sizes ----

namespace {

// Whether the tensor is an input, or what a variable holds.
bool is_given(const TfliteModel& model, const TfliteTensor& tensor) {
  return tensor.is_input || (tensor.maker != kNoTflite && model.state.is_hidden[tensor.maker] != 0);
}

bool has_open(const TfliteSubgraph& graph) {
  return std::ranges::any_of(graph.tensors, [](const TfliteTensor& tensor) {
    const Dims dims = stored_dims(tensor);
    return contains(dims, -1);
  });
}

}  // namespace

TfliteSizes::TfliteSizes(const TfliteModel& model, ShapeBinder& binder) : model_(model) {
  if (std::ranges::none_of(model.subgraphs, has_open)) return;
  const Stated stated = [&](const TfliteTensor& tensor, std::size_t axis) {
    return binder.size_of(size_symbol(tensor, axis, false));
  };
  Run first(model, stated), second(model, stated);
  first.begin(model.main);
  second.begin(model.main);
  std::map<std::string, std::int64_t> steps;  // of open symbols: how far the second size is off
  const std::vector<TfliteTensor>& tensors = model.subgraph().tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    Dims &dims = first.known[model.main][t].dims, &others = second.known[model.main][t].dims;
    for (std::size_t i = 0; i < dims.size() && is_given(model, tensors[t]); ++i) {
      if (dims[i] >= 0) continue;
      const std::string symbol = size_symbol(tensors[t], i, true);
      const auto bound = binder.size_of(symbol);
      dims[i] = others[i] = bound.value_or(tensors[t].shape[static_cast<std::uint32_t>(i)]);
      if (bound) continue;
      const auto step = static_cast<std::int64_t>(64 * (2 * steps.size() + 7));
      others[i] += steps.try_emplace(symbol, step).first->second;
      symbols_.try_emplace({dims[i], others[i]}, symbol);
    }
  }
  first.run_operators(model.main);
  if (!symbols_.empty()) second.run_operators(model.main);
  first_ = std::move(first.known);
  second_ = symbols_.empty() ? first_ : std::move(second.known);
}

std::vector<TfliteSizes::Size> TfliteSizes::of(std::uint32_t subgraph, std::uint32_t number) const {
  const TfliteTensor& tensor = model_.subgraphs[subgraph].tensors[number];
  const auto dims_in = [&](const std::vector<std::vector<Known>>& run) {
    return run.empty() || run[subgraph].empty() ? stored_dims(tensor) : run[subgraph][number].dims;
  };
  const Dims dims = dims_in(first_), others = dims_in(second_);
  std::vector<Size> sizes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    sizes.push_back({dims[i], {}, false});
    const std::int64_t other = others.size() == dims.size() ? others[i] : -1;
    if (dims[i] < 0 || dims[i] == other) continue;
    const auto symbol = symbols_.find({dims[i], other});
    sizes.back().is_given = symbol != symbols_.end();
    sizes.back().symbol = sizes.back().is_given ? symbol->second : size_symbol(tensor, i, false);
  }
  return sizes;
}

}  // namespace cleave
