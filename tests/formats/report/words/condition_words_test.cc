#include "formats/report/words/condition_words.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a set of types names its dtypes and then its other types, the last after \"or\"") {
  TypeSet types;
  CHECK(types_text(types) == "nothing");
  types.add(ValueType::unknown);
  CHECK(types_text(types) == "unknown");
  types.add(DType::int64);
  CHECK(types_text(types) == "int64 or unknown");
  types.add(ValueType::tuple);
  CHECK(types_text(types) == "int64, tuple or unknown");
}

TEST_CASE("a found type is worded with what is not known of it") {
  CHECK(found_type_text(ValueType::unknown, DType::unknown) == "of unknown type");
  CHECK(found_type_text(ValueType::tuple, DType::unknown) == "a tuple");
  CHECK(found_type_text(ValueType::tensor, DType::unknown) == "of unknown dtype");
  CHECK(found_type_text(ValueType::tensor, DType::int64) == "int64");
}

TEST_CASE("a found dim is worded by its size, its symbol, or as unknown") {
  CHECK(found_dim_text({.axis = 1, .size = 8, .symbol = "N"}) == "8 in dim 1");
  CHECK(found_dim_text({.axis = 0, .size = {}, .symbol = "N"}) == "\"N\" in dim 0");
  CHECK(found_dim_text({.axis = -1, .size = {}, .symbol = {}}) == "unknown in dim -1");
}

}  // namespace
}  // namespace cleave
