#include "formats/base/fields.h"

#include <algorithm>
#include <span>
#include <utility>

namespace cleave {

namespace {

class SchemaWriter {
 public:
  std::string write(const Document& document) && {
    json_.begin_object();
    json_.text("$schema", "https://json-schema.org/draft/2020-12/schema");
    json_.text("title", document.title.empty()
                            ? "cleave." + std::string(document.name) + ", version 1"
                            : std::string(document.title));
    json_.text("description", document.about);
    write_object(document.fields, false,
                 document.title.empty() ? document.name : std::string_view());
    if (!document.rules.empty()) {
      json_.key("allOf");
      json_.document(document.rules);
    }
    json_.begin_object("$defs");
    // A definition may need others.
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const FieldTable table = named_[i];
      json_.begin_object(table.name);
      write_object(table, false, {});
      json_.end_object();
    }
    json_.end_object();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  // `document`: its name, for the fields that all documents have.
  void write_object(const FieldTable& table, bool is_nullable, std::string_view document) {
    write_type("object", is_nullable);
    json_.flag("additionalProperties", false);
    json_.begin_list("required", kOneLine);
    if (!document.empty()) {
      json_.text("format");
      json_.text("version");
    }
    write_required(table);
    json_.end_list();
    json_.begin_object("properties");
    if (!document.empty()) {
      json_.begin_object("format", kOneLine);
      json_.text("const", "cleave." + std::string(document));
      json_.end_object();
      json_.begin_object("version", kOneLine);
      json_.number("const", 1);
      json_.end_object();
    }
    write_rows(table);
    json_.end_object();
  }

  void write_required(const FieldTable& table) {
    for (const FieldRow& row : std::span(table.rows, table.count)) {
      if (row.form.left_out) continue;
      row.key.empty() ? write_required(row.table(row.fields)) : json_.text(row.key);
    }
  }

  void write_rows(const FieldTable& table) {
    for (const FieldRow& row : std::span(table.rows, table.count)) {
      row.key.empty() ? write_rows(row.table(row.fields)) : write_row(row);
    }
  }

  void write_row(const FieldRow& row) {
    json_.key(row.key);
    if (row.form.schema != nullptr) return json_.document(row.form.schema());
    const bool is_plain = row.table == nullptr || !row.table(row.fields).name.empty();
    json_.begin_object(is_plain ? kOneLine : kLines);
    const std::string about = about_text(row);
    if (!about.empty()) json_.text("description", about);
    write_type(row, row.type, is_nullable(row));
    json_.end_object();
  }

  // With what follows from the name and the type.
  static std::string about_text(const FieldRow& row) {
    std::string about(row.about);
    const auto add = [&](std::string_view words) {
      about += (about.empty() ? "" : " ") + std::string(words);
    };
    if (row.key.ends_with("_us") && about.find("icrosecond") == about.npos) add("Microseconds.");
    if (is_nullable(row) && about.find("null") == about.npos) add("null: not known.");
    return about;
  }

  static bool is_nullable(const FieldRow& row) {
    return row.type.optionals > (row.form.left_out ? 1 : 0);
  }

  void write_type(const FieldRow& row, const FieldType& type, bool is_nullable) {
    using Kind = FieldType::Kind;
    switch (type.kind) {
      case Kind::flag:
        return write_type("boolean", is_nullable);
      case Kind::count:
      case Kind::integer:
        write_type("integer", is_nullable);
        if (type.kind == Kind::count) json_.number("minimum", 0);
        return;
      case Kind::number:
        return write_type("number", is_nullable);
      case Kind::text:
        return write_text(row.form, is_nullable);
      case Kind::list:
        write_type("array", is_nullable);
        return write_item("items", row, *type.item);
      case Kind::entries:
        write_type("object", is_nullable);
        return write_item("additionalProperties", row, *type.item);
      case Kind::object:
        return write_nested(row.table(row.fields), is_nullable);
      case Kind::any:
        return;
    }
  }

  void write_type(std::string_view name, bool is_nullable) {
    if (!is_nullable) return json_.text("type", name);
    json_.begin_list("type", kOneLine);
    json_.text(name);
    json_.text("null");
    json_.end_list();
  }

  void write_text(const FieldForm& form, bool is_nullable) {
    const std::vector<std::string> words =
        form.words_of != nullptr ? form.words_of() : words_in(form.words);
    if (words.empty()) return write_type("string", is_nullable);
    json_.begin_list("enum", kOneLine);
    for (const std::string& word : words) json_.text(word);
    if (is_nullable) json_.null();
    json_.end_list();
  }

  static std::vector<std::string> words_in(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      words.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
    return words;
  }

  void write_item(std::string_view key, const FieldRow& row, const FieldType& item) {
    json_.begin_object(key);
    write_type(row, item, item.optionals > 0);
    json_.end_object();
  }

  void write_nested(const FieldTable& table, bool is_nullable) {
    if (table.name.empty()) return write_object(table, is_nullable, {});
    const auto has_name = [&](const FieldTable& other) { return other.name == table.name; };
    if (std::ranges::none_of(named_, has_name)) named_.push_back(table);
    const std::string place = "#/$defs/" + std::string(table.name);
    if (!is_nullable) return json_.text("$ref", place);
    json_.begin_list("anyOf");
    json_.begin_object();
    json_.text("$ref", place);
    json_.end_object();
    json_.begin_object();
    json_.text("type", "null");
    json_.end_object();
    json_.end_list();
  }

  std::vector<FieldTable> named_;
  JsonText json_;
};

}  // namespace

std::string schema_text(const Document& document) { return SchemaWriter().write(document); }

}  // namespace cleave
