// Long text inside a file that must stay text, such as a page: gzip, then base64.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The text compressed (RFC 1952, no file name, no time) and in base64 (RFC 4648), one line. The
// same text gives the same bytes with the same zlib.
std::string gzip_base64(std::string_view text);

}  // namespace cleave
