#include "formats/models/pt2/value_tables.h"

#include <algorithm>

namespace cleave {
namespace {

class ValueTableReader {
 public:
  explicit ValueTableReader(const Pt2Reading& reading) : in_(reading) {}

  void read_table(std::uint8_t table) {
    in_.arguments.each_field([&](std::string_view name) {
      const std::uint64_t begin = in_.cursor.offset();
      const std::uint32_t number = in_.arguments.value_named(name);
      Pt2Value described = in_.program.values[number];
      if (table == 0) {
        read_tensor_meta(described);
      } else {
        in_.cursor.skip();
      }
      described.entry = in_.arguments.span_from(begin);
      described.table = table;
      in_.program.values[number] = described;
    });
  }

 private:
  void read_tensor_meta(Pt2Value& value) {
    value.has_meta = true;
    in_.arguments.each_field([&](std::string_view key) {
      if (key == "dtype") {
        value.scalar_type = static_cast<int>(in_.arguments.take_integer());
      } else if (key == "layout") {
        value.layout = static_cast<int>(in_.arguments.take_integer());
      } else if (key == "sizes") {
        read_sizes(value.size_begin, value.size_count);
      } else if (key == "strides") {
        read_sizes(value.stride_begin, value.stride_count);
      } else {
        in_.cursor.skip();
      }
    });
  }

  void read_sizes(std::uint32_t& begin, std::uint32_t& count) {
    const std::uint64_t at = in_.cursor.offset();
    begin = static_cast<std::uint32_t>(in_.program.sizes.size());
    in_.arguments.each_item([&] {
      const Pt2Size size = read_size();
      in_.program.sizes.push_back(size);
    });
    count = static_cast<std::uint32_t>(in_.program.sizes.size()) - begin;
    if (count > in_.limits.dims)
      in_.arguments.fail(at, "a tensor has " + beyond_limit(in_.limits, &ModelLimits::dims));
  }

  // {"as_int": 4} or {"as_expr": {"expr_str": "...", "hint": {"as_int": 2}}}
  Pt2Size read_size() {
    Pt2Size size;
    in_.arguments.each_field([&](std::string_view kind) {
      if (kind == "as_int") {
        const std::uint64_t at = in_.cursor.offset();
        size.size = in_.arguments.take_integer();
        if (size.size < 0) in_.arguments.fail(at, "a size is below 0");
        return;
      }
      if (kind != "as_expr") return in_.cursor.skip();
      in_.arguments.each_field([&](std::string_view key) {
        if (key == "expr_str" && in_.cursor.type() == JsonType::string) {
          size.expression = in_.arguments.take_name();
        } else if (key == "hint" && in_.cursor.type() == JsonType::object) {
          in_.arguments.each_field([&](std::string_view type) {
            if (type != "as_int") return in_.cursor.skip();
            size.traced = std::max<std::int64_t>(in_.arguments.take_integer(), -1);
          });
        } else {
          in_.cursor.skip();
        }
      });
    });
    return size;
  }

  Pt2Reading in_;
};

}  // namespace

void read_value_table(const Pt2Reading& reading, std::uint8_t table) {
  ValueTableReader(reading).read_table(table);
}

}  // namespace cleave
