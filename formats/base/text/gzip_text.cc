#include "formats/base/text/gzip_text.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

namespace cleave {
namespace {

constexpr int kGzip = 15 + 16;  // the largest window, and a header of gzip

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8U | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= three.size() ? kDigits[word >> (18U - 6U * i) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace

std::string gzipped(std::string_view text) {
  z_stream stream = {};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed;
  std::array<unsigned char, 1U << 16U> room;
  int done = Z_OK;
  while (done != Z_STREAM_END) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::string_view next = text.substr(0, std::min(text.size(), kMost));
    // zlib only reads what it is given.
    stream.next_in =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(next.data()));
    stream.avail_in = static_cast<uInt>(next.size());
    stream.next_out = room.data();
    stream.avail_out = static_cast<uInt>(room.size());
    done = ::deflate(&stream, next.size() == text.size() ? Z_FINISH : Z_NO_FLUSH);
    text.remove_prefix(next.size() - stream.avail_in);
    packed.append(reinterpret_cast<const char*>(room.data()), room.size() - stream.avail_out);
  }
  ::deflateEnd(&stream);
  return packed;
}

bool is_gzipped(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::optional<std::string> ungzipped(std::string_view bytes, std::size_t most) {
  z_stream stream = {};
  if (::inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  std::string text;
  std::array<unsigned char, 1U << 16U> room;
  int done = Z_OK;
  while (done == Z_OK && text.size() <= most) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::string_view next = bytes.substr(0, std::min(bytes.size(), kMost));
    stream.next_in =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(next.data()));
    stream.avail_in = static_cast<uInt>(next.size());
    stream.next_out = room.data();
    stream.avail_out = static_cast<uInt>(room.size());
    done = ::inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(next.size() - stream.avail_in);
    text.append(reinterpret_cast<const char*>(room.data()), room.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (done != Z_STREAM_END || !bytes.empty() || text.size() > most) return std::nullopt;
  return text;
}

std::string gzip_base64(std::string_view text) { return base64(gzipped(text)); }

}  // namespace cleave
