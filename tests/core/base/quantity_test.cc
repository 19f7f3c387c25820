#include "core/base/quantity.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a quantity is a number and the unit behind it") {
  const auto quantity = parse_quantity(" 1.5 GiB ");
  REQUIRE(quantity);
  CHECK(quantity->value == 1.5);
  CHECK_FALSE(quantity->whole);
  CHECK(quantity->unit == "GiB");
  CHECK(parse_quantity("12")->whole == 12u);
  for (const char* text : {"", "GiB", "-1", "nan", "inf", "1e999"}) {
    INFO(text);
    CHECK_FALSE(parse_quantity(text));
  }
}

TEST_CASE("durations need a unit") {
  CHECK(parse_duration("12ms") == 12 * 1e-3);
  CHECK(parse_duration("300 us") == 300 * 1e-6);
  CHECK(parse_duration("1.5s") == 1.5);
  CHECK(parse_duration("2min") == 120);
  CHECK_FALSE(parse_duration("12"));
  for (const char* const text :
       {"nan s", "inf s", "-inf s", "infinity ms", "1e400 s", "1e308min"}) {
    CHECK_FALSE(parse_duration(text));
  }
  CHECK_FALSE(parse_duration("12 h"));
}

TEST_CASE("computing rates are FLOPs per second, and need a unit") {
  CHECK(parse_flops_rate("10T") == 10e12);
  CHECK(parse_flops_rate("312 TFLOP/s") == 312e12);
  CHECK(parse_flops_rate("1.5GFLOPS") == 1.5e9);
  CHECK(parse_flops_rate("1e12 FLOP/s") == 1e12);
  for (const char* text : {"0", "T", "-1T", "10GB/s", "1e308P", "100", "1e12"}) {
    INFO(text);
    CHECK_FALSE(parse_flops_rate(text));
  }
}

TEST_CASE("a number without a unit is distinguished from other text that is not a bandwidth") {
  CHECK(is_bare_number(" 1.5e3 "));
  CHECK_FALSE(is_bare_number("1.5k"));
  CHECK_FALSE(is_bare_number("fast"));
  CHECK(bandwidth_refusal(" 100 ") ==
        " has no unit: write 100GB/s or 100GiB/s, or a link's name (gen1x1 to gen6x16)");
  CHECK(bandwidth_refusal("fast") ==
        " is not a bandwidth: give a number with a unit (100GiB/s) or a link's name (gen1x1 to "
        "gen6x16)");
}

TEST_CASE("amounts of bytes have three digits and a unit") {
  CHECK(byte_amount(0) == "0 B");
  CHECK(byte_amount(1023) == "1023 B");
  CHECK(byte_amount(1536) == "1.5 KiB");
  CHECK(byte_amount(46796608) == "44.6 MiB");
  CHECK(byte_amount(0.5) == "0.5 B");
}

TEST_CASE("a share is a number from 0 to 1, or percent") {
  CHECK(parse_share("0") == 0);
  CHECK(parse_share("1") == 1);
  CHECK(parse_share("0.25") == 0.25);
  CHECK(parse_share("25%") == 0.25);
  CHECK(parse_share("100%") == 1);
  CHECK(parse_share("0%") == 0);
  for (const char* const text :
       {"", "%", "-0.1", "1.01", "101%", "1.5", "25 %", "a", "0.5x", "nan"}) {
    INFO(text);
    CHECK_FALSE(parse_share(text));
  }
}

TEST_CASE("a whole quantity is one that is written without a point or power") {
  CHECK(parse_quantity("18446744073709551615")->whole == 18446744073709551615u);
  CHECK_FALSE(parse_quantity("18446744073709551616")->whole);
  CHECK_FALSE(parse_quantity("1e3")->whole);
  CHECK_FALSE(parse_quantity("1.0")->whole);
  CHECK(parse_quantity("7GiB")->whole == 7u);
  CHECK(parse_quantity("0")->value == 0);
}

TEST_CASE("three digits are those of the number that is shown") {
  CHECK(byte_amount(9.99) == "9.99 B");
  CHECK(byte_amount(9.995) == "10 B");
  CHECK(byte_amount(9.996) == "10 B");
  CHECK(byte_amount(10.04) == "10 B");
  CHECK(byte_amount(99.9) == "99.9 B");
  CHECK(byte_amount(99.96) == "100 B");
  CHECK(byte_amount(1023.4) == "1023 B");
  CHECK(byte_amount(1023.5) == "1 KiB");
}

}  // namespace
}  // namespace cleave
