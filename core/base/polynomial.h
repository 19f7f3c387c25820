// Polynomials of degree 3 at most, found from samples: how a number depends on sizes that are open.
//
//   FLOPs at N=1, 2, 3, 4: 10, 20, 30, 40   ->   10*N
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cleave {

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

}  // namespace cleave
