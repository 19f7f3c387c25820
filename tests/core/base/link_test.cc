#include "core/base/link.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

double rate(std::string_view text) {
  const auto link = parse_link(text);
  return link ? link->bytes_per_second : 0;
}

TEST_CASE("the default link carries 100 GiB per second") {
  CHECK(default_link().bytes_per_second == 107374182400.0);
  CHECK(rate(default_link().name) == default_link().bytes_per_second);
}

TEST_CASE("PCIe links carry their line rate less the encoding") {
  CHECK(rate("gen1x1") == 250e6);
  CHECK(rate("gen2x4") == 2e9);
  CHECK(rate("gen3x16") == Approx(15.7538e9).epsilon(1e-4));
  CHECK(rate("gen4x8") == Approx(15.7538e9).epsilon(1e-4));
  CHECK(rate("gen4x16") == Approx(31.5077e9).epsilon(1e-4));
  CHECK(rate("gen5x16") == Approx(63.0154e9).epsilon(1e-4));
  CHECK(rate("gen6x16") == Approx(121e9).epsilon(1e-4));
  CHECK(parse_link(" Gen4x16 ")->name == "Gen4x16");
}

TEST_CASE("a rate is a number with a unit") {
  CHECK(rate("100GiB/s") == 107374182400.0);
  CHECK(rate("16GB/s") == 16e9);
  CHECK(rate("12.5 GB") == 12.5e9);
  CHECK(rate("800Gbit/s") == 100e9);
  CHECK(rate("400Gbps") == 50e9);
  CHECK(rate("25GBps") == 25e9);
  CHECK(rate("512 MiB/s") == 536870912.0);
  CHECK(rate("7 B/s") == 7);
}

TEST_CASE("text that is neither a link nor a positive number is refused") {
  for (const char* text :
       {"",          " ",    "gen0x16", "gen7x16", "gen4x3",  "gen4x", "gen4",  "gen4x016",
        "gen4x16 ?", "0",    "0GB/s",   "-1GB/s",  "nan",     "inf",   "1e999", "fast",
        "16Gb",      "16 G", "16XB/s",  "GB/s",    "1e308PB", "100",   "1e9"}) {
    INFO(text);
    CHECK_FALSE(parse_link(text));
  }
}

TEST_CASE("counts of bytes are exact where they are written as whole numbers") {
  CHECK(parse_bytes("4096") == 4096u);
  CHECK(parse_bytes("24GiB") == 25769803776u);
  CHECK(parse_bytes("512MB") == 512000000u);
  CHECK(parse_bytes("1e9") == 1000000000u);
  CHECK(parse_bytes("1.5kB") == 1500u);
  CHECK(parse_bytes("0") == 0u);
  CHECK(parse_bytes("18446744073709551615") == 18446744073709551615u);
}

TEST_CASE("counts of bytes that overflow or are invalid are refused") {
  for (const char* text :
       {"", "x", "-1", "18446744073709551616", "16384PiB", "18446744073709551615kB", "1e20", "GiB",
        "1 Gi", "1GB/s", "nan", "1bit"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

}  // namespace
}  // namespace cleave
