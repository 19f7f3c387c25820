// The compression of SHA-256: what each block of 64 bytes does to the state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cleave {

constexpr std::size_t kSha256Block = 64;  // bytes
using Sha256State = std::array<std::uint32_t, 8>;

// Hashes `count` consecutive blocks, by the processor's SHA instructions if it has them.
// Method: FIPS 180-4, 6.2.2.
void add_sha256_blocks(Sha256State& state, const unsigned char* blocks, std::size_t count);

// The same on any processor.
void add_sha256_blocks_portably(Sha256State& state, const unsigned char* blocks, std::size_t count);

}  // namespace cleave
