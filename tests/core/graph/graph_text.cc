#include "tests/core/graph/graph_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>

#include "tests/core/graph/line_reader.h"

namespace cleave {

namespace {

class TextReader {
 public:
  Result<Graph, std::vector<GraphFault>> read(std::string_view text) && {
    std::string_view rest = builder_.keep(text);  // names are views of it
    base_ = rest.data();
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      where_ = {static_cast<std::uint64_t>(line.data() - base_) + begin,
                static_cast<std::uint32_t>(line.size() - begin)};
      statement(LineReader(line));
    }
    return builder_.finish();
  }

 private:
  void statement(LineReader line) {
    if (line.at_end()) return;
    if (line.takes_word("input")) {
      builder_.add_input(typed_value(line), where_);
    } else if (line.takes_word("param")) {
      parameter(line);
    } else if (line.takes_word("opset")) {
      const std::string_view domain = line.in_quotes();
      builder_.add_opset(domain, number<std::int64_t>(line.name()).value());
    } else if (line.takes_word("scope")) {
      scope_ = line.at_end() ? "" : line.name();
    } else if (line.takes_word("output")) {
      do {
        builder_.add_graph_output(builder_.value_named(line.name()), where_);
      } while (line.takes(","));
    } else {
      node(line);
    }
    if (!line.at_end()) line.refuse("unexpected text");
  }

  // ---- types ----
  struct Type {
    ValueType type = ValueType::tensor;
    DType dtype = DType::unknown;
    ShapeId shape = kNone<ShapeId>;
    bool holds_tensor = false;
  };

  Type type(LineReader& line) {
    const std::string_view word = line.name();
    Type result;
    if (const auto dtype = parse_dtype(word)) {
      result.dtype = *dtype;
      result.holds_tensor = true;
      if (line.takes("[")) result.shape = shape(line);
      return result;
    }
    const auto kind = parse_value_type(word);
    if (!kind) line.refuse("no such type: " + std::string(word));
    result.type = *kind;
    result.holds_tensor = *kind == ValueType::tensor;
    if (!line.takes("(")) return result;
    while (!line.takes(")")) {
      result.holds_tensor |= type(line).holds_tensor;
      line.takes(",");
    }
    return result;
  }

  ShapeId shape(LineReader& line) {
    std::vector<Dim> dims;
    while (!line.takes("]")) {
      if (line.takes("?")) {
        dims.emplace_back();
      } else {
        const std::string_view text = line.name();
        const auto size = number<std::int64_t>(text);
        dims.push_back(size ? Dim::fixed(*size) : Dim::symbol(builder_.intern(text)));
      }
      line.takes(",");
    }
    return builder_.intern_shape(dims);
  }

  ValueDecl typed_value(LineReader& line) {
    ValueDecl decl;
    decl.name = line.name();
    Type described;
    if (line.takes(":")) {
      described = type(line);
    } else {
      described.dtype = DType::float32;
      described.shape = builder_.intern_shape(std::array{Dim::fixed(2), Dim::fixed(2)});
    }
    decl.type = described.type;
    decl.dtype = described.dtype;
    decl.shape = described.shape;
    decl.holds_tensor = described.holds_tensor;
    return decl;
  }

  // ---- declarations ----
  void parameter(LineReader& line) {
    const ValueHandle parameter = builder_.add_parameter(typed_value(line), where_);
    if (line.takes("=")) builder_.set_alias(parameter, builder_.value_named(line.name()));
  }

  void node(LineReader& line) {
    const bool constant = line.takes_word("const");
    const bool in_body = !constant && line.takes("|");
    if (in_body && line.takes_word("input")) {
      const ValueDecl decl = typed_value(line);
      locals_.insert_or_assign(decl.name, builder_.add_local_value(decl));
      return;
    }
    NodeDecl decl;
    const std::vector<ValueDecl> made = outputs(line, decl);
    decl.source = where_;
    decl.scope = scope_;
    decl.op = line.name();
    if (line.takes("::")) {
      decl.domain = decl.op;
      decl.op = line.name();
    }
    start(decl, constant, in_body);
    arguments(line);
    attributes(line);
    while (line.takes("!")) builder_.add_module_parameter(builder_.value_named(line.name()));
    for (std::uint32_t slot = 0; slot < made.size(); ++slot) {
      if (!in_body) {
        builder_.add_output(made[slot], slot);
        continue;
      }
      const ValueHandle local = builder_.add_local_value(made[slot]);
      builder_.add_body_output(local);
      locals_.insert_or_assign(made[slot].name, local);
    }
  }

  // The part before the `=`, which it takes.
  std::vector<ValueDecl> outputs(LineReader& line, NodeDecl& decl) {
    std::vector<ValueDecl> made;
    while (!line.takes("=")) {
      made.push_back(typed_value(line));
      if (line.takes("@")) {
        decl.name = made.back().name;
        made.pop_back();
      }
      line.takes(",");
    }
    if (decl.name.empty() && !made.empty()) decl.name = made.front().name;
    return made;
  }

  void start(const NodeDecl& decl, bool constant, bool in_body) {
    if (in_body) {
      builder_.add_body_node(decl, owner_);
      return;
    }
    owner_ = constant ? builder_.add_constant(decl) : builder_.add_node(decl);
    locals_.clear();
  }

  // ---- operands ----
  void arguments(LineReader& line) {
    line.expect("(");
    std::uint32_t position = 0;
    while (!line.takes(")")) {
      argument(line, position);
      if (!line.sees(")")) line.expect(",");
    }
  }

  void argument(LineReader& line, std::uint32_t& position) {
    if (line.takes("^")) {
      builder_.add_operand(value(line.name()), OperandSlot::capture());
      return;
    }
    if (line.sees("[")) {
      list(line, OperandSlot::positional(position++));
      return;
    }
    const std::string_view name = line.name();
    if (!line.takes("=")) {
      const OperandSlot slot = OperandSlot::positional(position++);
      if (name != "_") builder_.add_operand(value(name), slot);
      return;
    }
    const OperandSlot slot = OperandSlot::keyword(builder_.intern(name));
    if (line.sees("[")) {
      list(line, slot);
    } else {
      builder_.add_operand(value(line.name()), slot);
    }
  }

  void list(LineReader& line, OperandSlot slot) {
    line.expect("[");
    while (!line.takes("]")) {
      builder_.add_operand(value(line.name()), slot.inside_list());
      line.takes(",");
    }
  }

  // In a body its own values come before the graph's.
  ValueHandle value(std::string_view name) {
    const auto local = locals_.find(name);
    return local != locals_.end() ? local->second : builder_.value_named(name);
  }

  // ---- attributes ----
  void attributes(LineReader& line) {
    if (!line.takes("{")) return;
    while (!line.takes("}")) {
      const NameId name = builder_.intern(line.name());
      if (line.takes("=")) {
        attribute(line, name);
      } else {
        builder_.add_opaque_attribute(name);
      }
      line.takes(",");
    }
  }

  void attribute(LineReader& line, NameId name) {
    const bool is_list = line.takes("[");
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string_view> strings;
    do {
      if (line.sees("\"")) {
        strings.push_back(line.in_quotes());
        continue;
      }
      const std::string_view text = line.name();
      const auto integer = number<std::int64_t>(text);
      const auto real = number<double>(text);
      if (integer) {
        integers.push_back(*integer);
      } else if (real) {
        reals.push_back(*real);
      } else {
        line.refuse("not a number: " + std::string(text));
      }
    } while (is_list && line.takes(","));
    if (is_list) line.expect("]");
    using Kind = AttributeType;
    if (!strings.empty()) {
      builder_.add_attribute(name, strings, is_list ? Kind::strings : Kind::string);
    } else if (!reals.empty()) {
      builder_.add_attribute(name, reals, is_list ? Kind::reals : Kind::real);
    } else {
      builder_.add_attribute(name, integers, is_list ? Kind::integers : Kind::integer);
    }
  }

  GraphBuilder builder_;
  const char* base_ = nullptr;
  SourceSpan where_;
  std::string_view scope_;
  NodeHandle owner_{};                              // the top-level node read last
  std::map<std::string_view, ValueHandle> locals_;  // of its bodies
};

}  // namespace

Result<Graph, std::vector<GraphFault>> build_from_text(std::string_view text) {
  return TextReader().read(text);
}

Graph graph_from_text(std::string_view text) {
  auto built = build_from_text(text);
  if (!built) throw std::invalid_argument(built.error().front().message);
  return *std::move(built);
}

}  // namespace cleave
