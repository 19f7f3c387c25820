#include "formats/models/pt2/shared_memory.h"

#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

// A program that reads tensors of `sizes` elements, each at an offset in a record of the archive.
struct Scene {
  Pt2Program program;
  Pt2Archive archive;

  void add(const char* name, std::uint32_t record, std::int64_t first, std::int64_t size,
           std::int64_t stride = 1, bool is_read = true) {
    const auto value = static_cast<std::uint32_t>(program.values.size());
    const auto at = static_cast<std::uint32_t>(program.sizes.size());
    program.sizes.push_back({.size = size});
    program.sizes.push_back({.size = stride});
    constexpr int kFloat32 = 7;
    program.values.push_back({.name = name,
                              .has_meta = true,
                              .scalar_type = kFloat32,
                              .size_begin = at,
                              .size_count = 1,
                              .stride_begin = at + 1,
                              .stride_count = 1});
    Pt2Input& input = program.inputs.emplace_back();
    input.kind = Pt2InputKind::buffer;
    input.value = value;
    input.target = name;
    archive.weights.entries.push_back({name, "", record, first});
    if (!is_read) return;
    const auto ref = static_cast<std::uint32_t>(program.refs.size());
    program.refs.push_back({value});
    Pt2Argument& argument = program.arguments.emplace_back();
    argument.ref_begin = ref;
    argument.ref_end = ref + 1;
  }

  std::string overlaps() const {
    std::string text;
    for (const Pt2Overlap& pair : overlapping_inputs(archive, program)) {
      text += std::string(program.values[pair.first].name) + "-" +
              std::string(program.values[pair.second].name) + " ";
    }
    return text;
  }
};

TEST_CASE("Views of one record overlap where their bytes do") {
  Scene scene;
  scene.add("a", 0, 0, 4);
  scene.add("b", 0, 4, 4);   // the elements after a
  scene.add("c", 1, 0, 4);   // another record
  scene.add("s", 0, 2, 10);  // the end of a, all of b
  CHECK(scene.overlaps() == "a-s s-b ");
}

TEST_CASE("A tensor reaches as far as its strides") {
  Scene scene;
  scene.add("a", 0, 0, 3, 4);  // elements 0, 4 and 8
  scene.add("b", 0, 8, 1);
  scene.add("c", 0, 9, 1);
  CHECK(scene.overlaps() == "a-b ");
}

TEST_CASE("What nothing reads joins nothing, nor does a tensor without elements") {
  Scene scene;
  scene.add("a", 0, 0, 4);
  scene.add("b", 0, 4, 4);
  scene.add("s", 0, 0, 8, 1, false);
  scene.add("z", 0, 0, 0);
  CHECK(scene.overlaps().empty());
}

}  // namespace
}  // namespace cleave
