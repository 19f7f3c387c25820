// Runs a pickle: opcodes push values onto a stack, collect them into tuples, lists and dicts, and
// keep some in a memo to push them again. A value is a number in `values_`; a container holds such
// numbers, so nothing is copied and no recursion is needed.
#include "formats/models/pt2/pickle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,
  other_number,
  text,
  name,  // of a function or class
  list,  // tuples and lists
  dict,  // keys and values alternate
  storage,
  tensor,  // a parameter if an item says whether it needs a gradient
};

struct PickleValue {
  Kind kind = Kind::none;
  std::int64_t integer = 0;          // also: index of a tensor
  std::string text = {};             // texts and names
  std::vector<std::uint32_t> items;  // of lists, dicts and storages
};

// Storage classes that a pickle names, with torch's numbers of element types.
constexpr std::array<std::pair<std::string_view, int>, 14> kStorages = {{
    {"torch.ByteStorage", 1},
    {"torch.CharStorage", 2},
    {"torch.ShortStorage", 3},
    {"torch.IntStorage", 4},
    {"torch.LongStorage", 5},
    {"torch.HalfStorage", 6},
    {"torch.FloatStorage", 7},
    {"torch.DoubleStorage", 8},
    {"torch.ComplexFloatStorage", 10},
    {"torch.ComplexDoubleStorage", 11},
    {"torch.BoolStorage", 12},
    {"torch.BFloat16Storage", 13},
    {"torch.UntypedStorage", 1},
    {"torch.storage.UntypedStorage", 1},
}};
constexpr std::array<std::pair<std::string_view, int>, 21> kDTypes = {{
    {"torch.uint8", 1},
    {"torch.int8", 2},
    {"torch.int16", 3},
    {"torch.int32", 4},
    {"torch.int64", 5},
    {"torch.float16", 6},
    {"torch.float32", 7},
    {"torch.float64", 8},
    {"torch.complex32", 9},
    {"torch.complex64", 10},
    {"torch.complex128", 11},
    {"torch.bool", 12},
    {"torch.bfloat16", 13},
    {"torch.uint16", 28},
    {"torch.float8_e4m3fn", 29},
    {"torch.float8_e5m2", 30},
    {"torch.float8_e4m3fnuz", 31},
    {"torch.float8_e5m2fnuz", 32},
    {"torch.float8_e8m0fnu", 33},
    {"torch.uint32", 34},
    {"torch.uint64", 35},
}};
constexpr std::string_view kTensor2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kTensor3 = "torch._utils._rebuild_tensor_v3";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kParameterState = "torch._utils._rebuild_parameter_with_state";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::size_t kMostDims = 64;
constexpr std::size_t kDimsOfByte = 4;  // per byte of a pickle, at most: tensors may be named twice

template <std::size_t N>
int number_of(const std::array<std::pair<std::string_view, int>, N>& table, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [&](const auto& known) { return known.first == name; });
  return row == table.end() ? 0 : row->second;
}

bool is_known_name(std::string_view name) {
  return name == kTensor2 || name == kTensor3 || name == kParameter || name == kParameterState ||
         name == kOrderedDict || number_of(kStorages, name) != 0 || number_of(kDTypes, name) != 0;
}

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  Result<std::vector<PickledTensor>, std::string> read() {
    while (fault_.empty() && !is_done_) step();
    if (fault_.empty()) gather();
    if (!fault_.empty()) return fault_;
    return std::move(result_);
  }

 private:
  using Id = std::uint32_t;

  void fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  void damaged() { fail("is a damaged pickle, at byte " + std::to_string(at_)); }

  // The next bytes; empty, with a fault, when there are fewer.
  std::string_view take(std::size_t size) {
    if (size > bytes_.size() - at_) {
      damaged();
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  std::uint64_t take_number(std::size_t size) {
    std::uint64_t number = 0;
    const std::string_view taken = take(size);
    for (std::size_t i = taken.size(); i-- > 0;) {
      number = number << 8U | static_cast<unsigned char>(taken[i]);
    }
    return number;
  }

  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) {
      damaged();
      return {};
    }
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }

  Id push(PickleValue value) {
    values_.push_back(std::move(value));
    stack_.push_back(static_cast<Id>(values_.size() - 1));
    return stack_.back();
  }
  void push_integer(std::int64_t number) {
    push({.kind = Kind::integer, .integer = number, .items = {}});
  }

  // Pops the last value; a fault, and the first value, when the stack has none above the last mark.
  Id pop() {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) {
      damaged();
      if (values_.empty()) values_.emplace_back();
      return 0;
    }
    const Id top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Id top() {
    const Id id = pop();
    if (fault_.empty()) stack_.push_back(id);
    return id;
  }

  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) {
      damaged();
      return {};
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  void push_tuple_of(std::size_t count) {
    std::vector<Id> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push({.kind = Kind::list, .items = std::move(items)});
  }

  void append_to(std::vector<Id> items, Kind kind) {
    PickleValue& container = values_[top()];
    const bool is_even = kind == Kind::list || items.size() % 2 == 0;
    if (container.kind != kind || !is_even) return damaged();
    container.items.insert(container.items.end(), items.begin(), items.end());
  }

  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return damaged();
    stack_.push_back(found->second);
  }

  void step() {
    const std::string_view code = take(1);
    if (code.empty()) return;
    if (!step_stack(code[0]) && !step_value(code[0])) {
      --at_;
      damaged();
    }
  }

  // Opcodes that move existing values. False for other opcodes.
  bool step_stack(char code) {
    switch (code) {
      case '\x80':
        take(1);
        return true;
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 'q':
        memo_[take_number(1)] = top();
        return true;
      case 'r':
        memo_[take_number(4)] = top();
        return true;
      case 'h':
        recall(take_number(1));
        return true;
      case 'j':
        recall(take_number(4));
        return true;
      case 's':
      case 'a': {
        const Id value = pop();
        if (code == 'a') append_to({value}, Kind::list);
        if (code == 's') append_to({pop(), value}, Kind::dict);
        return true;
      }
      case 'u':
        append_to(pop_to_mark(), Kind::dict);
        return true;
      case 'e':
        append_to(pop_to_mark(), Kind::list);
        return true;
      case 'b':  // the state of an ordered dict: ignored
        pop();
        return true;
      case 'R':
        call();
        return true;
      case 'Q':
        make_storage();
        return true;
      case '.':
        is_done_ = true;
        return true;
      default:
        return false;
    }
  }

  // Opcodes that push a value. False for other opcodes.
  bool step_value(char code) {
    switch (code) {
      case '}':
        push({.kind = Kind::dict, .items = {}});
        return true;
      case ']':
      case ')':
        push({.kind = Kind::list, .items = {}});
        return true;
      case 't':
        push({.kind = Kind::list, .items = pop_to_mark()});
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        push_tuple_of(static_cast<unsigned char>(code) - 0x84U);
        return true;
      case 'X':
        push({.kind = Kind::text, .text = std::string(take(take_number(4))), .items = {}});
        return true;
      case 'c':
        push_name();
        return true;
      case 'K':
        push_integer(static_cast<std::int64_t>(take_number(1)));
        return true;
      case 'M':
        push_integer(static_cast<std::int64_t>(take_number(2)));
        return true;
      case 'J':
        push_integer(static_cast<std::int32_t>(take_number(4)));
        return true;
      case '\x8a':
        push_long(take_number(1));
        return true;
      case 'G':
        take(8);
        push({.kind = Kind::other_number, .items = {}});
        return true;
      case '\x88':
      case '\x89':
        push({.kind = Kind::boolean, .integer = code == '\x88' ? 1 : 0, .items = {}});
        return true;
      case 'N':
        push({});
        return true;
      default:
        return false;
    }
  }

  void push_long(std::uint64_t size) {
    if (size > 8) return damaged();
    std::uint64_t number = take_number(size);
    const bool is_negative = size > 0 && (number >> (8 * size - 1) & 1U) != 0;
    if (is_negative && size < 8) number |= ~std::uint64_t{0} << (8 * size);
    push_integer(static_cast<std::int64_t>(number));
  }

  void push_name() {
    std::string name(take_line());
    name += '.';
    name += take_line();
    if (!fault_.empty()) return;
    if (!is_known_name(name)) {
      return fail("holds " + escaped_in_quotes(name) +
                  ", a Python object that only Python can make");
    }
    push({.kind = Kind::name, .text = std::move(name), .items = {}});
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 64)
  void make_storage() {
    const Id id = pop();
    PickleValue storage = values_[id];
    constexpr std::array<Kind, 5> kParts = {Kind::text, Kind::name, Kind::text, Kind::text,
                                            Kind::integer};
    const bool has_parts = storage.kind == Kind::list && storage.items.size() == kParts.size();
    if (!has_parts) return damaged();
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      if (values_[storage.items[i]].kind != kParts[i]) return damaged();
    }
    storage.kind = Kind::storage;
    push(std::move(storage));
  }

  void call() {
    const std::vector<Id> args = values_[pop()].items;
    const std::string function = values_[pop()].text;
    if (!fault_.empty()) return;
    if (function == kTensor2 || function == kTensor3) return make_tensor(args, function);
    if (function == kParameter || function == kParameterState) return make_parameter(args);
    if (function == kOrderedDict && args.empty()) {
      push({.kind = Kind::dict, .items = {}});
      return;
    }
    damaged();
  }

  // storage, offset, size, stride, requires_grad, hooks[, dtype]
  void make_tensor(const std::vector<Id>& args, std::string_view function) {
    if (args.size() < (function == kTensor3 ? 7U : 5U)) return damaged();
    const PickleValue& storage = values_[args[0]];
    if (storage.kind != Kind::storage || values_[args[1]].kind != Kind::integer) return damaged();
    PickledTensor tensor;
    tensor.storage = values_[storage.items[2]].text;
    tensor.device = values_[storage.items[3]].text;
    tensor.scalar_type = number_of(kStorages, values_[storage.items[1]].text);
    if (function == kTensor3) tensor.scalar_type = number_of(kDTypes, values_[args[6]].text);
    tensor.offset = values_[args[1]].integer;
    tensor.sizes = integers_of(args[2]);
    tensor.strides = integers_of(args[3]);
    tensor.requires_grad = values_[args[4]].integer != 0;
    if (tensor.scalar_type == 0 || tensor.sizes.size() != tensor.strides.size()) return damaged();
    push_tensor(std::move(tensor));
  }

  void make_parameter(const std::vector<Id>& args) {
    if (args.size() < 2 || values_[args[0]].kind != Kind::tensor) return damaged();
    PickleValue parameter = values_[args[0]];
    parameter.items = {args[1]};
    push(std::move(parameter));
  }

  void push_tensor(PickledTensor tensor) {
    tensors_.push_back(std::move(tensor));
    push({.kind = Kind::tensor,
          .integer = static_cast<std::int64_t>(tensors_.size() - 1),
          .items = {}});
  }

  std::vector<std::int64_t> integers_of(Id list) {
    std::vector<std::int64_t> numbers;
    const PickleValue& value = values_[list];
    if (value.kind != Kind::list || value.items.size() > kMostDims) damaged();
    if (!fault_.empty()) return numbers;
    for (const Id item : value.items) {
      if (values_[item].kind != Kind::integer) damaged();
      numbers.push_back(values_[item].integer);
    }
    return numbers;
  }

  // Collects the tensors of the dict that the pickle leaves on the stack.
  void gather() {
    const PickleValue& dict = values_[pop()];
    if (fault_.empty() && dict.kind != Kind::dict) fail("holds no dict of tensors");
    for (std::size_t i = 0; i < dict.items.size() && fault_.empty(); i += 2) {
      const PickleValue& key = values_[dict.items[i]];
      const PickleValue& value = values_[dict.items[i + 1]];
      if (key.kind != Kind::text) return fail("holds a dict whose keys are not names");
      if (value.kind != Kind::tensor) {
        return fail("holds " + escaped_in_quotes(key.text) + ", which is not a plain tensor");
      }
      if (!names_.insert(key.text).second)
        return fail("holds " + escaped_in_quotes(key.text) + " twice");
      add_result(key.text, value);
    }
  }

  void add_result(const std::string& name, const PickleValue& value) {
    PickledTensor tensor = tensors_[static_cast<std::size_t>(value.integer)];
    dims_ += tensor.sizes.size();
    if (dims_ / kDimsOfByte > bytes_.size()) return damaged();
    tensor.name = name;
    if (!value.items.empty()) {
      tensor.is_parameter = true;
      tensor.requires_grad = values_[value.items[0]].integer != 0;
    }
    result_.push_back(std::move(tensor));
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t dims_ = 0;  // of all results
  bool is_done_ = false;
  std::string fault_;
  std::vector<PickleValue> values_;
  std::vector<PickledTensor> tensors_, result_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Result<std::vector<PickledTensor>, std::string> read_pickled_tensors(std::string_view pickle) {
  return Unpickler(pickle).read();
}

}  // namespace cleave
