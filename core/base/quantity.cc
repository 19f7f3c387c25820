// Amounts, polynomials of sizes, and links.
#include "core/base/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <system_error>
#include <utility>

#include "core/base/words.h"

namespace cleave {

// ---- quantity ----

namespace {

// Three digits, without the zeros that end a fraction: "9.19", "64", "1000" stays whole.
std::string three_digits(double number) {
  if (!(std::abs(number) < 1e30)) return "?";
  const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::string digits = fixed_text(number, decimals);
  if (decimals == 0) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

}  // namespace

std::optional<Quantity> parse_quantity(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text[0] == '-') return std::nullopt;
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto real = std::from_chars(text.data(), end, quantity.value);
  if (real.ec != std::errc{} || !std::isfinite(quantity.value)) return std::nullopt;
  std::uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc{} && integer.ptr == real.ptr) quantity.whole = whole;
  text.remove_prefix(static_cast<std::size_t>(real.ptr - text.data()));
  quantity.unit = trimmed(text);
  return quantity;
}

bool is_bare_number(std::string_view text) {
  const auto quantity = parse_quantity(text);
  return quantity && quantity->unit.empty();
}

namespace {

// "", "k", "M", ... "P" are powers of 1000; "Ki", "Mi", ... are powers of 1024.
std::optional<std::uint64_t> prefix_factor(std::string_view prefix) {
  if (prefix.empty()) return 1;
  constexpr std::string_view kLetters = "kMGTP";
  const char letter = prefix[0] == 'K' ? 'k' : prefix[0];
  const std::size_t power = kLetters.find(letter);
  if (power == std::string_view::npos) return std::nullopt;
  std::uint64_t step = 1000;
  if (prefix.substr(1) == "i") {
    step = 1024;
  } else if (prefix.size() > 1) {
    return std::nullopt;
  }
  std::uint64_t factor = step;
  for (std::size_t i = 0; i < power; ++i) factor *= step;
  return factor;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  // Divided by what a second has of the unit, 100us and 0.1ms are the same number; times 1e-6 they are not.
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}, {"min", 1.0 / 60}}};
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  for (const auto& unit : kUnits) {
    if (quantity->unit != unit.first) continue;
    const double seconds = quantity->value / unit.second;
    return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.remove_suffix(1);
  auto share = parse_number<double>(text);
  if (share && is_percent) *share /= 100;
  return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
}

std::optional<double> parse_flops_rate(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->unit.empty()) return std::nullopt;
  std::string_view unit = quantity->unit;
  for (const std::string_view ending : {"FLOP/s", "FLOPS", "FLOPs", "FLOP", "flops"}) {
    if (!unit.ends_with(ending)) continue;
    unit.remove_suffix(ending.size());
    break;
  }
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  const double rate = quantity->value * static_cast<double>(*factor);
  return rate > 0 && std::isfinite(rate) ? std::optional(rate) : std::nullopt;
}

std::string bandwidth_refusal(std::string_view text) {
  if (is_bare_number(text)) {
    const std::string number(trimmed(text));
    return " has no unit: write " + number + "GB/s or " + number +
           "GiB/s, or a link's name (gen1x1 to gen6x16)";
  }
  return " is not a bandwidth: give a number with a unit (100GiB/s) or a link's name (gen1x1 to "
         "gen6x16)";
}

std::string with_unit(double number, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && number >= step - 0.5) {
    number /= step;
    ++unit;
  }
  return three_digits(number) + " " + std::string(units[unit]);
}

std::string byte_amount(double bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  return with_unit(bytes, 1024, kUnits);
}

// ---- polynomial ----

namespace {

// The powers of a term add up to this at most. The work of attention grows with the square of a text's length, and that
// of a convolution with the square of an image's side. A third power leaves room for one more size, such as the batch.
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
  const bool is_word = std::ranges::all_of(
      name, [](char c) { return is_word_char(c) || c == '.' || c == '[' || c == ']'; });
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
    std::ranges::stable_sort(made.terms, [&](const auto& a, const auto& b) {
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
    return std::ranges::any_of(values_, [&](const auto& sample) {
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

namespace {

// Brackets rank below all, so that no operator is taken out of them. '%' and both divisions rank as '*'.
int rank_of(char op) { return op == '+' || op == '-' ? 1 : op == '(' || op == 'f' ? 0 : 2; }

// Names of sizes may have a '.'; a number that has one is no size, and is refused where it is read.
bool is_of_name(char c) { return is_word_char(c) || c == '.'; }

// A value on the way to a size: floor(h/2 - 1/2) is of no whole numbers within. In lowest terms, `below` at least 1.
struct Fraction {
  std::int64_t above = 0, below = 1;
};

std::optional<Fraction> fraction(std::optional<std::int64_t> above,
                                 std::optional<std::int64_t> below) {
  // The smallest number has no positive twin, which std::gcd() would need.
  if (!above || !below || *above == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  const std::int64_t common = std::gcd(*above, *below);
  return Fraction{*above / common, *below / common};
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

// Rounds down, also below 0, as in Python, whose exporters write such texts.
std::int64_t floor_of(Fraction a) { return a.above / a.below - (a.above % a.below < 0 ? 1 : 0); }

std::optional<Fraction> applied(char op, Fraction a, Fraction b) {
  if (op == '*') return fraction(product(a.above, b.above), product(a.below, b.below));
  if (op == '+' || op == '-') {
    const auto left = product(a.above, b.below), right = product(b.above, a.below);
    std::int64_t sum = 0;
    if (!left || !right ||
        (op == '+' ? __builtin_add_overflow(*left, *right, &sum)
                   : __builtin_sub_overflow(*left, *right, &sum))) {
      return std::nullopt;
    }
    return fraction(sum, product(a.below, b.below));
  }
  // No size is divided by less than 1.
  if (b.above <= 0) return std::nullopt;
  const auto quotient = fraction(product(a.above, b.below), product(a.below, b.above));
  if (!quotient || op == '/') return quotient;
  const Fraction whole{floor_of(*quotient)};
  if (op == 'w') return whole;
  const auto taken = applied('*', whole, b);  // '%': the rest
  return taken ? applied('-', a, *taken) : std::nullopt;
}

}  // namespace

// Method: Dijkstra's shunting yard.
std::optional<SizeExpression> SizeExpression::parse(std::string_view text) {
  constexpr std::string_view kFloor = "floor(";
  SizeExpression out;
  std::vector<char> open;  // operators and brackets that wait for what follows them
  const auto close = [&](int rank) {
    for (; !open.empty() && rank_of(open.back()) >= rank; open.pop_back()) {
      out.items_.push_back({open.back()});
    }
  };
  bool is_operand_next = true, has_operator = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ') {
      ++at;
    } else if (is_operand_next && (c == '(' || text.substr(at).starts_with(kFloor))) {
      open.push_back(c);  // 'f' of floor
      at += c == '(' ? 1 : kFloor.size();
    } else if (is_operand_next && is_of_name(c)) {
      const std::size_t begin = at;
      while (at < text.size() && is_of_name(text[at])) ++at;
      const std::string_view word = text.substr(begin, at - begin);
      Item item{.op = 'n', .name = word};
      if (is_digit(c)) {
        const auto number = parse_number<std::int64_t>(word);
        if (!number) return std::nullopt;
        item = {.op = '1', .number = *number};
      }
      out.items_.push_back(item);
      is_operand_next = false;
    } else if (is_operand_next && c == '-') {  // -1 times what follows
      out.items_.push_back({.op = '1', .number = -1});
      // As a product, so that -a*b needs no operator of one operand. Also behind another operator: a*-b is a*-1*b.
      close(rank_of('*'));
      open.push_back('*');
      has_operator = true;
      ++at;
    } else if (!is_operand_next && c == ')') {
      close(1);
      if (open.empty()) return std::nullopt;
      if (open.back() == 'f') out.items_.push_back({'f'});
      open.pop_back();
      ++at;
    } else if (!is_operand_next && std::string_view("+-*/%").find(c) != std::string_view::npos) {
      const bool is_whole = c == '/' && text.substr(at).starts_with("//");
      const char op = is_whole ? 'w' : c;
      close(rank_of(op));
      open.push_back(op);
      is_operand_next = has_operator = true;
      at += is_whole ? 2 : 1;
    } else {
      return std::nullopt;
    }
  }
  close(1);
  // A name or number alone is no expression: it is a size by itself, and named_size() has asked for it.
  if (is_operand_next || !has_operator || !open.empty()) return std::nullopt;
  return out;
}

std::vector<std::string_view> SizeExpression::names() const {
  std::vector<std::string_view> names;
  for (const Item& item : items_) {
    if (item.op == 'n') names.push_back(item.name);
  }
  return names;
}

std::optional<std::int64_t> SizeExpression::value(const SizeOf& size_of) const {
  std::vector<Fraction> values;
  for (const Item& item : items_) {
    if (item.op == 'n' || item.op == '1') {
      const auto size = item.op == '1' ? std::optional(item.number) : size_of(item.name);
      if (!size) return std::nullopt;
      values.push_back({*size});
      continue;
    }
    if (item.op == 'f') {
      values.back() = {floor_of(values.back())};
      continue;
    }
    const Fraction second = values.back();
    values.pop_back();
    const auto result = applied(item.op, values.back(), second);
    if (!result) return std::nullopt;
    values.back() = *result;
  }
  // Below 0 and between whole numbers is fine on the way, as in a-b+c and h/2+h/2, but not as a size.
  const Fraction made = values.front();
  return made.above >= 0 && made.below == 1 ? std::optional(made.above) : std::nullopt;
}

std::optional<std::int64_t> named_size(std::string_view name,
                                       const SizeExpression::SizeOf& size_of) {
  // First as it is: a size may be called "a+b" and be given under that name.
  if (const auto known = size_of(name)) return known;
  const auto computed = SizeExpression::parse(name);
  return computed ? computed->value(size_of) : std::nullopt;
}

// ---- link ----
//
// A unit is a decimal (k, M, G, T, P) or binary (Ki, Mi, ...) prefix and `B` or `bit`. A rate may
// end in `/s`, or in `ps` after `bit` or `B`.

namespace {

struct PcieGeneration {
  double transfers_per_second;  // per lane, one bit each
  double encoding;              // the share of the bits that is payload
};

// PCI Express Base Specification: line rates and encodings (8b/10b, 128b/130b, 242/256 in FLITs).
constexpr std::array<PcieGeneration, 6> kGenerations = {{
    {2.5e9, 8.0 / 10.0},
    {5e9, 8.0 / 10.0},
    {8e9, 128.0 / 130.0},
    {16e9, 128.0 / 130.0},
    {32e9, 128.0 / 130.0},
    {64e9, 242.0 / 256.0},
}};

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

// "gen4x16" -> bytes per second.
std::optional<double> pcie_rate(std::string_view text) {
  if (!take_prefix(text, "gen") && !take_prefix(text, "Gen")) return std::nullopt;
  if (text.size() < 3 || text[0] < '1' || text[0] > '6' || text[1] != 'x') return std::nullopt;
  const PcieGeneration& generation = kGenerations[static_cast<std::size_t>(text[0] - '1')];
  const std::string_view width = text.substr(2);
  for (const int lanes : {1, 2, 4, 8, 16}) {
    if (width == std::to_string(lanes)) {
      return generation.transfers_per_second * generation.encoding * lanes / 8;
    }
  }
  return std::nullopt;
}

// "GiB/s", "GB", "Gbit/s", "Gbps" -> bytes per second of one unit.
std::optional<double> rate_unit(std::string_view unit) {
  bool is_bits = false;
  if (take_suffix(unit, "bps") || take_suffix(unit, "bit/s") || take_suffix(unit, "bit")) {
    is_bits = true;
  } else if (!take_suffix(unit, "B/s") && !take_suffix(unit, "Bps") && !take_suffix(unit, "B")) {
    return std::nullopt;
  }
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  return static_cast<double>(*factor) / (is_bits ? 8 : 1);
}

}  // namespace

Link default_link() {
  return {.name = "100GiB/s", .bytes_per_second = 100.0 * 1024 * 1024 * 1024, .is_assumed = true};
}

Link no_link() {
  Link link = default_link();
  link.name = "none";
  link.is_none = true;
  return link;
}

std::optional<Link> parse_link(std::string_view text) {
  text = trimmed(text);
  if (const auto rate = pcie_rate(text)) return Link{std::string(text), *rate};
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  const auto unit = rate_unit(quantity->unit);
  if (!unit) return std::nullopt;
  const double rate = quantity->value * *unit;
  if (!(rate > 0) || !std::isfinite(rate)) return std::nullopt;
  return Link{std::string(text), rate};
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (!unit.empty() && !take_suffix(unit, "B")) return std::nullopt;
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  if (quantity->whole) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (*quantity->whole > kMost / *factor) return std::nullopt;
    return *quantity->whole * *factor;
  }
  const double bytes = quantity->value * static_cast<double>(*factor);
  if (!(bytes < 0x1p64)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace cleave
