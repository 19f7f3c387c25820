#include <random>
#include <vector>

#include "formats/base/files.h"
#include "tests/catch2.h"

namespace cleave {

// ---- sha256 blocks test ----

namespace {

TEST_CASE("SHA instructions change the state as the portable method does") {
  std::mt19937 random(1);
  for (std::size_t count = 0; count <= 20; ++count) {
    std::vector<unsigned char> blocks(count * kSha256Block);
    for (unsigned char& byte : blocks) byte = static_cast<unsigned char>(random());
    Sha256State fast;
    for (std::uint32_t& word : fast) word = static_cast<std::uint32_t>(random());
    Sha256State plain = fast;
    const Sha256State before = fast;
    add_sha256_blocks(fast, blocks.data(), count);
    add_sha256_blocks_portably(plain, blocks.data(), count);
    CHECK(fast == plain);
    CHECK((fast == before) == (count == 0));
  }
}

}  // namespace

}  // namespace cleave

// ---- sha256 test ----

using namespace cleave;

TEST_CASE("SHA-256 gives the digests of FIPS 180-4") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the digest does not depend on how the bytes are divided") {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.add(std::string(static_cast<std::size_t>(i % 7), 'x'));
  std::size_t total = 0;
  for (int i = 0; i < 1000; ++i) total += static_cast<std::size_t>(i % 7);
  CHECK(std::move(hash).hex() == sha256_hex(std::string(total, 'x')));
}
