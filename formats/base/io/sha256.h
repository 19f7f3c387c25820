// SHA-256 (FIPS 180-4), the key of pieces in the cache of verdicts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/base/io/sha256_blocks.h"

namespace cleave {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // Adds a text and its length, so that sequences of texts are distinguished.
  void add_text(std::string_view text);
  void add_number(std::uint64_t number);
  // 64 hexadecimal digits. Do not add anything afterwards.
  std::string hex() &&;

 private:
  Sha256State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kSha256Block> pending_ = {};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;  // bytes
};

// The hash of one text.
std::string sha256_hex(std::string_view bytes);

}  // namespace cleave
