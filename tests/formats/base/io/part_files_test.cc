#include "formats/base/io/part_files.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

using Names = std::vector<std::string>;

Names stems(const Names& names) { return file_stems(names); }
std::string stem(const std::string& name) { return file_stems(std::vector{name}).front(); }

TEST_CASE("a part's name becomes a harmless file name") {
  CHECK(stem("_run_on_acc_1") == "_run_on_acc_1");
  CHECK(stem("a/b\n") == "a_b_");
  CHECK(stem("a\\b") == "a_b");
  CHECK(stem("") == "_");
  CHECK(stem(".") == "_");
  CHECK(stem("..") == "__");
  CHECK(stem("../x") == ".._x");
  CHECK(stem(std::string(201, 'a')) == std::string(200, 'a'));
  CHECK(stem(std::string(199, 'a') + "\u00e9") == std::string(199, 'a'));
}

TEST_CASE("a part whose name can be a file's keeps it, whatever comes before it") {
  CHECK(stems({"a/b", "a_b", "a\\b"}) == Names{"a_b_2", "a_b", "a_b_3"});
  CHECK(stems({"a/b", "a_b", "a_b_2"}) == Names{"a_b_3", "a_b", "a_b_2"});
  CHECK(stems({".", "..", "_", "__"}) == Names{"__2", "___2", "_", "__"});
}

TEST_CASE("no two files differ in case alone") {
  CHECK(stems({"Head", "head", "HEAD", "head_2"}) == Names{"Head", "head_3", "HEAD_4", "head_2"});
}

TEST_CASE("no part takes the name of another file of the split") {
  CHECK(stems({"root", "Manifest", "preview", "stages", "report", "annotated", "node_support"}) ==
        Names{"root_2", "Manifest_2", "preview_2", "stages_2", "report_2", "annotated_2",
              "node_support_2"});
}

TEST_CASE("parts whose names become one are numbered in linear time") {
  Names names;
  for (int i = 0; i < 100'000; ++i)
    names.push_back(std::string(static_cast<std::size_t>(1 + i % 3), '/'));
  const Names made = stems(names);
  CHECK(made[0] == "_");
  CHECK(made[3] == "__2");
  CHECK(made[99'999] == "__33334");
}

}  // namespace
}  // namespace cleave
