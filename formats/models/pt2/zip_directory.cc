// Reads a zip directory from back to front:
//   1. the end record, in the last 65,557 bytes, and the zip64 end record if there is a locator
//   2. the entries of the central directory, with their zip64 fields
//   3. the local header of each, which must have the same name, and the offset of its data
//   4. all ranges together: none may overlap another
#include "formats/models/pt2/zip_directory.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

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
    std::sort(taken_.begin(), taken_.end(),
              [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
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

}  // namespace cleave
