#include "formats/models/pt2/write/zip_pieces.h"

#include <algorithm>
#include <utility>

#include "formats/models/pt2/zip_directory.h"

namespace cleave {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kIn64 = 0xffffffff;  // larger numbers are in the zip64 field
constexpr std::uint64_t kVersion64 = 45;     // the zip version with zip64
constexpr std::uint64_t kUtf8Flag = 0x800;
constexpr std::uint64_t kDate = 0x21;  // 1980-01-01: the same bytes every time
constexpr std::uint64_t kZip64Id = 1;
constexpr std::string_view kPaddingId = "FB";  // torch's name for its padding

void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xffU);
}

// A number written with `bytes` bytes.
struct Number {
  std::uint64_t value;
  int bytes;
};
std::string packed(std::initializer_list<Number> numbers) {
  std::string out;
  for (const Number& number : numbers) put(out, number.value, number.bytes);
  return out;
}

std::uint64_t shown_size(std::uint64_t size) { return std::min(size, kIn64); }

}  // namespace

void ZipPieces::add_header(std::string_view name, std::uint64_t size, std::uint32_t crc) {
  const std::uint64_t at = pieces_.size();
  const std::string path = root_ + "/" + std::string(name);
  const bool is_large = size >= kIn64;
  std::string extra;
  if (is_large) extra = packed({{kZip64Id, 2}, {16, 2}, {size, 8}, {size, 8}});
  constexpr std::uint64_t kHeaderSize = 30;
  const std::uint64_t end = at + kHeaderSize + path.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
  extra += kPaddingId;
  put(extra, padding, 2);
  extra.append(padding, 'Z');
  pieces_.add(packed({{0x04034b50, 4},
                      {is_large ? kVersion64 : 0, 2},
                      {kUtf8Flag, 2},
                      {0, 2},  // stored
                      {0, 2},
                      {kDate, 2},
                      {crc, 4},
                      {shown_size(size), 4},
                      {shown_size(size), 4},
                      {path.size(), 2},
                      {extra.size(), 2}}) +
              path + extra);
  entries_.push_back({path, at, size, crc});
}

void ZipPieces::add(std::string_view name, std::string_view data) {
  add_header(name, data.size(), zip_crc(data));
  pieces_.add(data);
}

void ZipPieces::add_copy(std::string_view name, const Pt2Record& record) {
  add_header(name, record.size, record.crc);
  pieces_.add_range(0, record.offset, record.size);
}

std::string ZipPieces::directory() const {
  std::string out;
  for (const Entry& entry : entries_) {
    std::string large;
    if (entry.size >= kIn64) large += packed({{entry.size, 8}, {entry.size, 8}});
    if (entry.header >= kIn64) put(large, entry.header, 8);
    if (!large.empty()) large = packed({{kZip64Id, 2}, {large.size(), 2}}) + large;
    out += packed({{0x02014b50, 4},
                   {0, 2},
                   {large.empty() ? 0 : kVersion64, 2},
                   {kUtf8Flag, 2},
                   {0, 2},  // stored
                   {0, 2},
                   {kDate, 2},
                   {entry.crc, 4},
                   {shown_size(entry.size), 4},
                   {shown_size(entry.size), 4},
                   {entry.name.size(), 2},
                   {large.size(), 2},
                   {0, 2},  // comment
                   {0, 2},  // volume
                   {0, 2},  // attributes
                   {0, 4},
                   {shown_size(entry.header), 4}});
    out += entry.name + large;
  }
  return out;
}

BytePieces ZipPieces::finish() && {
  const std::uint64_t at = pieces_.size();
  const std::string entries = directory();
  const std::uint64_t end = at + entries.size();
  const std::uint64_t count = entries_.size();
  const std::uint64_t shown_count = std::min<std::uint64_t>(count, 0xffff);
  pieces_.add(entries);
  pieces_.add(packed({{0x06064b50, 4},
                      {44, 8},
                      {0x31e, 2},
                      {kVersion64, 2},
                      {0, 4},
                      {0, 4},
                      {count, 8},
                      {count, 8},
                      {entries.size(), 8},
                      {at, 8}}));
  pieces_.add(packed({{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}}));
  pieces_.add(packed({{0x06054b50, 4},
                      {0, 2},
                      {0, 2},
                      {shown_count, 2},
                      {shown_count, 2},
                      {shown_size(entries.size()), 4},
                      {shown_size(at), 4},
                      {0, 2}}));
  return std::move(pieces_);
}

}  // namespace cleave
