#include "formats/models/tflite/attributes.h"

#include <string>

#include "formats/models/tflite/fields.h"

namespace cleave {
namespace {

class AttributeMaker {
 public:
  AttributeMaker(GraphBuilder& builder, const FlatTable& options)
      : builder_(builder), options_(options) {}

  void add(SchemaFieldId id) {
    const SchemaField& field = kSchemaFields[id];
    const NameId name = builder_.intern(field.name);
    if (field.is_vector) return add_vector(id, name);
    switch (field.kind) {
      case SchemaKind::boolean:
        return add_integer(name, options_.integer(id), AttributeType::boolean);
      case SchemaKind::integer:
        return add_integer(name, options_.integer(id), AttributeType::integer);
      case SchemaKind::enumeration:
        return add_enumerator(id, name);
      case SchemaKind::real: {
        const double real = options_.real(id);
        return builder_.add_attribute(name, std::span(&real, 1), AttributeType::real);
      }
      case SchemaKind::string: {
        if (!options_.has(id)) return;
        const std::string_view text = options_.bytes(id);
        return builder_.add_attribute(name, std::span(&text, 1), AttributeType::string);
      }
      default:
        if (options_.has(id)) builder_.add_opaque_attribute(name);
    }
  }

 private:
  void add_integer(NameId name, std::int64_t value, AttributeType type) {
    builder_.add_attribute(name, std::span<const std::int64_t>(&value, 1), type);
  }

  void add_enumerator(SchemaFieldId id, NameId name) {
    const std::int64_t value = options_.integer(id);
    std::string_view text = enumerator_name(kSchemaFields[id].type, value);
    if (text.empty()) text = builder_.keep(std::to_string(value));
    builder_.add_attribute(name, std::span(&text, 1), AttributeType::string);
  }

  void add_vector(SchemaFieldId id, NameId name) {
    const SchemaField& field = kSchemaFields[id];
    if (!options_.has(id)) return;
    if (field.kind == SchemaKind::integer && field.width == 4)
      return add_integers<std::int32_t>(id, name);
    if (field.kind == SchemaKind::integer && field.width == 8)
      return add_integers<std::int64_t>(id, name);
    if (field.kind == SchemaKind::boolean) return add_integers<std::uint8_t>(id, name);
    if (field.kind != SchemaKind::real || field.width != 4)
      return builder_.add_opaque_attribute(name);
    const auto numbers = options_.numbers<float>(id);
    std::vector<double> reals;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) reals.push_back(double{numbers[i]});
    builder_.add_attribute(name, std::span<const double>(reals), AttributeType::reals);
  }

  template <class T>
  void add_integers(SchemaFieldId id, NameId name) {
    const auto numbers = options_.numbers<T>(id);
    std::vector<std::int64_t> integers;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) integers.push_back(numbers[i]);
    builder_.add_attribute(name, std::span<const std::int64_t>(integers), AttributeType::integers);
  }

  GraphBuilder& builder_;
  const FlatTable& options_;
};

}  // namespace

void add_tflite_attributes(GraphBuilder& builder, const TfliteModel& model,
                           const TfliteOperator& op) {
  const SchemaTableId type = op.options.is_absent()
                                 ? kSchemaOperators[model.code_of(op).builtin].options
                                 : op.options.type();
  if (type != kNoSchema) {
    AttributeMaker maker(builder, op.options);
    const SchemaTable& table = kSchemaTables[type];
    for (SchemaFieldId f = table.first; f < table.first + table.count; ++f) maker.add(f);
  }
  if (op.table.has(tfl::op::custom_options)) {
    builder.add_opaque_attribute(builder.intern("custom_options"));
  }
}

}  // namespace cleave
