#include "formats/models/pt2/signature_reader.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cleave {
namespace {

constexpr std::array<std::string_view, 7> kInputKinds = {
    "parameter", "buffer",     "tensor_constant", "custom_obj",
    "token",     "user_input", "constant_input"};
constexpr std::array<std::string_view, 8> kOutputKinds = {
    "user_output",         "loss_output",           "buffer_mutation",        "parameter_mutation",
    "user_input_mutation", "gradient_to_parameter", "gradient_to_user_input", "token"};
constexpr std::array<std::string_view, 7> kTargetFields = {"parameter_name",
                                                           "buffer_name",
                                                           "tensor_constant_name",
                                                           "custom_obj_name",
                                                           "",
                                                           "user_input_name",
                                                           ""};

class SignatureReader {
 public:
  explicit SignatureReader(const Pt2Reading& reading) : in_(reading) {}

  void read() {
    in_.arguments.each_field([&](std::string_view key) {
      if (key == "input_specs") return in_.arguments.each_item([&] { read_input_spec(); });
      if (key == "output_specs") return in_.arguments.each_item([&] { read_output_spec(); });
      in_.cursor.skip();
    });
  }

 private:
  void read_input_spec() {
    Pt2Input input;
    const std::uint64_t begin = in_.cursor.offset();
    in_.arguments.each_field([&](std::string_view kind) {
      const auto known = std::find(kInputKinds.begin(), kInputKinds.end(), kind);
      if (known == kInputKinds.end()) {
        return in_.arguments.fail(in_.cursor.offset(),
                                  "has an input of a kind that cleave does not know, " +
                                      escaped_in_quotes(kind) + ": a newer torch wrote it");
      }
      const auto number = static_cast<std::size_t>(known - kInputKinds.begin());
      input.kind = static_cast<Pt2InputKind>(number);
      in_.arguments.each_field([&](std::string_view key) {
        const bool is_text = in_.cursor.type() == JsonType::string;
        if (is_text && number < 4 && key == kTargetFields[number]) {
          input.target = in_.arguments.take_name();
        } else if (key == "persistent" && in_.cursor.type() == JsonType::boolean) {
          input.is_persistent = in_.cursor.take_boolean();
        } else {
          in_.cursor.skip();
        }
      });
    });
    input.spec = in_.arguments.span_from(begin);
    in_.program.inputs.push_back(input);
  }

  void read_output_spec() {
    Pt2Output output;
    const std::uint64_t begin = in_.cursor.offset();
    in_.arguments.each_field([&](std::string_view kind) {
      const auto known = std::find(kOutputKinds.begin(), kOutputKinds.end(), kind);
      if (known == kOutputKinds.end()) {
        return in_.arguments.fail(in_.cursor.offset(),
                                  "has an output of a kind that cleave does not know, " +
                                      escaped_in_quotes(kind) + ": a newer torch wrote it");
      }
      output.kind = static_cast<Pt2OutputKind>(known - kOutputKinds.begin());
      in_.arguments.each_field([&](std::string_view key) {
        const bool is_text = in_.cursor.type() == JsonType::string;
        const bool is_target =
            std::find(kTargetFields.begin(), kTargetFields.end(), key) != kTargetFields.end();
        if (is_text && is_target) {
          output.target = in_.arguments.take_name();
        } else {
          in_.cursor.skip();
        }
      });
    });
    output.spec = in_.arguments.span_from(begin);
    in_.program.outputs.push_back(output);
  }

  Pt2Reading in_;
};

}  // namespace

void read_pt2_signature(const Pt2Reading& reading) { SignatureReader(reading).read(); }

}  // namespace cleave
