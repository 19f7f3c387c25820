#include "formats/base/io/sha256_blocks.h"

#include <random>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
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
