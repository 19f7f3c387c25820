#include "core/base/number_text.h"

#include <limits>

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("counts have their thousands separated") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes have three digits and a binary unit") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(602112) == "588 KiB");
  CHECK(bytes_text(9633792) == "9.19 MiB");
  CHECK(bytes_text(1048575) == "1 MiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16 EiB");
}

TEST_CASE("FLOPs have three digits and a decimal unit") {
  CHECK(flops_text(0) == "0 FLOP");
  CHECK(flops_text(64) == "64 FLOP");
  CHECK(flops_text(3.628e9) == "3.63 GFLOP");
  CHECK(flops_text(999.9e6) == "1 GFLOP");
  CHECK(flops_text(5e20) == "500 EFLOP");
}

TEST_CASE("FLOPs that are not a number are shown as a question mark") {
  CHECK(flops_text(-1) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::infinity()) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::quiet_NaN()) == "? FLOP");
}
