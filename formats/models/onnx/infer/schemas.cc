#include "formats/models/onnx/infer/schemas.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cleave {
namespace {

auto key_of(const OnnxSchemaEntry& entry) {
  return std::tuple(entry.domain, entry.op, entry.since);
}

class Schemas {
 public:
  Schemas() {
    const auto entries = onnx_schema_entries();
    entries_.assign(entries.begin(), entries.end());
    std::sort(
        entries_.begin(), entries_.end(),
        [](const OnnxSchemaEntry& a, const OnnxSchemaEntry& b) { return key_of(a) < key_of(b); });
  }

  // Whether the headers had an operator of the domain.
  bool knows(std::string_view domain) const {
    const auto at = std::lower_bound(
        entries_.begin(), entries_.end(), domain,
        [](const OnnxSchemaEntry& entry, std::string_view name) { return entry.domain < name; });
    return at != entries_.end() && at->domain == domain;
  }

  const onnx::OpSchema* find(std::string_view domain, std::string_view op, int opset) {
    const auto behind = std::upper_bound(
        entries_.begin(), entries_.end(), std::tuple(domain, op, opset),
        [](const auto& wanted, const OnnxSchemaEntry& entry) { return wanted < key_of(entry); });
    if (behind == entries_.begin()) return nullptr;
    const OnnxSchemaEntry& entry = *std::prev(behind);
    if (entry.domain != domain || entry.op != op) return nullptr;
    const auto [at, is_new] = made_.try_emplace(&entry);
    if (is_new) {
      at->second = entry.make();
      at->second.Finalize();
    }
    return &at->second;
  }

 private:
  std::vector<OnnxSchemaEntry> entries_;
  std::map<const OnnxSchemaEntry*, onnx::OpSchema> made_;
};

}  // namespace

const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset) {
  static Schemas schemas;
  constexpr std::int64_t kNewestOfAny = 1000;
  const auto version = static_cast<int>(std::clamp<std::int64_t>(opset, 1, kNewestOfAny));
  if (schemas.knows(domain)) return schemas.find(domain, op, version);
  constexpr std::string_view kOnnxDomains = "ai.onnx";  // the library does not know other domains
  if (!domain.empty() && !domain.starts_with(kOnnxDomains)) return nullptr;
  return onnx::OpSchemaRegistry::Schema(std::string(op), version, std::string(domain));
}

}  // namespace cleave
