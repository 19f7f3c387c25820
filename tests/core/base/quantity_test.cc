#include <functional>

#include "core/base/quantity.h"
#include "tests/catch2.h"

namespace cleave {

// ---- link test ----

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

// ---- polynomial test ----

namespace {

using Function = std::function<double(std::span<const std::int64_t>)>;

std::optional<Polynomial> fitted(const SampleGrid& grid, const Function& of) {
  std::vector<double> values;
  for (const auto& point : grid.points()) values.push_back(of(grid.values_at(point)));
  return fit_polynomial(grid, values);
}

std::string value_of(std::string_view text) {
  const auto expression = SizeExpression::parse(text);
  if (!expression) return "none";
  const auto value = expression->value([](std::string_view name) -> std::optional<std::int64_t> {
    if (name == "s53") return 7;
    return name == "past_length" ? std::optional<std::int64_t>(10) : std::nullopt;
  });
  return value ? std::to_string(*value) : "?";
}

TEST_CASE("A size that an exporter computed follows from the names in it") {
  CHECK(value_of("s53 + past_length") == "17");
  CHECK(value_of("((s53 - 1)//2) + 1") == "4");
  CHECK(value_of("2*s53 - 3*(past_length - 8)") == "8");
  CHECK(value_of("past_length - s53 - 1") == "2");
  CHECK(value_of("floor(s53/2) + 1") == "4");
  CHECK(value_of("(s53 - 8) % 9223372036854775807") == "9223372036854775806");
  CHECK(value_of("(s53 - 8) // 9223372036854775807 + 2") == "1");
  CHECK(value_of("floor(-s53/2) + 9") == "5");
  CHECK(value_of("floor((s53 - 9)/2) + 9") == "8");
  CHECK(value_of("(s53 - 9)//2 + 9") == "8");
  CHECK(value_of("(s53 - 9) % 2 + 9") == "9");
  CHECK(value_of("(s53 - 10) % 2 + 9") == "10");
  CHECK(value_of("floor(s53/2 - 1/2) + 1") == "4");
  CHECK(value_of("floor(past_length/2 - 1/2) + 1") == "5");
  CHECK(value_of("floor(floor(s53/2 - 1/2)/2 - 1/2) + 1") == "2");
  CHECK(value_of("s53/2 + s53/2") == "7");
  CHECK(value_of("s53 % 4") == "3");
  CHECK(value_of("-s53 + past_length") == "3");
}

TEST_CASE("What is no size of known names has no value") {
  for (const char* const text : {"s53/2", "floor(s53/2) + s53/2", "s53 - past_length",
                                 "s53 + other", "s53//0", "past_length*9223372036854775807"}) {
    INFO(text);
    CHECK(value_of(text) == "?");
  }
  for (const char* const text :
       {"", "s53", "12", "(s53)", "s53 +", "+ s53", "s53 past_length", "(s53 + 1", "s53 + 1)",
        "Max(1, s53)", "s53 + 1x", "s53 ^ 2", "()"}) {
    INFO(text);
    CHECK(value_of(text) == "none");
  }
}

TEST_CASE("A polynomial of one dim is found from four samples") {
  const SampleGrid grid{.first = {1}, .step = {1}};
  REQUIRE(grid.points().size() == 4);
  const auto made = fitted(grid, [](auto at) { return 2331136.0 * static_cast<double>(at[0]); });
  REQUIRE(made);
  CHECK(expression_text(*made, std::vector<std::string>{"N"}) == "2331136*N");
  const std::int64_t sizes[] = {77};
  CHECK(made->at(sizes) == 2331136.0 * 77);
}

TEST_CASE("Products of three dims, lower terms and fractions come out exactly, on any grid") {
  const SampleGrid grid{.first = {1, 224, 224}, .step = {1, 32, 32}};
  REQUIRE(grid.points().size() == 20);
  const auto of = [](auto at) {
    const double n = static_cast<double>(at[0]), h = static_cast<double>(at[1]),
                 w = static_cast<double>(at[2]);
    return 73765.5 * n * h * w + 12.0 / 32 * n * h + 4096 * n - 7;
  };
  const auto made = fitted(grid, of);
  REQUIRE(made);
  CHECK(expression_text(*made, std::vector<std::string>{"N", "H", "past + 1"}) ==
        "73765.5*N*H*`past + 1` + 0.375*N*H + 4096*N - 7");
  const std::int64_t sizes[] = {3, 640, 480};
  CHECK(agrees(*made, sizes, of(std::span<const std::int64_t>(sizes))));
  CHECK_FALSE(agrees(*made, sizes, of(std::span<const std::int64_t>(sizes)) * 1.0001));
}

TEST_CASE(
    "A polynomial is written with its signs, names of letters, digits, points and brackets plain") {
  const Polynomial made{{{2, {1, 0}}, {-3, {0, 2}}, {-0.5, {0, 0}}}};
  const auto text = [&](const std::string& one) {
    return expression_text(made, std::vector<std::string>{one, "M"});
  };
  CHECK(text("N") == "2*N - 3*M*M - 0.5");
  for (const char* const plain : {"a", "z", "A", "Z", "0", "9", "_", "x.y[3]"}) {
    CHECK(text(plain) == "2*" + std::string(plain) + " - 3*M*M - 0.5");
  }
  for (const char* const other : {"a b", "a+1", "`", "{", "@", "/", ":", "^", "\\"}) {
    CHECK(text(other) == "2*`" + std::string(other) + "` - 3*M*M - 0.5");
  }
  CHECK(expression_text({{{-1, {1}}}}, std::vector<std::string>{"N"}) == "-1*N");
}

TEST_CASE("A term is what is more than rounding of the values, whatever their size") {
  const auto text_of = [](double factor, double noise) {
    const SampleGrid grid{.first = {1}, .step = {1}};
    const auto made = fitted(grid, [&](auto at) {
      return factor * static_cast<double>(at[0]) + (at[0] == 2 ? noise : 0);
    });
    return made ? expression_text(*made, std::vector<std::string>{"N"}) : "none";
  };
  CHECK(text_of(1 << 30, 0.01) == "1073741824*N");
  CHECK(text_of(0, 1e-12) == "0");
  const auto least = fitted({.first = {1}, .step = {1}}, [](auto) { return 1e-9; });
  CHECK((least && least->terms.empty()));
  CHECK(text_of(0, 8) == "4*N*N*N - 32*N*N + 76*N - 48");
}

TEST_CASE("No number is a polynomial without terms") {
  const SampleGrid grid{.first = {2}, .step = {5}};
  const auto made = fitted(grid, [](auto) { return 0.0; });
  REQUIRE(made);
  CHECK(made->terms.empty());
  CHECK(expression_text(*made, std::vector<std::string>{"N"}) == "0");
}

TEST_CASE("What is no polynomial of degree 3 is fitted on the grid and fails beside it") {
  const SampleGrid grid{.first = {1}, .step = {1}};
  const auto made = fitted(grid, [](auto at) {
    const double n = static_cast<double>(at[0]);
    return n * n * n * n;
  });
  const std::int64_t beyond[] = {6};
  CHECK((!made || !agrees(*made, beyond, 6.0 * 6 * 6 * 6)));
}

}  // namespace

// ---- quantity test ----

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
