// Amounts that people write (10us, gen4x4), links, and sizes as polynomials of open dims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// ---- quantity ----
//
// Quantities as people write and read them: a number and a unit. For link bandwidths and byte
// counts see "link" below.

struct Quantity {
  double value = 0;                    // finite, not below 0
  std::optional<std::uint64_t> whole;  // set when it is written as a whole number that fits 64 bits
  std::string_view unit;               // the text after the number, without white space around it
};

// Parses "12", "1.5 GiB", "1e9". nullopt when the text does not begin with a number of 0 or more.
std::optional<Quantity> parse_quantity(std::string_view text);

// True for a number without a unit.
bool is_bare_number(std::string_view text);

// Parses a duration into seconds: `12ms`, `300us`, `1.5s`, `2min`. nullopt for other units.
std::optional<double> parse_duration(std::string_view text);

// Parses a share from 0 to 1: "0.95", "95%". Returns the nearest double. nullopt for other texts.
std::optional<double> parse_share(std::string_view text);

// Parses floating-point operations per second: `10T`, `312TFLOP/s`, `1.5GFLOPS`, `1e12 FLOP/s`.
// Must be above 0 and have a unit.
std::optional<double> parse_flops_rate(std::string_view text);

// Says what is wrong with a text that is not a bandwidth ("link" below) and what to write
// instead. It follows the quoted text: " has no unit: write 100GB/s or 100GiB/s, ...".
std::string bandwidth_refusal(std::string_view text);

// The number with three digits, in the first unit in which the rounded number is below `step`; the
// last unit takes what is left. Each unit is `step` times the one before. "9.19 MiB", "64 B".
std::string with_unit(double number, double step, std::span<const std::string_view> units);

// "512 B", "9.19 MiB": a number of bytes, which need not be whole.
std::string byte_amount(double bytes);

// ---- polynomial ----
//
// Polynomials of degree 3 at most, found from samples: how a number depends on sizes that are open.
//
//   FLOPs at N=1, 2, 3, 4: 10, 20, 30, 40   ->   10*N

struct Polynomial {
  struct Term {
    double factor = 0;
    std::vector<std::uint8_t> powers;  // by variable
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;  // highest powers first; empty: 0

  double at(std::span<const std::int64_t> values) const;
};

// Where samples are taken: variable i is first[i] + step[i] * u, for whole numbers u that are the
// coordinates of a point.
struct SampleGrid {
  std::vector<std::int64_t> first, step;

  std::size_t variables() const { return first.size(); }
  // All points whose coordinates sum to 3 at most: a polynomial of degree 3 is known by them. The first
  // is 0 in all.
  std::vector<std::vector<std::int64_t>> points() const;
  std::vector<std::int64_t> values_at(std::span<const std::int64_t> point) const;
};

// The polynomial of degree 3 at most that has these values at the grid's points, in their order; nullopt
// if rounding loses a value by more than a billionth of it. Method: Newton's forward differences.
std::optional<Polynomial> fit_polynomial(const SampleGrid& grid, std::span<const double> values);

// True where the polynomial has this value there, but for rounding.
bool agrees(const Polynomial& polynomial, std::span<const std::int64_t> at, double value);

// "1165568*N*H*W + 640*N"; "0" for no term. The factors are written so that they are read back exactly;
// names other than plain words are in backquotes.
std::string expression_text(const Polynomial& polynomial, std::span<const std::string> names);

// A size that an exporter computed from named sizes, and wrote in place of a name: "s53 + s77",
// "((s1 - 1)//2) + 1", "floor(height/2 - 1/2) + 1". A plain name or number is none, nor is what is not understood.
class SizeExpression {
 public:
  using SizeOf = std::function<std::optional<std::int64_t>(std::string_view name)>;

  // The text outlives what is returned. Linear.
  static std::optional<SizeExpression> parse(std::string_view text);

  std::vector<std::string_view> names() const;  // may repeat
  // nullopt: a name is not known, or it is no size: negative, too large, or no whole number.
  std::optional<std::int64_t> value(const SizeOf& size_of) const;

 private:
  struct Item {
    char op;  // 'n': a name, '1': a number, 'f': floor of the last, 'w': "//"; else as in the text
    std::string_view name = {};
    std::int64_t number = 0;
  };
  std::vector<Item> items_;  // operators behind what they are of
};

// The size of a name; if that is not known, of the expression that it is.
std::optional<std::int64_t> named_size(std::string_view name,
                                       const SizeExpression::SizeOf& size_of);

// ---- link ----
//
// The link between host and accelerator: a bandwidth, by number or by PCIe generation and width.

struct Link {
  std::string name;             // as the user wrote it: "gen4x16", "100GiB/s"
  double bytes_per_second = 0;  // one direction
  bool is_assumed = false;      // the default, which nobody chose: no conclusion rests on it
  bool is_none = false;         // the device has none of its own: no rate is computed

  // However they are written.
  bool operator==(const Link& other) const { return bytes_per_second == other.bytes_per_second; }
};

// The default: 100 GiB/s, the figure that the reference system uses.
Link default_link();
// What stands for the link of a device whose list says that it has none: the device shares the CPU's memory, or is sold
// with different links. Where times are asked for, transfers take what they take on the default link.
Link no_link();

// Parses a link name or a bandwidth. A name is `gen1`..`gen6` with x1, x2, x4, x8 or x16; its rate
// is that of one direction, the line rate less the encoding's overhead (gen1-2 8b/10b, gen3-5
// 128b/130b, gen6 242/256). A bandwidth is a number with a unit: `100GiB/s`, `16GB/s`, `12.5 GB`,
// `800Gbit/s`; positive and finite. Returns nullopt for any other text, also for a number without a
// unit: see bandwidth_refusal() in core/base/quantity.h.
std::optional<Link> parse_link(std::string_view text);

// Parses a count of bytes: `24GiB`, `512MB`, `1e9`, `4096`. nullopt if the text is not a byte
// count, or overflows.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace cleave
