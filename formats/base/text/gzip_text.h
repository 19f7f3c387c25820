// Compressed text, and such text inside a file that must stay text, as a page: gzip, then base64.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// The text compressed (RFC 1952, no file name, no time). The same text gives the same bytes with the
// same zlib.
std::string gzipped(std::string_view text);

// Whether a file begins as gzip's do.
bool is_gzipped(std::string_view bytes);

// The text of such a file; nullopt if it is damaged, cut short, followed by something else, or has more
// than `most` bytes, of which no more are made.
std::optional<std::string> ungzipped(std::string_view bytes, std::size_t most);

// gzipped() in base64 (RFC 4648), one line.
std::string gzip_base64(std::string_view text);

}  // namespace cleave
