#include "core/base/polynomial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/decimal.h"

namespace cleave {
namespace {

constexpr std::int64_t kDegree = 3;
constexpr double kRounding = 1e-9;  // of a value
// Denominators that sizes halved and thirds of them make.
constexpr std::array<double, 16> kDenominators = {1,  2,  3,  4,   6,   8,   12,   16,
                                                  24, 32, 64, 128, 256, 512, 1024, 4096};

using Powers = std::vector<std::uint8_t>;

// The powers of x in the binomial coefficient of (x - first) / step over `count`.
std::vector<long double> binomial_in_x(std::int64_t first, std::int64_t step, std::int64_t count) {
  std::vector<long double> made = {1};
  for (std::int64_t i = 0; i < count; ++i) {
    const long double scale = static_cast<long double>(step) * static_cast<long double>(i + 1);
    const long double constant = -static_cast<long double>(first + step * i) / scale;
    std::vector<long double> next(made.size() + 1, 0);
    for (std::size_t power = 0; power < made.size(); ++power) {
      next[power] += made[power] * constant;
      next[power + 1] += made[power] / scale;
    }
    made = std::move(next);
  }
  return made;
}

long double choose(std::int64_t from, std::int64_t count) {
  long double made = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    made = made * static_cast<long double>(from - i) / static_cast<long double>(i + 1);
  }
  return made;
}

// The nearest fraction with a small denominator, if it is as near as rounding allows.
double snapped(long double factor) {
  for (const double denominator : kDenominators) {
    const long double scaled = factor * denominator;
    const long double whole = std::round(scaled);
    if (std::abs(scaled - whole) <= kRounding * std::max(1.0L, std::abs(scaled)) && whole != 0) {
      return static_cast<double>(whole / denominator);
    }
  }
  return static_cast<double>(factor);
}

double power_of(double base, std::uint8_t power) {
  double made = 1;
  for (std::uint8_t i = 0; i < power; ++i) made *= base;
  return made;
}

double term_at(const Polynomial::Term& term, std::span<const std::int64_t> values) {
  double made = term.factor;
  for (std::size_t i = 0; i < term.powers.size(); ++i) {
    made *= power_of(static_cast<double>(values[i]), term.powers[i]);
  }
  return made;
}

void add_points(std::size_t variable, std::int64_t left, std::vector<std::int64_t>& point,
                std::vector<std::vector<std::int64_t>>& points) {
  if (variable == point.size()) {
    points.push_back(point);
    return;
  }
  for (std::int64_t u = 0; u <= left; ++u) {
    point[variable] = u;
    add_points(variable + 1, left - u, point, points);
  }
  point[variable] = 0;
}

// A name that is no plain word, such as the symbol "past + 1", in backquotes.
std::string quoted(const std::string& name) {
  const bool is_word = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '[' || c == ']';
  });
  return is_word ? name : "`" + name + "`";
}

// The polynomial from samples at all points of a grid.
class Fit {
 public:
  Fit(const SampleGrid& grid, std::span<const double> values)
      : grid_(grid), points_(grid.points()) {
    for (std::size_t i = 0; i < points_.size(); ++i) values_[points_[i]] = values[i];
  }

  Polynomial run() {
    for (const auto& point : points_) add_newton_term(point);
    Polynomial made;
    for (const auto& [powers, factor] : factors_) {
      Polynomial::Term term{snapped(factor), powers};
      if (matters(term)) made.terms.push_back(std::move(term));
    }
    const auto degree = [](const Polynomial::Term& term) {
      int sum = 0;
      for (const std::uint8_t power : term.powers) sum += power;
      return sum;
    };
    std::stable_sort(made.terms.begin(), made.terms.end(), [&](const auto& a, const auto& b) {
      return std::pair(degree(a), a.powers) > std::pair(degree(b), b.powers);
    });
    return made;
  }

 private:
  // The difference of the order `order` at the first point.
  long double difference(const std::vector<std::int64_t>& order) const {
    long double sum = 0;
    for (const auto& [point, value] : values_) {
      long double factor = value;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (point[i] > order[i]) factor = 0;
        factor *= choose(order[i], point[i]);
        if ((order[i] - point[i]) % 2 != 0) factor = -factor;
      }
      sum += factor;
    }
    return sum;
  }

  void add_newton_term(const std::vector<std::int64_t>& order) {
    const long double factor = difference(order);
    if (factor == 0) return;
    std::map<Powers, long double> product = {{Powers(order.size(), 0), factor}};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto in_x = binomial_in_x(grid_.first[i], grid_.step[i], order[i]);
      std::map<Powers, long double> next;
      for (const auto& [powers, so_far] : product) {
        for (std::size_t power = 0; power < in_x.size(); ++power) {
          Powers raised = powers;
          raised[i] = static_cast<std::uint8_t>(power);
          next[raised] += so_far * in_x[power];
        }
      }
      product = std::move(next);
    }
    for (const auto& [powers, more] : product) factors_[powers] += more;
  }

  // Whether the term is more than rounding at some sample.
  bool matters(const Polynomial::Term& term) const {
    return std::any_of(values_.begin(), values_.end(), [&](const auto& sample) {
      const double part = std::abs(term_at(term, grid_.values_at(sample.first)));
      return part > kRounding * std::max(1.0, std::abs(sample.second));
    });
  }

  const SampleGrid& grid_;
  std::vector<std::vector<std::int64_t>> points_;
  std::map<std::vector<std::int64_t>, double> values_;
  std::map<Powers, long double> factors_;
};

}  // namespace

double Polynomial::at(std::span<const std::int64_t> values) const {
  double sum = 0;
  for (const Term& term : terms) sum += term_at(term, values);
  return sum;
}

std::vector<std::vector<std::int64_t>> SampleGrid::points() const {
  std::vector<std::vector<std::int64_t>> points;
  std::vector<std::int64_t> point(variables(), 0);
  add_points(0, kDegree, point, points);
  return points;
}

std::vector<std::int64_t> SampleGrid::values_at(std::span<const std::int64_t> point) const {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < point.size(); ++i) values.push_back(first[i] + step[i] * point[i]);
  return values;
}

bool agrees(const Polynomial& polynomial, std::span<const std::int64_t> at, double value) {
  return std::abs(polynomial.at(at) - value) <= kRounding * std::max(1.0, std::abs(value));
}

std::optional<Polynomial> fit_polynomial(const SampleGrid& grid, std::span<const double> values) {
  Polynomial made = Fit(grid, values).run();
  const auto points = grid.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!agrees(made, grid.values_at(points[i]), values[i])) return std::nullopt;
  }
  return made;
}

std::string expression_text(const Polynomial& polynomial, std::span<const std::string> names) {
  std::string text;
  for (const Polynomial::Term& term : polynomial.terms) {
    if (!text.empty()) text += term.factor < 0 ? " - " : " + ";
    text += shortest_text(text.empty() ? term.factor : std::abs(term.factor));
    for (std::size_t i = 0; i < term.powers.size(); ++i) {
      for (std::uint8_t power = 0; power < term.powers[i]; ++power) {
        text += "*" + quoted(names[i]);
      }
    }
  }
  return text.empty() ? "0" : text;
}

}  // namespace cleave
