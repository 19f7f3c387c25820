#include "formats/models/pt2/zip_directory.h"

#include <string>

#include "formats/models/pt2/write/writer.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

std::string small_archive() {
  ZipPieces zip("m");
  zip.add("a.json", "{}");
  zip.add("data/w", std::string(100, 'w'));
  return std::string(std::move(zip).finish().made());
}

std::string fault_of(const std::string& bytes) {
  const auto read = read_zip_directory(bytes);
  return read ? "" : read.error();
}

TEST_CASE("a written archive is listed, with data at multiples of 64") {
  const std::string bytes = small_archive();
  const auto records = read_zip_directory(bytes);
  REQUIRE(records);
  REQUIRE(records->size() == 2);
  CHECK((*records)[0].name == "m/a.json");
  CHECK((*records)[0].size == 2);
  CHECK((*records)[1].offset % 64 == 0);
  CHECK(bytes.substr((*records)[1].offset, 100) == std::string(100, 'w'));
  CHECK(has_its_crc(bytes, (*records)[1]));
}

TEST_CASE("an archive that is cut off anywhere is refused") {
  const std::string bytes = small_archive();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO(size);
    CHECK(!fault_of(bytes.substr(0, size)).empty());
  }
}

TEST_CASE("a wrong checksum is detected") {
  std::string bytes = small_archive();
  const auto records = read_zip_directory(bytes);
  REQUIRE(records);
  const ZipRecord record = (*records)[0];
  bytes[record.offset] = '[';
  CHECK_FALSE(has_its_crc(bytes, record));
}

TEST_CASE("compressed and encrypted records are refused with the remedy") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find("PK\x01\x02");
  std::string compressed = bytes;
  compressed[entry + 10] = 8;
  CHECK(fault_of(compressed) ==
        "has a compressed record \"m/a.json\": save it again with torch.export.save, or pack it "
        "with zip -0");
  std::string encrypted = bytes;
  encrypted[entry + 8] = 1;
  CHECK(fault_of(encrypted) ==
        "has an encrypted record \"m/a.json\": save it again without a password");
}

TEST_CASE("names that leave the archive, or are repeated, are refused") {
  for (const std::string name : {"../x", "a/../../x", "a\\b"}) {
    ZipPieces zip("m");
    zip.add(name, "x");
    CHECK(
        fault_of(std::string(std::move(zip).finish().made())).find("not a path inside a folder") !=
        std::string::npos);
  }
  ZipPieces twice("m");
  twice.add("a", "x");
  twice.add("a", "y");
  CHECK(fault_of(std::string(std::move(twice).finish().made())) == "has two records \"m/a\"");
}

TEST_CASE("records that overlap are refused") {
  std::string bytes = small_archive();
  const std::size_t first = bytes.find("PK\x01\x02");
  const std::size_t second = bytes.find("PK\x01\x02", first + 1);
  // The second entry becomes the first one under another name, in place of its own.
  for (std::size_t i = 42; i < 46; ++i) bytes[second + i] = bytes[first + i];
  CHECK(!fault_of(bytes).empty());
}

TEST_CASE("a whole record inside the data of another one is refused") {
  ZipPieces inner("m");
  inner.add("b", "xyz");
  std::string header(std::move(inner).finish().made());
  header.resize(header.find("PK\x01\x02"));
  ZipPieces zip("m");
  zip.add("a", header);
  zip.add("b", "xyz");
  std::string bytes(std::move(zip).finish().made());
  CHECK(fault_of(bytes).empty());
  // The entry of "b" names the record in the data of "a", which is right in all but its place.
  const std::size_t second = bytes.find("PK\x01\x02", bytes.find("PK\x01\x02") + 1);
  const std::size_t place = bytes.find(header);
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[second + 42 + i] = static_cast<char>(place >> (8 * i) & 0xFFU);
  }
  CHECK(fault_of(bytes) == "has records \"m/a\" and \"m/b\" that overlap");
}

TEST_CASE("sizes of 4 GiB and more are in zip64 fields") {
  ZipPieces zip("m");
  const std::uint64_t large = std::uint64_t{5} << 30U;
  zip.add_copy("data/w", {"w", 0, large, 7});
  zip.add("a", "x");
  const BytePieces pieces = std::move(zip).finish();
  CHECK(pieces.size() > large);
  const std::string made(pieces.made());
  // The header of the large record, then that of the small one, then the directory.
  CHECK(made.substr(18, 4) == "\xff\xff\xff\xff");
  const std::size_t entry = made.find("PK\x01\x02");
  CHECK(made.substr(entry + 24, 4) == "\xff\xff\xff\xff");
}

}  // namespace
}  // namespace cleave
