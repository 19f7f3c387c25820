#include "formats/models/pt2/zip_directory.h"

#include <cstdint>
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

// The number's bytes, the least first.
std::string le(std::uint64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}
std::uint64_t le_at(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}
std::string with(std::string bytes, std::size_t at, const std::string& other) {
  bytes.replace(at, other.size(), other);
  return bytes;
}

const std::string kEntry = "PK\x01\x02", kEnd = "PK\x05\x06";

TEST_CASE("the end record is found behind comments of any length") {
  const std::string bytes = small_archive();
  const auto with_comment = [&](std::size_t length, std::size_t told) {
    return with(bytes, bytes.size() - 2, le(told, 2)) + std::string(length, 'c');
  };
  for (const std::size_t length : {0U, 1U, 21U, 22U, 1000U, 65534U, 65535U}) {
    CAPTURE(length);
    CHECK(fault_of(with_comment(length, length)).empty());
  }
  CHECK(fault_of(with_comment(65536, 65535)) == "is cut off: it has no end record");
  CHECK(fault_of(with_comment(5, 4)) == "is cut off: it has no end record");
  CHECK(fault_of(with_comment(4, 5)) == "is cut off: it has no end record");
  // A comment that looks like an end record is none.
  CHECK(fault_of(with_comment(0, 30) + kEnd + std::string(26, '\0')).empty());
  // An archive without records is an end record alone.
  CHECK(fault_of(kEnd + std::string(18, '\0')).empty());
  CHECK(fault_of(kEnd + std::string(17, '\0')) == "is cut off: it has no end record");
}

// The archive without the numbers of 64 bits that cleave writes in any case.
std::string plain_archive() {
  std::string bytes = small_archive();
  const std::size_t end64 = bytes.rfind("PK\x06\x06"), end = bytes.rfind(kEnd);
  REQUIRE(end64 < end);
  return bytes.erase(end64, end - end64);
}

TEST_CASE("the directory that the end record names lies before it and has its records") {
  const std::string bytes = plain_archive();
  const std::size_t end = bytes.rfind(kEnd);
  CHECK(fault_of(with(bytes, end + 4, "\1")) == "is one of several volumes");
  const std::uint64_t size = le_at(bytes, end + 12, 4), offset = le_at(bytes, end + 16, 4);
  REQUIRE(offset + size <= end);
  const auto with_directory = [&](std::uint64_t at, std::uint64_t length) {
    return fault_of(with(bytes, end + 12, le(length, 4) + le(at, 4)));
  };
  CHECK(with_directory(offset, size).empty());
  CHECK(with_directory(end + 1, 0) == "has a directory outside of it");
  CHECK(with_directory(offset, end - offset + 1) == "has a directory outside of it");
  CHECK(with_directory(offset, end - offset).empty());
  CHECK(with_directory(offset, size - 1) == "has a damaged directory");
  CHECK(with_directory(offset + 1, size - 1) == "has a damaged directory");
  const auto with_entries = [&](std::uint64_t count) {
    return fault_of(with(bytes, end + 10, le(count, 2)));
  };
  CHECK(with_entries(1).empty());
  CHECK(with_entries(size / 46 + 1) == "claims " + std::to_string(size / 46 + 1) +
                                           " records, which its directory has no room for");
  CHECK(with_entries(3) == (size / 46 < 3 ? "claims 3 records, which its directory has no room for"
                                          : "has a damaged directory"));
}

TEST_CASE("entries and the headers of their records agree") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find(kEntry);
  REQUIRE(le_at(bytes, entry + 42, 4) == 0);  // the first record is at the beginning
  const std::string record = "has a record \"m/a.json\" ";
  CHECK(fault_of(with(bytes, 0, "Q")) == record + "that is not where the directory says");
  CHECK(fault_of(with(bytes, entry + 42, le(entry - 29, 4))) ==
        record + "that is not where the directory says");
  CHECK(fault_of(with(bytes, entry + 42, le(entry + 1, 4))) ==
        record + "that is not where the directory says");
  CHECK(fault_of(with(bytes, 30, "n")) == record + "that has another name in its own header");
  CHECK(fault_of(with(bytes, entry + 20, le(3, 4))) == record + "with two different sizes");
  const std::uint64_t data = 30 + le_at(bytes, 26, 2) + le_at(bytes, 28, 2);
  const auto with_size = [&](std::uint64_t size) {
    return fault_of(with(bytes, entry + 20, le(size, 4) + le(size, 4)));
  };
  CHECK(with_size(entry - data + 1) == record + "that ends outside of it");
  CHECK(with_size(entry - data) == "has records \"m/a.json\" and \"m/data/w\" that overlap");
  const std::uint64_t second = le_at(bytes, bytes.find(kEntry, entry + 1) + 42, 4);
  CHECK(with_size(second - data).empty());
  CHECK(with_size(second - data + 1) == "has records \"m/a.json\" and \"m/data/w\" that overlap");
  CHECK(fault_of(with(bytes, 26, le(0xFFFF, 2))) == record + "that ends outside of it");
  for (const unsigned flag : {0x1U, 0x40U, 0x2000U}) {
    CHECK(fault_of(with(bytes, entry + 8, le(flag, 2))).starts_with("has an encrypted record"));
  }
  CHECK(fault_of(with(bytes, entry + 8, le(0x808, 2))).empty());
}

TEST_CASE("names of records are UTF-8 and stay inside the archive") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find(kEntry);
  const auto renamed = [&](const std::string& name) {  // of 8 bytes
    return fault_of(with(with(bytes, 30, name), entry + 46, name));
  };
  const std::string nul("m/a\0json", 8);
  CHECK(renamed("m/a.jsom").empty());
  CHECK(renamed("/abcdefg").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("..abcdef").empty());
  CHECK(renamed("a/b/c/..").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("../abcde").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("abc/...e").empty());
  CHECK(renamed(nul).find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("m/a.js\xFFn").find("whose name is not UTF-8") != std::string::npos);
  // Folders are no records, where they are empty.
  const auto records = read_zip_directory(
      with(with(with(bytes, 30, "m/a.jso/"), entry + 46, "m/a.jso/"), entry + 20, le(0, 8)));
  REQUIRE(records);
  CHECK(records->size() == 1);
}

// The archive with numbers of 64 bits: the end record and, with `entries`, those of the first entry.
std::string in_zip64(const std::string& bytes, bool entries) {
  const std::size_t end = bytes.rfind(kEnd);
  const std::uint64_t count = le_at(bytes, end + 10, 2), offset = le_at(bytes, end + 16, 4);
  std::string table = bytes.substr(offset, end - offset);
  if (entries) {
    const std::size_t name_size = le_at(table, 28, 2);
    const std::string numbers =
        le(le_at(table, 24, 4), 8) + le(le_at(table, 20, 4), 8) + le(le_at(table, 42, 4), 8);
    const std::string extra = le(7, 2) + le(3, 2) + "abc" + le(1, 2) + le(24, 2) + numbers;
    const std::size_t old_extra = le_at(table, 30, 2);
    table.replace(46 + name_size, old_extra, extra);
    table.replace(20, 8, std::string(8, '\xFF'));
    table.replace(42, 4, std::string(4, '\xFF'));
    table.replace(30, 2, le(extra.size(), 2));
  }
  std::string made = bytes.substr(0, offset) + table;
  const std::uint64_t end64 = made.size();
  made += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8) + le(count, 8) +
          le(count, 8) + le(table.size(), 8) + le(offset, 8);
  made += "PK\x06\x07" + le(0, 4) + le(end64, 8) + le(1, 4);
  return made + kEnd + le(0, 4) + le(0xFFFF, 2) + le(0xFFFF, 2) + le(0xFFFFFFFF, 4) +
         le(0xFFFFFFFF, 4) + le(0, 2);
}

TEST_CASE("an archive with numbers of 64 bits has the same records") {
  const std::string bytes = plain_archive();
  const auto plain = read_zip_directory(bytes);
  REQUIRE(plain);
  for (const bool entries : {false, true}) {
    const std::string wide = in_zip64(bytes, entries);
    const auto records = read_zip_directory(wide);
    if (!records) FAIL(records.error());
    REQUIRE(records->size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK((*records)[i].name == (*plain)[i].name);
      CHECK((*records)[i].offset == (*plain)[i].offset);
      CHECK((*records)[i].size == (*plain)[i].size);
      CHECK((*records)[i].crc == (*plain)[i].crc);
    }
    const std::size_t end64 = wide.rfind("PK\x06\x06"), locator = wide.rfind("PK\x06\x07");
    CHECK(fault_of(with(wide, end64, "Q")) == "has a damaged zip64 end record");
    CHECK(fault_of(with(wide, locator + 8, le(wide.size() - 55, 8))) ==
          "has a damaged zip64 end record");
    CHECK(fault_of(with(wide, locator + 8, le(locator + 1, 8))) ==
          "has a damaged zip64 end record");
    CHECK(fault_of(with(wide, end64 + 48, le(end64 + 1, 8))) == "has a directory outside of it");
  }
  const std::string wide = in_zip64(bytes, true);
  const std::size_t field = wide.find(le(7, 2) + le(3, 2) + "abc") + 7;
  CHECK(fault_of(with(wide, field + 2, le(23, 2))) == "has a damaged directory");
  CHECK(fault_of(with(wide, field + 2, le(25, 2))).find("m/a.json") != std::string::npos);
}

}  // namespace
}  // namespace cleave
