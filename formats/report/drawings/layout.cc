// Lays out drawings.

#include <poll.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "formats/base/process.h"
#include "formats/report/drawings/drawings.h"

#ifdef CLEAVE_HAS_GVC

#include <dlfcn.h>
#include <graphviz/gvc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#ifdef CLEAVE_SANITIZED
// Read by the leak sanitizer. Graphviz's text plugin and the font libraries below it keep their
// caches until the process ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\nleak:libpango\nleak:libgvplugin_pango\nleak:libglib\nleak:"
         "libgvc\nleak:libcgraph\nleak:agmemread\n";
}
#endif

namespace cleave {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

// The functions of libgvc, and of libcgraph below it, that are used here.
struct Graphviz {
  decltype(&::gvContext) context = nullptr;
  decltype(&::gvLayout) layout = nullptr;
  decltype(&::gvRenderData) render = nullptr;
  decltype(&::gvFreeRenderData) free_rendered = nullptr;
  decltype(&::agmemread) read = nullptr;
  decltype(&::agattr) declare = nullptr;
  decltype(&::agset) set = nullptr;
  decltype(&::aglasterr) last_error = nullptr;
  decltype(&::agseterr) set_error_level = nullptr;
  decltype(&::agerrors) worst_error = nullptr;  // since the last reset
  decltype(&::agreseterrors) reset_errors = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<Graphviz> load() {
  void* const library = ::dlopen(CLEAVE_GVC, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Graphviz found;
  const bool is_complete =
      find(library, "gvContext", found.context) && find(library, "gvLayout", found.layout) &&
      find(library, "gvRenderData", found.render) &&
      find(library, "gvFreeRenderData", found.free_rendered) &&
      find(library, "agmemread", found.read) && find(library, "agattr", found.declare) &&
      find(library, "agset", found.set) && find(library, "aglasterr", found.last_error) &&
      find(library, "agseterr", found.set_error_level) &&
      find(library, "agerrors", found.worst_error) &&
      find(library, "agreseterrors", found.reset_errors);
  return is_complete ? std::optional(found) : std::nullopt;
}

// nullptr where the library is not installed.
const Graphviz* graphviz() {
  static const std::optional<Graphviz> kLoaded = load();
  return kLoaded ? &*kLoaded : nullptr;
}

// The only context of the process, never freed: Graphviz's text plugin keeps the fonts of the first
// context and uses them for the next, which crashes after the first is freed.
GVC_t* layout_context(const Graphviz& gv) {
  static GVC_t* const kContext = gv.context();
  return kContext;
}

// Graphviz, Pango and fontconfig do not survive running out of memory: they crash, or go on without
// fonts. So the address space that they may need must be available before they start.
void require_room(std::size_t bytes) {
  void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, bytes);
}

void set_attribute(const Graphviz& gv, Agraph_t* graph, std::string name, std::string value) {
  gv.declare(graph, AGRAPH, name.data(), value.data());
  gv.set(graph, name.data(), value.data());
}

// Bounds the steps of the network simplex method, which places nodes, by a share of the nodes.
void bound_placement(const Graphviz& gv, Agraph_t* graph) {
  set_attribute(gv, graph, "nslimit", "0.1");
  set_attribute(gv, graph, "nslimit1", "0.1");
}

// Graphviz's last message, as one line.
Diagnostics fault(const Graphviz& gv, const std::string& what) {
  const std::unique_ptr<char, Free> said(gv.last_error());
  std::string message = what;
  if (said != nullptr) {
    const std::string text = escaped(said.get());
    message += ": " + text.substr(0, text.find("\\x0A"));
  }
  return {diagnostic_of("graphviz", message)};
}

}  // namespace

Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape) {
  // Without memory Graphviz's text plugins crash, or go on without fonts, so that it must be there
  // before they begin. What the layout itself takes grows with the drawing; 100 bytes a character
  // is an estimate.
  constexpr std::size_t kThreadBytes = std::size_t{768} << 20U;  // stacks and heaps of Pango's
  constexpr std::size_t kBytesPerCharacter = 100;
  if (graphviz() == nullptr)
    return Diagnostics{
        diagnostic_of("graphviz", "Graphviz, which lays drawings out, is not installed")};
  const Graphviz& gv = *graphviz();
  require_room(kThreadBytes + kBytesPerCharacter * dot.size());
  gv.set_error_level(AGMAX);  // messages are kept for aglasterr() instead of printed
  GVC_t* const context = layout_context(gv);
  if (context == nullptr) return fault(gv, "no layout context");
  // Neither the layout nor the graph is freed: gvFreeLayout frees memory twice after some layouts
  // (labels of edges between nodes of the first rank), and Graphviz's own `dot` does not free it
  // either.
  Agraph_t* const graph = gv.read(dot.c_str());
  if (graph == nullptr) return fault(gv, "the drawing is not a graph");
  const bool is_routed = shape == EdgeShape::routed;
  if (is_routed) {
    set_attribute(gv, graph, "splines", "line");
    bound_placement(gv, graph);
  }
  gv.reset_errors();
  if (gv.layout(context, graph, "dot") != 0) {
    return fault(gv, "cannot lay the drawing out; does Graphviz have its plugins?");
  }
  // It then goes on, with nodes on each other and without some edges.
  if (gv.worst_error() >= AGERR) return fault(gv, "Graphviz cannot place all nodes");
  char* bytes = nullptr;
  unsigned int size = 0;
  const int status = gv.render(context, graph, "svg", &bytes, &size);
  const auto free_rendered = [&gv](char* rendered) { gv.free_rendered(rendered); };
  const std::unique_ptr<char, decltype(free_rendered)> rendered(bytes, free_rendered);
  if (status != 0 || bytes == nullptr) return fault(gv, "cannot render the drawing as SVG");
  std::string svg(bytes, size);
  return is_routed ? with_edges_round_nodes(svg) : svg;
}

}  // namespace cleave

#else

namespace cleave {

Loaded<std::string> layout_svg(const std::string&, EdgeShape) {
  return Diagnostics{
      diagnostic_of("graphviz", "this cleave was built without Graphviz, which lays drawings out")};
}

}  // namespace cleave

#endif

namespace cleave {

// ---- edge routes ----
//
// with_edges_round_nodes, in four steps:
//   1. read the boxes of nodes and the lines of edges: Graphviz writes each on a line of its own;
//   2. make rows: boxes that lie side by side;
//   3. find a gap for each edge in each row that it passes, and share out the room in each gap;
//   4. write the lines anew.
// In an SVG, y grows downwards.

namespace {

constexpr double kMargin = 5;        // between an edge and a node, in points
constexpr double kSpacing = 4;       // between two edges in a gap
constexpr double kKeepsColumn = 60;  // an edge stays in its column while its way is as near as this
constexpr double kMostLift =
    24;                       // of an edge between two nodes of a row, over the nodes between them
constexpr double kFar = 1e9;  // beside the first and the last node of a row

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double left = kFar, top = kFar, right = -kFar, bottom = -kFar;

  double middle() const { return (left + right) / 2; }
  void include(Point at) {
    left = std::min(left, at.x), right = std::max(right, at.x);
    top = std::min(top, at.y), bottom = std::max(bottom, at.y);
  }
};

// Characters of the SVG.
struct Piece {
  std::size_t begin = 0, size = 0;
};

struct Edge {
  std::size_t from = 0, to = 0;  // boxes
  Piece line;                    // the points of its path
  Piece head;                    // of the polygon of its arrowhead; empty: none
  std::vector<Point> bends;      // of the straight line: it passes beside its label
};

// The pairs of numbers in an attribute.
std::vector<Point> points_of(std::string_view text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec == std::errc()) numbers.push_back(number);
    at = read.ec == std::errc() ? read.ptr : at + 1;
  }
  std::vector<Point> points;
  for (std::size_t i = 1; i < numbers.size(); i += 2)
    points.push_back({numbers[i - 1], numbers[i]});
  return points;
}

// ---- 1. reading ----

class Reader {
 public:
  explicit Reader(const std::string& svg) : svg_(svg) {
    for (std::size_t at = 0, next = 0; at < svg_.size(); at = next + 1) {
      next = std::min(svg_.find('\n', at), svg_.size());
      take_line(at, std::string_view(svg_).substr(at, next - at));
    }
    take_edge();
  }

  std::vector<Box> boxes;
  std::vector<Edge> edges;

 private:
  enum class Group { other, node, edge };

  void take_line(std::size_t at, std::string_view line) {
    const auto starts_with = [&](std::string_view word) {
      return line.substr(0, word.size()) == word;
    };
    if (starts_with("<g id=") && line.find(" class=\"") != line.npos) {
      take_edge();
      title_ = {}, edge_ = {};
      group_ = line.find(" class=\"node\"") != line.npos   ? Group::node
               : line.find(" class=\"edge\"") != line.npos ? Group::edge
                                                           : Group::other;
    } else if (starts_with("<title>")) {
      constexpr std::size_t kTags = 7 + 8;
      if (title_.empty() && line.size() > kTags) title_ = line.substr(7, line.size() - kTags);
    } else if (group_ == Group::node && starts_with("<")) {
      if (box_by_title_.count(title_) != 0) return;
      if (const auto box = box_of(line)) {
        box_by_title_.emplace(title_, boxes.size());
        boxes.push_back(*box);
      }
    } else if (group_ == Group::edge && starts_with("<path") && edge_.line.size == 0) {
      edge_.line = piece(at, line, " d=\"");
    } else if (group_ == Group::edge && starts_with("<polygon") && edge_.head.size == 0) {
      edge_.head = piece(at, line, " points=\"");
    }
  }

  static Piece piece(std::size_t at, std::string_view line, std::string_view attribute) {
    const std::size_t begin = line.find(attribute);
    if (begin == line.npos) return {};
    const std::size_t first = begin + attribute.size();
    return {at + first, std::min(line.find('"', first), line.size()) - first};
  }

  std::optional<Box> box_of(std::string_view line) const {
    const auto number = [&](std::string_view attribute) {
      const Piece text = piece(0, line, attribute);
      double value = 0;
      std::from_chars(line.data() + text.begin, line.data() + text.begin + text.size, value);
      return value;
    };
    if (line.substr(0, 8) == "<ellipse") {
      const double x = number(" cx=\""), y = number(" cy=\""), across = number(" rx=\""),
                   down = number(" ry=\"");
      return Box{x - across, y - down, x + across, y + down};
    }
    const bool is_path = line.substr(0, 5) == "<path";
    if (!is_path && line.substr(0, 8) != "<polygon") return std::nullopt;
    const Piece text = piece(0, line, is_path ? " d=\"" : " points=\"");
    Box box;
    for (const Point at : points_of(line.substr(text.begin, text.size))) box.include(at);
    return box.left <= box.right ? std::optional(box) : std::nullopt;
  }

  // The edge that was read, if its ends are known: Graphviz writes them before it. A title is "FROM->TO", and
  // a name may have "->" in it, too.
  void take_edge() {
    constexpr std::string_view kArrow = "&#45;&gt;";
    if (group_ != Group::edge || edge_.line.size == 0) return;
    for (std::size_t at = title_.find(kArrow); at != title_.npos;
         at = title_.find(kArrow, at + 1)) {
      const auto from = box_by_title_.find(title_.substr(0, at));
      const auto to = box_by_title_.find(title_.substr(at + kArrow.size()));
      if (from == box_by_title_.end() || to == box_by_title_.end()) continue;
      edge_.from = from->second, edge_.to = to->second;
      const auto points =
          points_of(std::string_view(svg_).substr(edge_.line.begin, edge_.line.size));
      for (std::size_t i = 3; i + 3 < points.size(); i += 3) edge_.bends.push_back(points[i]);
      edges.push_back(std::move(edge_));
      break;
    }
  }

  const std::string& svg_;
  Group group_ = Group::other;
  std::string_view title_;
  Edge edge_;
  std::unordered_map<std::string_view, std::size_t> box_by_title_;
};

// ---- 2. rows ----

struct Row {
  double top, bottom;
  std::vector<Box> boxes;                      // from left to right; none lies on another
  std::vector<std::vector<std::size_t>> gaps;  // the ways through each; gap i is left of box i
};

struct Rows {
  std::vector<Row> rows;  // from top to bottom
  std::vector<std::size_t> of_box;
};

std::vector<std::size_t> sorted_by(const std::vector<Box>& boxes, double Box::*side) {
  std::vector<std::size_t> order(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return boxes[a].*side < boxes[b].*side; });
  return order;
}

Rows make_rows(const std::vector<Box>& boxes) {
  Rows out{{}, std::vector<std::size_t>(boxes.size())};
  for (const std::size_t i : sorted_by(boxes, &Box::top)) {
    const Box& box = boxes[i];
    if (out.rows.empty() || box.top >= out.rows.back().bottom) {
      out.rows.push_back({box.top, box.bottom, {}, {}});
    }
    out.rows.back().bottom = std::max(out.rows.back().bottom, box.bottom);
    out.of_box[i] = out.rows.size() - 1;
  }
  for (const std::size_t i : sorted_by(boxes, &Box::left)) {
    auto& row = out.rows[out.of_box[i]].boxes;
    if (!row.empty() && boxes[i].left < row.back().right) {
      row.back().right = std::max(row.back().right, boxes[i].right);
    } else {
      row.push_back(boxes[i]);
    }
  }
  for (Row& row : out.rows) row.gaps.resize(row.boxes.size() + 1);
  return out;
}

// ---- 3. gaps ----

// Where an edge passes a row.
struct Way {
  std::size_t row;
  double x;
};

// Between which x an edge may pass; a narrow gap has its middle only.
std::pair<double, double> room_in(const Row& row, std::size_t gap) {
  const double left = gap == 0 ? -kFar : row.boxes[gap - 1].right;
  const double right = gap == row.boxes.size() ? kFar : row.boxes[gap].left;
  if (right - left < 2 * kMargin) return {(left + right) / 2, (left + right) / 2};
  return {left + kMargin, right - kMargin};
}

// The gap whose room is nearest to x.
std::size_t nearest_gap(const Row& row, double x) {
  const auto right = std::partition_point(row.boxes.begin(), row.boxes.end(),
                                          [&](const Box& box) { return box.middle() < x; });
  const auto gap = static_cast<std::size_t>(right - row.boxes.begin());
  const auto distance = [&](std::size_t one) {
    const auto [left, most] = room_in(row, one);
    return std::max({left - x, x - most, 0.0});
  };
  std::size_t nearest = gap;
  if (gap > 0 && distance(gap - 1) < distance(nearest)) nearest = gap - 1;
  if (gap + 1 <= row.boxes.size() && distance(gap + 1) < distance(nearest)) nearest = gap + 1;
  return nearest;
}

// The line of one edge before the room is shared out: straight to its next bend, past what is in between.
class Router {
 public:
  Router(const std::vector<Box>& boxes, Rows& rows) : boxes_(boxes), rows_(rows) {}

  // The indices in ways() of the rows that the edge passes, from top to bottom.
  std::pair<std::size_t, std::size_t> route(const Edge& edge) {
    const bool is_down = rows_.of_box[edge.from] < rows_.of_box[edge.to];
    const Box& above = boxes_[is_down ? edge.from : edge.to];
    const Box& below = boxes_[is_down ? edge.to : edge.from];
    std::vector<Point> goals = edge.bends;
    if (!is_down) std::ranges::reverse(goals);
    goals.push_back({below.middle(), below.top});
    const std::size_t first = ways_.size();
    Point at{above.middle(), above.bottom};
    std::size_t goal = 0;
    const std::size_t last = rows_.of_box[is_down ? edge.to : edge.from];
    for (std::size_t i = rows_.of_box[is_down ? edge.from : edge.to] + 1; i < last; ++i) {
      Row& row = rows_.rows[i];
      while (goal + 1 < goals.size() && goals[goal].y < row.top) ++goal;
      const double there = std::min(goals[goal].y, row.bottom);
      const double share = goals[goal].y > at.y ? (there - at.y) / (goals[goal].y - at.y) : 1;
      double x = at.x + share * (goals[goal].x - at.x);
      std::size_t gap = nearest_gap(row, x);
      if (std::abs(x - at.x) < kKeepsColumn && goals[goal].y > row.bottom) {
        const std::size_t same = nearest_gap(row, at.x);
        const auto [left, right] = room_in(row, same);
        if (left <= at.x && at.x <= right) x = at.x, gap = same;
      }
      const auto [left, right] = room_in(row, gap);
      x = std::clamp(x, left, right);
      row.gaps[gap].push_back(ways_.size());
      ways_.push_back({i, x});
      at = {x, row.bottom};
    }
    return {first, ways_.size()};
  }

  // Edges in the same gap get places of their own, in the order in which they want to pass.
  std::vector<Way> share_room() && {
    for (const Row& row : rows_.rows) {
      for (std::size_t gap = 0; gap < row.gaps.size(); ++gap) share(row, gap);
    }
    return std::move(ways_);
  }

 private:
  void share(const Row& row, std::size_t gap) {
    std::vector<std::size_t> users = row.gaps[gap];
    if (users.size() < 2) return;
    std::ranges::stable_sort(users,
                             [&](std::size_t a, std::size_t b) { return ways_[a].x < ways_[b].x; });
    const auto [left, right] = room_in(row, gap);
    const double spacing =
        std::min(kSpacing, (right - left) / static_cast<double>(users.size() - 1));
    for (std::size_t i = 1; i < users.size(); ++i) {
      ways_[users[i]].x = std::max(ways_[users[i]].x, ways_[users[i - 1]].x + spacing);
    }
    double most = right;
    for (std::size_t i = users.size(); i-- > 0; most -= spacing) {
      ways_[users[i]].x = std::min(ways_[users[i]].x, most);
    }
  }

  const std::vector<Box>& boxes_;
  Rows& rows_;
  std::vector<Way> ways_;
};

// ---- 4. writing ----

void append_number(double number, std::string& out) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), number, std::chars_format::fixed, 2).ptr;
  std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  while (digits.back() == '0') digits.remove_suffix(1);
  if (digits.back() == '.') digits.remove_suffix(1);
  out += digits == "-0" ? "0" : digits;
}

void append_point(Point at, std::string& out) {
  append_number(at.x, out);
  out += ',';
  append_number(at.y, out);
}

// A path from point to point that starts and ends each piece upright: it stays between the heights of both. Between
// points of the same height it is an arch, `lift` high.
std::string path_through(const std::vector<Point>& points, double lift) {
  std::string out = "M";
  append_point(points.front(), out);
  out += 'C';
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point a = points[i - 1], b = points[i];
    const double middle = a.y == b.y ? a.y - lift : (a.y + b.y) / 2;
    if (i > 1) out += ' ';
    append_point({a.x, middle}, out);
    out += ' ';
    append_point({b.x, middle}, out);
    out += ' ';
    append_point(b, out);
  }
  return out;
}

// How long and how wide half the arrowhead with these points is: base, tip, base.
struct Head {
  double length = 0, half = 0;
};
Head head_of(const std::vector<Point>& points) {
  if (points.size() < 3) return {};
  const Point tip = points[1], one = points[0], other = points[2];
  return {std::hypot(tip.x - (one.x + other.x) / 2, tip.y - (one.y + other.y) / 2),
          std::hypot(one.x - other.x, one.y - other.y) / 2};
}

std::string head_at(Point tip, double base, double half) {
  std::string out;
  append_point({tip.x + half, base}, out);
  out += ' ';
  append_point(tip, out);
  out += ' ';
  append_point({tip.x - half, base}, out);
  out += ' ';
  append_point({tip.x + half, base}, out);
  return out;
}

// The points of an edge between the bottom of one box and the top of another, without those on a straight line.
std::vector<Point> corners(const std::vector<Box>& boxes, const Rows& rows, std::size_t above,
                           std::size_t below, const Way* way, const Way* end) {
  std::vector<Point> out = {{boxes[above].middle(), boxes[above].bottom}};
  const auto add = [&](double x, double y) {
    const std::size_t count = out.size();
    if (count > 1 && out[count - 1].x == x && out[count - 2].x == x) out.pop_back();
    if (out.back().x != x || out.back().y != y) out.push_back({x, y});
  };
  add(out.front().x, rows.rows[rows.of_box[above]].bottom);
  for (; way != end; ++way) {
    add(way->x, rows.rows[way->row].top);
    add(way->x, rows.rows[way->row].bottom);
  }
  add(boxes[below].middle(), rows.rows[rows.of_box[below]].top);
  add(boxes[below].middle(), boxes[below].top);
  return out;
}

// Those of an edge to a neighbour in the same row: over what is between them.
std::vector<Point> arch(const Box& from, const Box& to, const Row& row) {
  const double y = row.top;
  std::vector<Point> out = {{from.middle(), from.top}};
  if (from.top != y) out.push_back({from.middle(), y});  // else it would go up and down in place
  out.insert(out.end(), {{to.middle(), y}, {to.middle(), to.top}});
  return out;
}

// Whether the boxes stand side by side, and not only between the same boxes of a drawing from left to right.
bool are_level(const Box& one, const Box& other) {
  // Points. Graphviz centres the boxes of a row, to rounding; rows are tens of points apart.
  constexpr double kLevel = 2;
  return std::abs(one.top + one.bottom - other.top - other.bottom) < 2 * kLevel;
}

struct Change {
  Piece piece;
  std::string text;
};

class Writer {
 public:
  explicit Writer(const std::string& svg) : svg_(svg) {}

  // The edge ends in the direction of y.
  void set(const Edge& edge, std::vector<Point> points, bool ends_down, double lift) {
    if (edge.head.size > 0) {
      const Head head = head_of(points_of(text_of(edge.head)));
      const Point tip = points.back();
      points.back().y += ends_down ? -head.length : head.length;
      changes_.push_back({edge.head, head_at(tip, points.back().y, head.half)});
    }
    changes_.push_back({edge.line, path_through(points, lift)});
  }

  std::string text() && {
    std::ranges::sort(
        changes_, [](const Change& a, const Change& b) { return a.piece.begin < b.piece.begin; });
    std::string out;
    std::size_t at = 0;
    for (const Change& change : changes_) {
      out.append(svg_, at, change.piece.begin - at);
      out += change.text;
      at = change.piece.begin + change.piece.size;
    }
    return out.append(svg_, at);
  }

 private:
  std::string_view text_of(Piece piece) const {
    return std::string_view(svg_).substr(piece.begin, piece.size);
  }

  const std::string& svg_;
  std::vector<Change> changes_;
};

}  // namespace

std::string with_edges_round_nodes(const std::string& svg) {
  const Reader picture(svg);
  const auto& boxes = picture.boxes;
  Rows rows = make_rows(boxes);
  Router router(boxes, rows);
  std::vector<std::pair<std::size_t, std::size_t>> passed;  // by edge
  for (const Edge& edge : picture.edges) passed.push_back(router.route(edge));
  const std::vector<Way> ways = std::move(router).share_room();

  Writer out(svg);
  for (std::size_t i = 0; i < picture.edges.size(); ++i) {
    const Edge& edge = picture.edges[i];
    const std::size_t from = rows.of_box[edge.from], to = rows.of_box[edge.to];
    if (from == to) {
      if (edge.from == edge.to || !are_level(boxes[edge.from], boxes[edge.to])) continue;
      const Row& row = rows.rows[from];
      const double room = from == 0 ? 2 * kMostLift : row.top - rows.rows[from - 1].bottom;
      out.set(edge, arch(boxes[edge.from], boxes[edge.to], row), true, std::min(kMostLift, room));
      continue;
    }
    const bool is_down = from < to;
    std::vector<Point> points =
        corners(boxes, rows, is_down ? edge.from : edge.to, is_down ? edge.to : edge.from,
                ways.data() + passed[i].first, ways.data() + passed[i].second);
    if (!is_down) std::ranges::reverse(points);
    out.set(edge, std::move(points), is_down, 0);
  }
  return std::move(out).text();
}

// ---- layout ----
//
// Each worker process lays out one drawing after another. Layouts::run
//   1. gives every idle worker the next drawing;
//   2. waits until one answers, and regularly checks how much time they have taken;
//   3. keeps answers, and ends a worker that is late: the next drawing gets a new one;
//   4. tries a drawing with curves that took too long once more, with edges routed by cleave.
// Time is processor time, so that results do not depend on how busy the machine is.

namespace {

using Clock = std::chrono::steady_clock;

// Each is a process with the memory of Graphviz. Chosen, not measured.
constexpr std::size_t kMostWorkers = 4;
// Of the time, for one drawing: with curved edges, and with any if there are several drawings.
// So that a drawing whose curves take too long has as much time left for straight edges, and so
// that one bad drawing of several leaves time for the others. Chosen.
constexpr double kShareOfCurves = 0.5;
constexpr double kShareOfSeveral = 0.25;
constexpr std::size_t kMostCurved = 300;  // edges: curves of 400 may take ten seconds
constexpr double kSlowestClock = 10;      // seconds of the clock per second of processor time
constexpr int kMillisecondsBetweenLooks = 50;
constexpr char kIsSvg = 'S';
constexpr char kIsFault = 'E';

// A request: a letter, then the drawing.
constexpr char kCurved = 'C';
constexpr char kRouted = 'R';

// Runs in the worker.
std::string answer_to(const std::string& request) {
  const EdgeShape shape = request[0] == kRouted ? EdgeShape::routed : EdgeShape::curved;
  try {
    const auto svg = layout_svg(request.substr(1), shape);
    return svg ? kIsSvg + *svg : kIsFault + svg.error().front().message;
  } catch (const std::bad_alloc&) {
    return kIsFault + std::string("there is too little memory for Graphviz");
  }
}

LaidOut result_of(ProcessAnswer answer) {
  if (answer.text && !answer.text->empty()) {
    std::string text = answer.text->substr(1);
    if ((*answer.text)[0] == kIsSvg) return text;
    return Error{std::move(text)};
  }
  if (answer.signal == 0) return Error{"Graphviz stopped without a result"};
  return Error{std::string("Graphviz crashed: ") + ::strsignal(answer.signal)};
}

// A label may look like an edge.
std::size_t count_edges(std::string_view dot) {
  constexpr std::string_view kArrow = " -> ";
  std::size_t count = 0;
  for (std::size_t at = dot.find(kArrow); at != dot.npos; at = dot.find(kArrow, at + 1)) ++count;
  return count;
}

Clock::duration duration_of(double seconds) {
  constexpr double kMost = 1e9;  // seconds that the clock can represent
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMost)));
}

class Layouts {
 public:
  Layouts(const LayoutJob& job, const LayoutLimits& limits)
      : job_(job),
        results_(job.count, LaidOut(std::string())),
        limits_(limits),
        spent_(limits.spent) {
    const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    const std::size_t workers = std::min({kMostWorkers, cores, job.count});
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(limits.bytes);
  }

  LaidOutAll run(const Progress& progress) && {
    while (true) {
      for (Worker& worker : workers_) {
        if (!worker.process.is_busy()) give_next(worker);
      }
      tell(progress, {"laying out", "drawings", next_ - busy_count(), results_.size()});
      if (!wait()) return {std::move(results_), spent_};
    }
  }

 private:
  struct Task {
    std::size_t drawing;
    char shape = kCurved;
  };

  struct Worker {
    explicit Worker(std::uint64_t most_bytes) : process(answer_to, most_bytes) {}
    WorkerProcess process;
    Task task = {0};
    double cpu_before = 0;  // of the process, when it got the drawing
    Clock::time_point deadline = {};

    double seconds() const { return std::max(0.0, process.cpu_seconds() - cpu_before); }
  };

  std::size_t busy_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(workers_, [](const Worker& one) { return one.process.is_busy(); }));
  }

  void give_next(Worker& worker) {
    while (auto task = take_task()) {
      LaidOut& result = results_[task->drawing];
      const std::string dot = job_.make(task->drawing);
      if (dot.empty()) continue;
      if (count_edges(dot) > kMostCurved) task->shape = kRouted;
      if (spent_ >= limits_.seconds) {
        result = time_was_over();
        give_up(*task);
        continue;
      }
      worker.task = *task;
      worker.cpu_before = worker.process.cpu_seconds();
      worker.deadline = Clock::now() + duration_of(kSlowestClock * seconds_for(*task));
      if (worker.process.give(task->shape + dot)) return;
      result = Error{"the system could not start a process for Graphviz"};
      give_up(*task);
    }
  }

  double seconds_for(const Task& task) const {
    if (results_.size() > 1) return kShareOfSeveral * limits_.seconds;
    return task.shape == kCurved ? kShareOfCurves * limits_.seconds : limits_.seconds;
  }

  std::optional<Task> take_task() {
    if (is_given_up_) return std::nullopt;
    if (!again_.empty()) {
      const Task task = again_.back();
      again_.pop_back();
      return task;
    }
    if (next_ == results_.size()) return std::nullopt;
    return Task{next_++};
  }

  // The fault of the drawing stays.
  void give_up(const Task& task) {
    is_given_up_ = is_given_up_ || (job_.needs_first && task.drawing == 0);
  }

  // Retries a failed drawing with routed edges if it had curves and time is left.
  void retry_routed(const Task& task) {
    if (task.shape == kRouted || spent_ >= limits_.seconds) return give_up(task);
    again_.push_back({task.drawing, kRouted});
  }

  // Waits for a worker's event or the next check; false when no worker has work.
  bool wait() {
    std::vector<::pollfd> sources;
    for (const Worker& worker : workers_) {
      if (!worker.process.is_busy()) continue;
      sources.push_back({.fd = worker.process.descriptor(), .events = POLLIN, .revents = 0});
    }
    if (sources.empty()) return false;
    ::poll(sources.data(), sources.size(), kMillisecondsBetweenLooks);
    for (Worker& worker : workers_) {
      if (worker.process.is_busy()) look_at(worker);
    }
    for (Worker& worker : workers_) {
      if (is_given_up_ && worker.process.is_busy()) stop(worker);
    }
    return true;
  }

  void look_at(Worker& worker) {
    const double seconds = worker.seconds();
    const double most = seconds_for(worker.task);
    const bool is_late = seconds > most || Clock::now() > worker.deadline;
    LaidOut& result = results_[worker.task.drawing];
    if (auto answer = worker.process.take()) {
      spent_ += seconds;
      const bool has_crashed = !answer->text;
      result = result_of(*std::move(answer));
      if (!result) has_crashed ? retry_routed(worker.task) : give_up(worker.task);
    } else if (is_late || spent_ + seconds > limits_.seconds) {
      const std::string allowed = text_of(std::min(seconds, most));
      result = is_late ? Error{"Graphviz took longer than " + allowed} : time_was_over();
      stop(worker);
      retry_routed(worker.task);
    }
  }

  void stop(Worker& worker) {
    spent_ += worker.seconds();
    worker.process.stop();
  }

  Error time_was_over() const {
    return {"the time for drawings, " + text_of(limits_.seconds) + ", was over"};
  }

  static std::string text_of(double seconds) { return duration_text(1e6 * seconds); }

  const LayoutJob& job_;
  std::vector<LaidOut> results_;
  LayoutLimits limits_;
  double spent_;  // seconds of processor time, on drawings finished or given up
  bool is_given_up_ = false;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
  std::vector<Task> again_;
};

}  // namespace

LaidOut lay_out(const std::string& dot, const LayoutLimits& limits, const Progress& progress) {
  const LayoutJob job{.count = 1, .make = [&](std::size_t) { return dot; }};
  return std::move(lay_out_all(job, limits, progress).drawings.front());
}

LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits, const Progress& progress) {
  return Layouts(job, limits).run(progress);
}

}  // namespace cleave
