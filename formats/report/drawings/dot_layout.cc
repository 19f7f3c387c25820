// layout_svg: Graphviz's layout and rendering, if its library is available.
#include "formats/report/drawings/dot.h"

#ifdef CLEAVE_HAS_GVC

#include <graphviz/gvc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>

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
struct FreeRendered {
  void operator()(char* bytes) const { gvFreeRenderData(bytes); }
};

// The only context of the process, never freed: Graphviz's text plugin keeps the fonts of the first
// context and uses them for the next, which crashes after the first is freed.
GVC_t* layout_context() {
  static GVC_t* const kContext = gvContext();
  return kContext;
}

// Graphviz, Pango and fontconfig do not survive running out of memory: they crash, or go on without
// fonts. So the address space that they may need must be available before they start.
void require_room(std::size_t bytes) {
  void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, bytes);
}

constexpr int kMostCurves = 300;

void set_attribute(Agraph_t* graph, std::string name, std::string value) {
  agattr(graph, AGRAPH, name.data(), value.data());
  agset(graph, name.data(), value.data());
}

// Uses straight edges, and bounds the steps of the network simplex method by a share of the nodes.
void make_fast(Agraph_t* graph) {
  set_attribute(graph, "splines", "line");
  set_attribute(graph, "nslimit", "0.1");
  set_attribute(graph, "nslimit1", "0.1");
}

// Graphviz's last message, as one line.
Diagnostics fault(const std::string& what) {
  const std::unique_ptr<char, Free> said(aglasterr());
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
  require_room(kThreadBytes + kBytesPerCharacter * dot.size());
  agseterr(AGMAX);  // messages are kept for aglasterr() instead of printed
  GVC_t* const context = layout_context();
  if (context == nullptr) return fault("no layout context");
  // Neither the layout nor the graph is freed: gvFreeLayout frees memory twice after some layouts
  // (labels of edges between nodes of the first rank), and Graphviz's own `dot` does not free it
  // either.
  Agraph_t* const graph = agmemread(dot.c_str());
  if (graph == nullptr) return fault("the drawing is not a graph");
  if (shape == EdgeShape::straight || agnedges(graph) > kMostCurves) make_fast(graph);
  if (gvLayout(context, graph, "dot") != 0) {
    return fault("cannot lay the drawing out; is the package graphviz installed?");
  }
  char* bytes = nullptr;
  unsigned int size = 0;
  const int status = gvRenderData(context, graph, "svg", &bytes, &size);
  const std::unique_ptr<char, FreeRendered> rendered(bytes);
  if (status != 0 || bytes == nullptr) return fault("cannot render the drawing as SVG");
  return std::string(bytes, size);
}

}  // namespace cleave

#else

namespace cleave {

Loaded<std::string> layout_svg(const std::string&, EdgeShape) {
  return Diagnostics{diagnostic_of("graphviz",
                                   "this cleave was built without the layout library: draw as "
                                   ".dot, and lay out with `dot -Tsvg`")};
}

}  // namespace cleave

#endif
