// layout_svg: Graphviz's layout and rendering. The library is loaded by name when the first drawing is
// laid out, so that a program which draws nothing starts without it, and runs where it is missing.
#include "formats/report/drawings/edge_routes.h"
#include "formats/report/drawings/layout.h"

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
