#include "formats/base/io/sha256.h"

#include "tests/catch2.h"

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
