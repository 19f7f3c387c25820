// The archive: its zip directory, records and pickles.

#include <zlib.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- zip directory ----
//
// Reads a zip directory from back to front:
//   1. the end record, in the last 65,557 bytes, and the zip64 end record if there is a locator
//   2. the entries of the central directory, with their zip64 fields
//   3. the local header of each, which must have the same name, and the offset of its data
//   4. all ranges together: none may overlap another

namespace {

// Signatures and sizes of records are those of the zip format (APPNOTE.TXT, 4.3). The length of a
// comment, which may follow the last record, has 16 bits.
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint32_t kIn64 = 0xffffffff;   // the number is in the zip64 field
constexpr unsigned kEncryptedFlags = 0x2041;  // encrypted, strongly, with its header masked

// The `size` bytes at `at`, little-endian; they must exist.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

bool fits(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

struct Directory {
  std::uint64_t offset, size, entries;
};

struct Entry {
  ZipRecord record;
  std::uint64_t header;  // offset of the local header
  std::uint64_t packed;
  unsigned flags, method;
};

// The range of the file that a record and its local header take.
struct Taken {
  std::uint64_t begin, end;
  std::string_view name;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::vector<ZipRecord>, std::string> read() {
    const std::optional<Directory> directory = find_directory();
    if (directory) read_entries(*directory);
    if (fault_.empty()) check_overlaps();
    if (!fault_.empty()) return fault_;
    return std::move(records_);
  }

 private:
  std::nullopt_t fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
    return std::nullopt;
  }

  std::optional<Directory> find_directory() {
    const std::size_t end = find_end();
    if (end == bytes_.npos) return fail("is cut off: it has no end record");
    const std::uint64_t disks = number_at(bytes_, end + 4, 4);
    Directory found{number_at(bytes_, end + 16, 4), number_at(bytes_, end + 12, 4),
                    number_at(bytes_, end + 10, 2)};
    std::uint64_t before = end;  // the directory must end before it
    if (end >= kLocatorSize && number_at(bytes_, end - kLocatorSize, 4) == kLocatorSignature) {
      const std::uint64_t at = number_at(bytes_, end - kLocatorSize + 8, 8);
      if (!fits(bytes_, at, kEnd64Size) || at > end ||
          number_at(bytes_, at, 4) != kEnd64Signature) {
        return fail("has a damaged zip64 end record");
      }
      found = {number_at(bytes_, at + 48, 8), number_at(bytes_, at + 40, 8),
               number_at(bytes_, at + 32, 8)};
      before = at;
    } else if (disks != 0) {
      return fail("is one of several volumes");
    }
    if (found.offset > before || found.size > before - found.offset) {
      return fail("has a directory outside of it");
    }
    if (found.entries > found.size / kEntrySize) {
      return fail("claims " + std::to_string(found.entries) +
                  " records, which its directory has no room for");
    }
    return found;
  }

  // The last end record whose comment ends at the end of the file.
  std::size_t find_end() const {
    if (bytes_.size() < kEndSize) return bytes_.npos;
    const std::size_t last = bytes_.size() - kEndSize;
    const std::size_t first = last > kLongestComment ? last - kLongestComment : 0;
    for (std::size_t at = last + 1; at-- > first;) {
      if (number_at(bytes_, at, 4) != kEndSignature) continue;
      if (number_at(bytes_, at + 20, 2) == bytes_.size() - at - kEndSize) return at;
    }
    return bytes_.npos;
  }

  void read_entries(const Directory& directory) {
    const std::string_view table = bytes_.substr(directory.offset, directory.size);
    records_.reserve(directory.entries);
    is_torchscript_ = table.find("/code/__torch__") != table.npos;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < directory.entries && fault_.empty(); ++i) {
      at = read_entry(table, at, directory.offset);
    }
  }

  // Returns the offset of the next entry.
  std::size_t read_entry(std::string_view table, std::size_t at, std::uint64_t directory) {
    if (!fits(table, at, kEntrySize) || number_at(table, at, 4) != kEntrySignature) {
      fail("has a damaged directory");
      return at;
    }
    const std::size_t name_size = number_at(table, at + 28, 2);
    const std::size_t extra_size = number_at(table, at + 30, 2);
    const std::size_t next =
        at + kEntrySize + name_size + extra_size + number_at(table, at + 32, 2);
    if (next > table.size()) {
      fail("has a damaged directory");
      return at;
    }
    Entry entry{.record = {.name = table.substr(at + kEntrySize, name_size),
                           .offset = 0,
                           .size = number_at(table, at + 24, 4),
                           .crc = static_cast<std::uint32_t>(number_at(table, at + 16, 4))},
                .header = number_at(table, at + 42, 4),
                .packed = number_at(table, at + 20, 4),
                .flags = static_cast<unsigned>(number_at(table, at + 8, 2)),
                .method = static_cast<unsigned>(number_at(table, at + 10, 2))};
    read_extra(table.substr(at + kEntrySize + name_size, extra_size), entry);
    if (entry.record.name.ends_with('/') && entry.record.size == 0) return next;
    check_name(entry.record.name);
    check_entry(entry);
    if (fault_.empty()) place(entry, directory);
    return next;
  }

  // The zip64 field: 64-bit values of those fields that are 0xffffffff, in this order.
  void read_extra(std::string_view extra, Entry& entry) {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
      const std::size_t size = number_at(extra, at + 2, 2);
      if (!fits(extra, at + 4, size)) return;
      if (number_at(extra, at, 2) == 1) return read_zip64(extra.substr(at + 4, size), entry);
      at += 4 + size;
    }
  }

  void read_zip64(std::string_view field, Entry& entry) {
    std::size_t at = 0;
    for (std::uint64_t* const number : {&entry.record.size, &entry.packed, &entry.header}) {
      if (*number != kIn64) continue;
      if (!fits(field, at, 8)) {
        fail("has a damaged directory");
        return;
      }
      *number = number_at(field, at, 8);
      at += 8;
    }
  }

  void check_name(std::string_view name) {
    if (first_invalid_utf8(name) != name.npos) {
      fail("has a record " + escaped_in_quotes(name) + ", whose name is not UTF-8");
    } else if (name.empty() || name.front() == '/' || name.find('\\') != name.npos ||
               name.find('\0') != name.npos || leaves_folder(name)) {
      fail("has a record " + escaped_in_quotes(name) + ", which is not a path inside a folder");
    } else if (!names_.insert(name).second) {
      fail("has two records " + escaped_in_quotes(name));
    }
  }

  static bool leaves_folder(std::string_view name) {
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      if (name.substr(begin, end - begin) == "..") return true;
      begin = end + 1;
    }
    return false;
  }

  void check_entry(const Entry& entry) {
    const std::string record = "record " + escaped_in_quotes(entry.record.name);
    if ((entry.flags & kEncryptedFlags) != 0) {
      fail("has an encrypted " + record + ": save it again without a password");
    } else if (entry.method != 0 && is_torchscript_) {
      fail(std::string(kTorchScript));
    } else if (entry.method != 0) {
      fail("has a compressed " + record +
           ": save it again with torch.export.save, or pack it with zip -0");
    } else if (entry.packed != entry.record.size) {
      fail("has a " + record + " with two different sizes");
    }
  }

  // Finds the start of the data from the local header.
  void place(Entry& entry, std::uint64_t directory) {
    const std::string record = "record " + escaped_in_quotes(entry.record.name);
    if (entry.header > directory || directory - entry.header < kLocalSize ||
        number_at(bytes_, entry.header, 4) != kLocalSignature) {
      fail("has a " + record + " that is not where the directory says");
      return;
    }
    const std::uint64_t name_at = entry.header + kLocalSize;
    const std::uint64_t name_size = number_at(bytes_, entry.header + 26, 2);
    const std::uint64_t data = name_at + name_size + number_at(bytes_, entry.header + 28, 2);
    if (data > directory || entry.record.size > directory - data) {
      fail("has a " + record + " that ends outside of it");
      return;
    }
    if (bytes_.substr(name_at, name_size) != entry.record.name) {
      fail("has a " + record + " that has another name in its own header");
      return;
    }
    entry.record.offset = data;
    taken_.push_back({entry.header, data + entry.record.size, entry.record.name});
    records_.push_back(entry.record);
  }

  void check_overlaps() {
    std::ranges::sort(taken_, [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < taken_.size(); ++i) {
      if (taken_[i].begin >= taken_[i - 1].end) continue;
      fail("has records " + escaped_in_quotes(taken_[i - 1].name) + " and " +
           escaped_in_quotes(taken_[i].name) + " that overlap");
      return;
    }
  }

  std::string_view bytes_;
  std::string fault_;
  std::vector<ZipRecord> records_;
  std::vector<Taken> taken_;
  bool is_torchscript_ = false;  // its code is compressed
  std::unordered_set<std::string_view> names_;
};

}  // namespace

bool looks_like_zip(std::string_view bytes) {
  using namespace std::string_view_literals;
  return bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv);
}

Result<std::vector<ZipRecord>, std::string> read_zip_directory(std::string_view bytes) {
  return DirectoryReader(bytes).read();
}

std::uint32_t zip_crc(std::string_view data) {
  uLong crc = crc32(0, nullptr, 0);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size());
  return static_cast<std::uint32_t>(crc);
}

bool has_its_crc(std::string_view bytes, const ZipRecord& record) {
  return zip_crc(bytes.substr(record.offset, record.size)) == record.crc;
}

// ---- pickle ----
//
// Runs a pickle: opcodes push values onto a stack, collect them into tuples, lists and dicts, and
// keep some in a memo to push them again. A value is a number in `values_`; a container holds such
// numbers, so nothing is copied and no recursion is needed.

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
// The limit of many of torch's own operators.
constexpr std::size_t kMostDims = 64;
constexpr std::size_t kDimsOfByte = 4;  // per byte of a pickle, at most: tensors may be named twice

template <std::size_t N>
int number_of(const std::array<std::pair<std::string_view, int>, N>& table, std::string_view name) {
  const auto row =
      std::ranges::find_if(table, [&](const auto& known) { return known.first == name; });
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

// ---- archive ----

// Reads an archive's directory, recognises the container by its records, and makes the table of
// weights from what each container has.

namespace {

constexpr std::string_view kJson = ".json";
constexpr std::string_view kOldProgram = "serialized_exported_program.json";

class ArchiveReader {
 public:
  ArchiveReader(const SourceFile& source, std::string_view program)
      : source_(source), wanted_(program) {}

  Loaded<Pt2Archive> read() {
    auto records = read_zip_directory(source_.bytes());
    if (!records) return refusal(records.error());
    for (const ZipRecord& record : *records) by_name_.emplace(record.name, record);
    const bool is_old = find(kOldProgram) != nullptr;
    if (is_old && !wanted_.empty()) {
      return refusal("is of torch 2.7 or before, and has one program: leave out --signature");
    }
    const std::string fault = is_old ? read_old() : read_new(*records);
    if (!fault.empty()) return refusal(fault);
    return std::move(archive_);
  }

 private:
  Diagnostics refusal(const std::string& what) const {
    return {diagnostic_of(source_.path(), what)};
  }

  const ZipRecord* find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &found->second;
  }

  std::string_view text_of(const ZipRecord& record) const {
    return source_.bytes().substr(record.offset, record.size);
  }

  // What is wrong with the record to be read; empty if nothing is.
  std::string check(const ZipRecord* record, std::string_view name) const {
    if (record == nullptr) return "has no record " + escaped_in_quotes(name);
    if (has_its_crc(source_.bytes(), *record)) return {};
    return "is damaged: record " + escaped_in_quotes(record->name) + " does not have its checksum";
  }

  std::string read_old() {
    archive_.container = Pt2Container::old;
    const ZipRecord* const program = find(kOldProgram);
    std::string fault = take_program(*program);
    if (fault.empty()) fault = read_saved("serialized_state_dict.pt", "weight_", archive_.weights);
    if (fault.empty()) fault = read_saved("serialized_constants.pt", "tensor_", archive_.constants);
    if (fault.empty()) take_sample_inputs("serialized_example_inputs.pt");
    return fault;
  }

  // Names other kinds of files, by their records.
  std::string stranger(const std::vector<ZipRecord>& records) const {
    const auto has = [&](std::string_view part) {
      return std::ranges::any_of(records, [&](const ZipRecord& record) {
        return record.name.find(part) != std::string_view::npos;
      });
    };
    if (has("/data/aotinductor/")) {
      return "is an AOTInductor package, compiled code without a graph: give what "
             "torch.export.save "
             "wrote";
    }
    if (has(".pte")) return "is an ExecuTorch program: give what torch.export.save wrote";
    if (has("/constants.pkl") && has("/code/")) {
      return std::string(kTorchScript);
    }
    if (has("/data.pkl")) {
      return "is a torch.save file, weights without a graph: export the model with "
             "torch.export.save";
    }
    const auto tflite =
        static_cast<std::size_t>(std::ranges::count_if(records, [](const ZipRecord& record) {
          return std::string_view(record.name).ends_with(".tflite");
        }));
    if (tflite > 0) {
      return "is a zip archive of " + counted(tflite, "TensorFlow Lite model") +
             ", such as a .task file: unzip it and give one of them";
    }
    return "is a zip archive, but not one of torch.export's: it has no record \"archive_format\"";
  }

  std::string read_new(const std::vector<ZipRecord>& records) {
    if (records.empty()) return "is an empty zip archive";
    const std::string_view first = records.front().name;
    root_ = std::string(first.substr(0, std::min(first.find('/'), first.size())));
    const ZipRecord* const format = find(root_ + "/archive_format");
    if (format == nullptr || text_of(*format) != "pt2") return stranger(records);
    const ZipRecord* const version = find(root_ + "/archive_version");
    if (version == nullptr || text_of(*version) != "0") {
      return "has an archive version that cleave does not know; it reads version 0";
    }
    const std::optional<std::string> model = choose_model(records);
    if (!model) return stranger_or_unnamed(records);
    std::string fault = take_program(*find(root_ + "/models/" + *model + ".json"));
    if (fault.empty()) fault = read_tables(*model);
    if (fault.empty()) take_sample_inputs(root_ + "/data/sample_inputs/" + *model + ".pt");
    return fault;
  }

  std::string stranger_or_unnamed(const std::vector<ZipRecord>& records) const {
    const std::string prefix = root_ + "/models/";
    std::string names;
    for (const ZipRecord& record : records) {
      if (!record.name.starts_with(prefix)) continue;
      std::string_view name = std::string_view(record.name).substr(prefix.size());
      if (name.ends_with(kJson)) name.remove_suffix(kJson.size());
      names += (names.empty() ? "" : ", ") + escaped_in_quotes(name);
    }
    if (names.empty()) return stranger(records);
    if (!wanted_.empty()) {
      return "has no program " + escaped_in_quotes(wanted_) + ", but " + names;
    }
    return "holds several programs and none is called \"model\": give --signature with one of " +
           names;
  }

  // The one that is asked for, else "model", or the only one.
  std::optional<std::string> choose_model(const std::vector<ZipRecord>& records) const {
    const std::string prefix = root_ + "/models/";
    std::vector<std::string> names;
    for (const ZipRecord& record : records) {
      if (!record.name.starts_with(prefix) || !record.name.ends_with(kJson)) continue;
      const std::string_view name = record.name.substr(prefix.size());
      names.emplace_back(name.substr(0, name.size() - kJson.size()));
      if (names.back() == (wanted_.empty() ? std::string_view("model") : wanted_))
        return names.back();
    }
    if (names.size() == 1 && wanted_.empty()) return names.front();
    return std::nullopt;
  }

  std::string read_tables(const std::string& model) {
    const std::string weights = root_ + "/data/weights/";
    const std::string constants = root_ + "/data/constants/";
    if (find(weights + model + ".pt") != nullptr) {
      archive_.container = Pt2Container::nested;
      std::string fault = read_saved(weights + model + ".pt", "weight_", archive_.weights);
      if (!fault.empty()) return fault;
      return read_saved(constants + model + ".pt", "tensor_", archive_.constants);
    }
    std::string fault = read_config(weights, model + "_weights_config.json", archive_.weights);
    if (!fault.empty()) return fault;
    return read_config(constants, model + "_constants_config.json", archive_.constants);
  }

  std::string read_saved(const std::string& name, std::string_view prefix, Pt2Table& table) const {
    const ZipRecord* const record = find(name);
    if (record == nullptr) return "has no record " + escaped_in_quotes(name);
    auto read = read_saved_table(source_.bytes(), *record, prefix);
    if (!read) return "is damaged: record " + escaped_in_quotes(name) + " " + read.error();
    table = *std::move(read);
    return {};
  }

  std::string read_config(const std::string& folder, const std::string& name,
                          Pt2Table& table) const {
    const ZipRecord* const record = find(folder + name);
    if (std::string fault = check(record, folder + name); !fault.empty()) return fault;
    const auto find_record = [&](std::string_view path) -> const ZipRecord* {
      return find(folder + std::string(path));
    };
    auto read = read_config_table(source_, *record, find_record);
    if (!read) return "is damaged: record " + escaped_in_quotes(folder + name) + " " + read.error();
    table = *std::move(read);
    return {};
  }

  std::string take_program(const ZipRecord& record) {
    if (std::string fault = check(&record, record.name); !fault.empty()) return fault;
    archive_.program_name = std::string(record.name);
    archive_.program = text_of(record);
    if (archive_.container != Pt2Container::old) return {};
    archive_.own_program = with_quoted_numbers(archive_.program);
    if (!archive_.own_program.empty()) {
      archive_.program = {archive_.own_program.data(),
                          archive_.own_program.size() - SourceFile::kPadding};
    }
    return {};
  }

  void take_sample_inputs(const std::string& name) {
    const ZipRecord* const record = find(name);
    if (record == nullptr) return;
    archive_.sample_inputs = {"", record->offset, record->size, record->crc};
  }

  const SourceFile& source_;
  std::string_view wanted_;
  std::map<std::string, ZipRecord> by_name_;
  std::string root_;
  Pt2Archive archive_;
};

}  // namespace

const Pt2Entry* Pt2Table::find(std::string_view name) const {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Pt2Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found == entries.end() || found->name != name ? nullptr : &*found;
}

bool looks_like_pt2(std::string_view bytes) { return looks_like_zip(bytes); }

Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source, std::string_view program) {
  return ArchiveReader(source, program).read();
}

namespace {

// A config is a few levels deep. The limit is for a file that was made to exhaust the stack.
constexpr std::size_t kMostDepth = 100;

Pt2Record record_of(std::string path, const ZipRecord& record, std::uint64_t base = 0) {
  return {std::move(path), base + record.offset, record.size, record.crc};
}

// Sorts the entries; returns a name that occurs twice, or nullopt.
std::optional<std::string> sort_entries(Pt2Table& table) {
  const auto by_name = [](const Pt2Entry& a, const Pt2Entry& b) { return a.name < b.name; };
  std::ranges::sort(table.entries, by_name);
  const auto same = [](const Pt2Entry& a, const Pt2Entry& b) { return a.name == b.name; };
  const auto twice = std::ranges::adjacent_find(table.entries, same);
  if (twice == table.entries.end()) return std::nullopt;
  return twice->name;
}

class ConfigReader {
 public:
  ConfigReader(std::string_view text, const FindZipRecord& find_record)
      : text_(text), cursor_(text, kMostDepth), find_record_(find_record) {}

  Result<Pt2Table, std::string> read() {
    bool has_config = false;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text == "config" && !has_config) {
        has_config = true;
        read_entries();
      } else {
        cursor_.skip();
      }
    }
    if (fault_.empty()) cursor_.expect_end();
    if (fault_.empty() && cursor_.fault()) fault_ = "is not JSON: " + cursor_.fault()->message;
    if (fault_.empty() && !has_config) fault_ = "has no \"config\"";
    if (!fault_.empty()) return fault_;
    if (const auto twice = sort_entries(table_))
      return "names " + escaped_in_quotes(*twice) + " twice";
    return std::move(table_);
  }

 private:
  void fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  void enter_object() {
    if (cursor_.type() == JsonType::object) return cursor_.enter();
    if (!cursor_.fault()) fail("holds something else where an object must be");
  }
  std::optional<JsonString> next_key() {
    return fault_.empty() ? cursor_.next_key() : std::nullopt;
  }

  void read_entries() {
    enter_object();
    while (const auto key = next_key()) read_entry(unescaped(*key));
  }

  void read_entry(std::string name) {
    const std::uint64_t begin = cursor_.offset();
    std::string path;
    std::int64_t first_element = 0;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text == "path_name" && cursor_.type() == JsonType::string) {
        path = unescaped(cursor_.take_string());
      } else if (key->text == "tensor_meta" && cursor_.type() == JsonType::object) {
        first_element = read_first_element();
      } else {
        cursor_.skip();
      }
    }
    if (cursor_.fault() || !fault_.empty()) return;
    const std::string config(text_.substr(begin, cursor_.end_of_last() - begin));
    const auto [found, is_new] =
        numbers_.try_emplace(path, static_cast<std::uint32_t>(table_.records.size()));
    if (is_new) {
      const ZipRecord* const record = find_record_(path);
      if (record == nullptr) {
        return fail("names a record " + escaped_in_quotes(path) + " for " +
                    escaped_in_quotes(name) + ", which is not there");
      }
      table_.records.push_back(record_of(path, *record));
    }
    table_.entries.push_back({std::move(name), config, found->second, first_element});
  }

  // The storage offset of a tensor's description; 0 where it is none that a tensor can have.
  std::int64_t read_first_element() {
    std::int64_t first = 0;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text != "storage_offset" || cursor_.type() != JsonType::object) {
        cursor_.skip();
        continue;
      }
      enter_object();
      while (const auto kind = next_key()) {
        if (kind->text != "as_int" || cursor_.type() != JsonType::number) {
          cursor_.skip();
          continue;
        }
        first = std::max<std::int64_t>(cursor_.take_number().integer().value_or(0), 0);
      }
    }
    return first;
  }

  std::string_view text_;
  JsonCursor cursor_;
  const FindZipRecord& find_record_;
  std::string fault_;
  Pt2Table table_;
  std::map<std::string, std::uint32_t> numbers_;  // of records, by path
};

std::string int_list(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> items;
  for (const std::int64_t number : numbers) {
    items.push_back("{\"as_int\": " + std::to_string(number) + "}");
  }
  return json_list(items);
}

// "cuda:1" as {"type": "cuda", "index": 1}; the index is null if there is none that JSON can state.
std::string device_json(std::string_view device) {
  // Nine digits always fit 32 bits.
  constexpr std::size_t kMostDigits = 9;
  const std::size_t colon = device.find(':');
  const std::string_view number = colon == device.npos ? "" : device.substr(colon + 1);
  const bool has_number = !number.empty() && number.size() <= kMostDigits &&
                          number.find_first_not_of("0123456789") == number.npos &&
                          (number.size() == 1 || number.front() != '0');
  return "{\"type\": " + json_string(device.substr(0, colon)) +
         ", \"index\": " + (has_number ? std::string(number) : "null") + "}";
}

// The tensor's entry as a raw archive's config would have it.
std::string config_of(const PickledTensor& tensor, const std::string& path) {
  constexpr std::string_view kStrided = "7";
  const auto flag = [](bool is_true) { return is_true ? "true" : "false"; };
  JsonObjectText meta;
  meta.add("dtype", std::to_string(tensor.scalar_type));
  meta.add("sizes", int_list(tensor.sizes));
  meta.add("requires_grad", flag(tensor.requires_grad));
  meta.add("device", device_json(tensor.device));
  meta.add("strides", int_list(tensor.strides));
  meta.add("storage_offset", "{\"as_int\": " + std::to_string(tensor.offset) + "}");
  meta.add("layout", kStrided);
  JsonObjectText entry;
  entry.add("path_name", json_string(path));
  entry.add("is_param", flag(tensor.is_parameter));
  entry.add("use_pickle", "false");
  entry.add("tensor_meta", meta.text());
  return entry.text();
}

}  // namespace

Result<Pt2Table, std::string> read_config_table(const SourceFile& source, const ZipRecord& config,
                                                const FindZipRecord& find_record) {
  return ConfigReader(source.bytes().substr(config.offset, config.size), find_record).read();
}

Result<Pt2Table, std::string> read_saved_table(std::string_view bytes, const ZipRecord& file,
                                               std::string_view prefix) {
  const std::string_view window = bytes.substr(file.offset, file.size);
  auto records = read_zip_directory(window);
  if (!records) return records.error();
  std::map<std::string_view, const ZipRecord*> by_name;
  for (const ZipRecord& record : *records) by_name.emplace(record.name, &record);
  if (by_name.empty()) return std::string("is an empty zip archive");
  const std::string_view first = records->front().name;
  const std::string root(first.substr(0, first.find('/') + 1));
  const auto pickle = by_name.find(root + "data.pkl");
  if (pickle == by_name.end()) return std::string("has no \"data.pkl\"");
  if (!has_its_crc(window, *pickle->second)) {
    return std::string("has a \"data.pkl\" that does not have its checksum");
  }
  auto tensors = read_pickled_tensors(window.substr(pickle->second->offset, pickle->second->size));
  if (!tensors) return tensors.error();
  Pt2Table table;
  std::map<std::string, std::uint32_t> numbers;
  for (const PickledTensor& tensor : *tensors) {
    const auto [found, is_new] =
        numbers.try_emplace(tensor.storage, static_cast<std::uint32_t>(table.records.size()));
    const std::string path = std::string(prefix) + tensor.storage;
    if (is_new) {
      const auto data = by_name.find(root + "data/" + tensor.storage);
      if (data == by_name.end()) return "has no data for " + escaped_in_quotes(tensor.name);
      table.records.push_back(record_of(path, *data->second, file.offset));
    }
    table.entries.push_back({tensor.name, config_of(tensor, path), found->second,
                             std::max<std::int64_t>(tensor.offset, 0)});
  }
  sort_entries(table);
  return table;
}

namespace {

constexpr std::array<std::string_view, 3> kBare = {"-Infinity", "Infinity", "NaN"};

// The offset after the string that begins at `at`.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at < json.size() ? at + 1 : json.size();
}

std::string_view bare_number_at(std::string_view json, std::size_t at) {
  for (const std::string_view word : kBare) {
    if (json.substr(at, word.size()) == word) return word;
  }
  return {};
}

}  // namespace

std::vector<char> with_quoted_numbers(std::string_view json) {
  std::vector<char> text;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size();) {
    at = json.find_first_of("\"-IN", at);
    if (at == json.npos) break;
    if (json[at] == '"') {
      at = end_of_string(json, at);
      continue;
    }
    const std::string_view word = bare_number_at(json, at);
    if (word.empty()) {
      ++at;
      continue;
    }
    text.insert(text.end(), json.data() + copied, json.data() + at);
    text.push_back('"');
    text.insert(text.end(), word.begin(), word.end());
    text.push_back('"');
    at += word.size();
    copied = at;
  }
  if (text.empty()) return text;
  text.insert(text.end(), json.data() + copied, json.data() + json.size());
  text.insert(text.end(), SourceFile::kPadding, '\0');
  return text;
}

}  // namespace cleave
