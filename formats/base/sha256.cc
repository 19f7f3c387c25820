// SHA-256 of files and pieces.

#include <algorithm>
#include <bit>
#include <cstring>

#include "formats/base/files.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace cleave {

// ---- sha256 blocks ----
//
// 1. The portable method, word by word.
// 2. The same with the SHA instructions of x86 processors, some ten times as fast.
// 3. The choice, once a process.

namespace {

alignas(16) constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t word_at(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
         std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
}

std::array<std::uint32_t, 64> schedule(const unsigned char* block) {
  std::array<std::uint32_t, 64> words = {};
  for (std::size_t i = 0; i < 16; ++i) words[i] = word_at(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = words[i - 15], b = words[i - 2];
    const std::uint32_t low = std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U;
    const std::uint32_t high = std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U;
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  return words;
}

void add_block(Sha256State& state, const unsigned char* block) {
  const auto words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t high = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t first = h + high + ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
    const std::uint32_t low = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t second = low + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

#if defined(__x86_64__)

bool has_sha_instructions() {
  constexpr unsigned kSsse3 = 1U << 9U, kSse41 = 1U << 19U;  // leaf 1, ecx
  constexpr unsigned kSha = 1U << 29U;                       // leaf 7, ebx
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  if ((c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

// The instructions take the state as two registers, of the words a b e f and c d g h, and do two
// rounds each. Method: Intel SHA Extensions, 2013.
__attribute__((target("sha,sse4.1,ssse3"))) void add_blocks_by_instructions(Sha256State& state,
                                                                            const unsigned char* at,
                                                                            std::size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xF0);
  for (; count > 0; --count, at += kSha256Block) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    const auto* const block = reinterpret_cast<const __m128i*>(at);
    __m128i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(_mm_loadu_si128(block + i), big_endian);
    for (std::size_t i = 0; i < 16; ++i) {
      const auto* const round = reinterpret_cast<const __m128i*>(kRounds.data() + 4 * i);
      const __m128i sum = _mm_add_epi32(w[i % 4], _mm_load_si128(round));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      const __m128i last = w[(i + 3) % 4];
      const __m128i older = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
      const __m128i mixed = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
      w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(mixed, older), last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_sha_instructions() { return false; }
void add_blocks_by_instructions(Sha256State&, const unsigned char*, std::size_t) {}

#endif

}  // namespace

void add_sha256_blocks_portably(Sha256State& state, const unsigned char* blocks,
                                std::size_t count) {
  for (; count > 0; --count, blocks += kSha256Block) add_block(state, blocks);
}

void add_sha256_blocks(Sha256State& state, const unsigned char* blocks, std::size_t count) {
  static const bool is_fast = has_sha_instructions();
  if (is_fast) return add_blocks_by_instructions(state, blocks, count);
  add_sha256_blocks_portably(state, blocks, count);
}

// ---- sha256 ----

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
