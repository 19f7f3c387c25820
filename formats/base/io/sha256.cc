#include "formats/base/io/sha256.h"

#include <algorithm>
#include <cstring>

namespace cleave {

void Sha256::add(std::string_view bytes) {
  total_ += bytes.size();
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left > 0) {
    if (filled_ == 0 && left >= kSha256Block) {
      const std::size_t whole = left / kSha256Block;
      add_sha256_blocks(state_, at, whole);
      at += whole * kSha256Block;
      left -= whole * kSha256Block;
      continue;
    }
    const std::size_t taken = std::min(left, pending_.size() - filled_);
    std::memcpy(pending_.data() + filled_, at, taken);
    filled_ = (filled_ + taken) % pending_.size();
    at += taken;
    left -= taken;
    if (filled_ == 0) add_sha256_blocks(state_, pending_.data(), 1);
  }
}

void Sha256::add_text(std::string_view text) {
  add_number(text.size());
  add(text);
}

void Sha256::add_number(std::uint64_t number) {
  std::array<char, 8> bytes = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> 8 * i);
  add({bytes.data(), bytes.size()});
}

std::string Sha256::hex() && {
  const std::uint64_t bits = total_ * 8;
  add(std::string_view("\x80", 1));
  while (filled_ != 56) add(std::string_view("\0", 1));
  for (int shift = 56; shift >= 0; shift -= 8) {
    const char byte = static_cast<char>(bits >> static_cast<unsigned>(shift));
    add({&byte, 1});
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      text += kDigits[word >> static_cast<unsigned>(shift) & 0xfU];
    }
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return std::move(hash).hex();
}

}  // namespace cleave
