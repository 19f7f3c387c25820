// Plans what a split writes, and writes it.
#include "formats/onnx/write/writer.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/onnx/index/index.h"

namespace cleave {

// ---- split job ----

namespace {

// A dim as in the file: a size, else a name, else neither.
struct FileDim {
  std::optional<std::int64_t> size;
  std::string_view name;
};

struct FileTensorType {
  std::int32_t dtype = 0;
  bool has_shape = false;
  std::vector<FileDim> dims;
};

FileDim read_dim(std::string_view payload, OnnxWalk& walk) {
  FileDim out;
  for (OnnxFields field(payload, "a dimension", walk); field.next();) {
    if (field.key() == varint_field(dim_field::kValue)) {
      out.size = field.number();
    } else if (field.key() == bytes_field(dim_field::kParam)) {
      out.name = field.text();
    } else {
      field.skip();
    }
  }
  return out;
}

void read_shape(std::string_view payload, OnnxWalk& walk, FileTensorType& out) {
  out.has_shape = true;
  for (OnnxFields field(payload, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      out.dims.push_back(read_dim(field.text(), walk));
    } else {
      field.skip();
    }
  }
}

FileTensorType read_tensor_type(std::string_view payload, OnnxWalk& walk) {
  FileTensorType out;
  for (OnnxFields field(payload, "a tensor's type", walk); field.next();) {
    if (field.key() == varint_field(tensor_type_field::kElemType)) {
      out.dtype = field.number32();
    } else if (field.key() == bytes_field(tensor_type_field::kShape)) {
      read_shape(field.text(), walk, out);
    } else {
      field.skip();
    }
  }
  return out;
}

// nullopt for a non-tensor or a damaged one.
std::optional<FileTensorType> tensor_type_of(std::string_view type) {
  OnnxWalk walk;
  std::optional<FileTensorType> out;
  for (OnnxFields field(type, "a type", walk); field.next();) {
    if (field.key() == bytes_field(type_field::kTensor)) {
      out = read_tensor_type(field.text(), walk);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? std::nullopt : out;
}

bool same_dim(const Graph& graph, Dim known, const FileDim& stated) {
  if (known.is_fixed()) return stated.size == known.size();
  if (stated.size) return false;
  return known.is_symbol() ? stated.name == graph.text(known.name()) : stated.name.empty();
}

// True when the file states exactly what the graph knows.
bool says_the_same(const Graph& graph, ValueId value, const FileTensorType& stated) {
  if (dtype_from_onnx(stated.dtype) != graph.value(value).dtype) return false;
  if (stated.has_shape != graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  if (shape.size() != stated.dims.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!same_dim(graph, shape[i], stated.dims[i])) return false;
  }
  return true;
}

}  // namespace

OnnxValueInfos::OnnxValueInfos(const LoadedModel& model)
    : graph_(model.graph), model_(*model.onnx()), declared_(model.graph.value_count(), nullptr) {
  std::unordered_map<std::string_view, const OnnxValueInfo*> by_name;
  // An input's or output's declaration takes precedence over a value_info of the same name.
  for (const auto* list :
       {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.value_infos}) {
    for (const OnnxValueInfo& info : *list) by_name.emplace(info.name, &info);
  }
  for (const ValueId value : IdRange<ValueId>(0, graph_.value_count())) {
    if (graph_.value(value).kind == ValueKind::body_local) continue;
    const auto at = by_name.find(graph_.value(value).name);
    if (at != by_name.end()) declared_[value] = at->second;
  }
}

bool OnnxValueInfos::is_declared_as_known(ValueId value) const {
  const OnnxValueInfo* stated = declared_[value];
  if (stated == nullptr || graph_.value(value).dtype == DType::unknown) return true;
  const auto type = tensor_type_of(stated->type);
  return !type || says_the_same(graph_, value, *type);
}

std::string OnnxValueInfos::known(ValueId value) const {
  const std::string_view name = graph_.value(value).name;
  const OnnxValueInfo* stated = declared_[value];
  if (const auto full = model_.full_types.find(index(value)); full != model_.full_types.end()) {
    if (stated != nullptr && stated->type == full->second) {
      return std::string(stated->record.payload);
    }
    return encode_value_info(name, full->second);
  }
  if (stated != nullptr) {
    const auto type = tensor_type_of(stated->type);
    if (type && says_the_same(graph_, value, *type)) return std::string(stated->record.payload);
  }
  if (graph_.value(value).dtype == DType::unknown) {
    // A type that cleave does not know is copied unchanged.
    if (stated != nullptr) return std::string(stated->record.payload);
    return encode_value_info(name, {});
  }
  return encode_value_info(name, encode_tensor_type(graph_, value));
}

bool OnnxValueInfos::has_type(ValueId value) const {
  if (graph_.value(value).dtype != DType::unknown) return true;
  if (model_.full_types.contains(index(value))) return true;
  return declared_[value] != nullptr && !declared_[value]->type.empty();
}

bool OnnxValueInfos::has_rank(ValueId value) const {
  if (!has_type(value)) return false;
  return graph_.has_rank(value) || model_.full_types.contains(index(value));
}

namespace {

struct FileAnnotation {
  std::string_view tensor;
  std::vector<std::string_view> parameters;
};

FileAnnotation read_annotation(std::string_view payload) {
  FileAnnotation out;
  OnnxWalk walk;
  for (OnnxFields field(payload, "a quantization annotation", walk); field.next();) {
    if (field.key() == bytes_field(annotation_field::kTensorName)) {
      out.tensor = field.text();
    } else if (field.key() == bytes_field(annotation_field::kQuantParameters)) {
      out.parameters.push_back(index_onnx_key_value(field.text(), walk).value);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? FileAnnotation{} : out;  // a damaged one annotates no tensor
}

std::unordered_map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::unordered_map<std::string_view, ValueId> out;
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
    if (graph.value(value).kind != ValueKind::body_local)
      out.emplace(graph.value(value).name, value);
  }
  return out;
}

}  // namespace

OnnxAnnotations::OnnxAnnotations(const LoadedModel& model) {
  const OnnxMainGraph& file = model.onnx()->graph;
  if (file.quantization_annotations.empty()) return;
  const auto values = values_by_name(model.graph);
  std::unordered_map<std::string_view, std::uint32_t> initializers;
  for (std::uint32_t i = 0; i < file.initializers.size(); ++i) {
    initializers.emplace(file.initializers[i].name, i);
  }
  for (const OnnxRecord& record : file.quantization_annotations) {
    const FileAnnotation stated = read_annotation(record.payload);
    const auto value = values.find(stated.tensor);
    if (value == values.end()) continue;
    OnnxAnnotation annotation{.field = record.field, .parameters = {}};
    for (const std::string_view name : stated.parameters) {
      const auto at = initializers.find(name);
      if (at != initializers.end()) annotation.parameters.push_back(at->second);
    }
    by_value_.emplace(index(value->second), static_cast<std::uint32_t>(annotations_.size()));
    annotations_.push_back(std::move(annotation));
  }
}

std::vector<const OnnxAnnotation*> OnnxAnnotations::about(
    const std::vector<ValueId>& values) const {
  std::vector<const OnnxAnnotation*> out;
  if (empty()) return out;
  for (const ValueId value : values) {
    const std::size_t first = out.size();
    const auto [begin, end] = by_value_.equal_range(index(value));
    for (auto at = begin; at != end; ++at) out.push_back(&annotations_[at->second]);
    // In file order, independent of the table's.
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }
  return out;
}

namespace {

std::string_view key_of_metadata(const OnnxRecord& record) {
  OnnxWalk walk;
  const OnnxKeyValue entry = index_onnx_key_value(record.payload, walk);
  return walk.is_refused() ? std::string_view() : entry.key;
}

void put_text(std::string& out, std::uint32_t field, std::string_view text) {
  if (!text.empty()) put_bytes(out, field, text);
}

// Default attributes of an operator, written out for a node inside a function: there, ONNX's own
// inference expands the operator's definition and forgets the defaults of its attributes.
std::string forgotten_attributes(const OnnxNode& node) {
  const bool is_normalization = node.op_type == "MeanVarianceNormalization" &&
                                plain_domain(node.domain).empty() && node.attributes.empty();
  std::string out;
  if (is_normalization) put_bytes(out, node_field::kAttribute, encode_ints("axes", {0, 2, 3}));
  return out;
}

class ImportList {
 public:
  void add(std::string_view domain, std::int64_t version) {
    if (known_.insert(plain_domain(domain)).second) {
      list.emplace_back(plain_domain(domain), version);
    }
  }
  // Recurses into the node's bodies, as deep as the file nests, which its reader limits.
  void add_domains(const OnnxNode& node) {
    add(node.domain, 1);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        for (const OnnxNode& inner : body.nodes) add_domains(inner);
      }
    }
  }
  std::vector<std::pair<std::string_view, std::int64_t>> list;

 private:
  std::unordered_set<std::string_view> known_;
};

}  // namespace

std::optional<OnnxLocation> OnnxSplitJob::reference(std::uint32_t initializer) const {
  const auto& elements = source.elements(initializer);
  if (!shared.offsets.empty()) {
    const auto offset = shared.offsets[initializer];
    if (!offset) return std::nullopt;
    return OnnxLocation{.file = OnnxSharedWeights::kFile, .offset = *offset};
  }
  if (references.empty() || !elements || elements->length <= kSmallReference) return std::nullopt;
  return OnnxLocation{.file = references[elements->source], .offset = elements->offset};
}

std::uint64_t add_aligned(BytePieces& data, const ByteRange& elements) {
  // The documentation of ONNX asks for offsets in pages, so that runtimes can map weights. For
  // weights below 1 MiB a page each would be mostly zeros: they are read, and 64 bytes suit vector
  // instructions and lines of the cache.
  constexpr std::uint64_t kMapped = 1 << 20, kPage = 4096, kVector = 64;
  static constexpr std::array<char, kPage> kZeros = {};
  const std::uint64_t unit = elements.length >= kMapped ? kPage : kVector;
  const std::uint64_t over = data.size() % unit;
  if (over != 0) data.add({kZeros.data(), unit - over});
  const std::uint64_t offset = data.size();
  data.add_range(elements.source, elements.offset, elements.length);
  return offset;
}

namespace {

// Lays weights.bin out, in the order of the model's initializers.
OnnxSharedWeights shared_weights(const OnnxSplitJob& job) {
  const std::size_t count = job.onnx().graph.initializers.size();
  std::vector<bool> is_read(count);
  for (const ValueId value : job.boundaries.parameters.items)
    is_read[job.initializer(value)] = true;
  OnnxSharedWeights shared;
  shared.offsets.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& elements = job.source.elements(i);
    if (!is_read[i] || !elements || elements->length <= kSmallReference) continue;
    shared.offsets[i] = add_aligned(shared.data, *elements);
  }
  return shared;
}

}  // namespace

std::vector<std::pair<std::string_view, std::int64_t>> opset_imports(const OnnxModel& onnx) {
  ImportList imports;
  for (const auto& [domain, version] : onnx.opsets) imports.add(domain, version);
  OnnxNode room;
  for (std::size_t i = 0; i < onnx.graph.nodes.size(); ++i) {
    imports.add_domains(onnx.graph.nodes.read_names(i, room));
  }
  return std::move(imports.list);
}

void add_node(const OnnxSplitJob& job, BytePieces& out, std::uint32_t field, NodeId node) {
  OnnxNode room;
  const OnnxNode& record = job.record(node, room);
  const std::string_view name = job.graph().node(node).name;
  std::string more;
  if (!record.name.empty() && record.name != name) put_bytes(more, node_field::kName, name);
  if (field == function_field::kNode) more += forgotten_attributes(record);
  more += job.tags.of(node);
  const OnnxFieldTest replaced = job.tags.replaced_in(record);
  if (field == graph_field::kNode && more.empty() && !replaced) {
    job.source.add_record(out, field, record.record);
  } else {
    job.source.add_message(out, field, record.record.payload, more, replaced);
  }
}

std::string model_head(const OnnxSplitJob& job, std::int64_t least_ir_version) {
  const OnnxModel& onnx = job.onnx();
  std::string out;
  put_number(out, model_field::kIrVersion, std::max(onnx.ir_version, least_ir_version));
  put_text(out, model_field::kProducerName,
           onnx.producer_name.empty() ? "cleave" : onnx.producer_name);
  put_text(out, model_field::kProducerVersion, onnx.producer_version);
  put_text(out, model_field::kDomain, onnx.domain);
  if (onnx.model_version != 0) put_number(out, model_field::kModelVersion, onnx.model_version);
  put_text(out, model_field::kDocString, onnx.doc_string);
  return out;
}

void add_model_tail(const OnnxSplitJob& job, BytePieces& out, const OnnxModelTail& tail) {
  const OnnxModel& onnx = job.onnx();
  std::string imports;
  for (const auto& [domain, version] : job.opsets) {
    put_bytes(imports, model_field::kOpsetImport, encode_opset(domain, version));
  }
  out.add(imports);
  out.add(tail.made);
  out.add(job.tags.model_fields());
  const auto& left_out = tail.metadata_left_out;
  for (const OnnxRecord& record : onnx.metadata_props) {
    const std::string_view key = key_of_metadata(record);
    if (contains(left_out, key)) continue;
    job.source.add_bytes(out, record.field);
  }
  for (const std::uint32_t function : tail.functions) {
    job.source.add_record(out, model_field::kFunctions, onnx.functions[function].record);
  }
  for (const OnnxRecord& record : onnx.configurations) job.source.add_bytes(out, record.field);
  for (const OnnxRecord& record : onnx.other_fields) job.source.add_bytes(out, record.field);
}

void add_field(BytePieces& out, std::uint32_t field, const BytePieces& payload) {
  std::string header;
  put_header(header, field, payload.size());
  out.add(header);
  out.append(payload);
}

// ---- writer ----
//
// Steps:
// 1. write the weights that all files share, if that is asked for;
// 2. write the partitions, by several threads;
// 3. collect in their order what they give: files, notes, and where their weights are;
// 4. write the root, whose weights refer to the partitions' files.

namespace {

constexpr std::string_view kRootFile = "root.onnx";
constexpr std::string_view kAnnotatedFile = "annotated.onnx";

std::vector<std::string> files_of_parts(const Partition& partition, const std::string& prefix) {
  std::vector<std::string> files = file_stems(partition.names);
  for (std::string& file : files) file = prefix + file + ".onnx";
  return files;
}

// An estimate: weights count once in the partitions and once in each complete model that has them.
std::uint64_t estimated_bytes(const OnnxSplitJob& job) {
  if (job.options.weights() == RootWeights::reference) return 0;
  if (job.options.weights() == RootWeights::shared) return job.shared.data.size();
  std::uint64_t bytes = 0;
  for (const PartId part : job.partition.parts()) {
    for (const ValueId value : job.boundaries.parameters[part]) {
      bytes += job.source.size(job.initializer(value));
    }
  }
  return job.options.weights() == RootWeights::inlined ? 2 * bytes : bytes;
}

// How much of the partitions' weights are copies; "" when that is little.
std::string copies_note(const OnnxSplitJob& job) {
  // Scales and tables that several partitions read are in most models; only what one would notice
  // on a disk is worth a note. Chosen, not measured.
  constexpr std::uint64_t kLittle = std::uint64_t{8} << 20U;
  const RootWeights weights = job.options.weights();
  if (weights == RootWeights::shared || weights == RootWeights::reference) return {};
  std::vector<bool> seen(job.onnx().graph.initializers.size());
  std::uint64_t copied = 0;
  for (const ValueId value : job.boundaries.parameters.items) {
    const auto initializer = job.initializer(value);
    if (seen[initializer]) copied += job.source.size(initializer);
    seen[initializer] = true;
  }
  if (copied < kLittle) return {};
  return "weights that several partitions read are written into each of them: " +
         bytes_text(copied) + " are copies; --weights shared writes each once";
}

// What the file of one part gives.
struct PartWritten {
  std::vector<std::string> files;
  std::vector<OnnxPlacedWeight> weights;
  std::optional<Fault> fault;
};

class SplitWriter {
 public:
  SplitWriter(const OnnxSplitJob& job, const OutputFolder& folder) : job_(job), folder_(folder) {
    places_.by_initializer.resize(job.onnx().graph.initializers.size());
    if (job.options.progress) bytes_to_write_ = estimated_bytes(job);
  }

  Result<OnnxWritten, Fault> write() {
    if (Diagnostics faults = check_sources(); !faults.empty()) {
      return output_fault(std::move(faults));
    }
    note_imports();
    if (std::string note = copies_note(job_); !note.empty()) {
      written_.notes.push_back(std::move(note));
    }
    if (auto shared = write_shared(); !shared) return std::move(shared).error();
    if (auto parts = write_parts(); !parts) return std::move(parts).error();
    if (auto copied = write_contexts(); !copied) return std::move(copied).error();
    auto done =
        write_whole(job_.options.prefix + std::string(kRootFile), build_onnx_root(job_, places_));
    if (done && job_.options.annotate) {
      done = write_whole(kAnnotatedFile, build_onnx_annotated(job_, places_));
    }
    if (!done) return std::move(done).error();
    return std::move(written_);
  }

  Status<Fault> write_deployed(std::span<const OnnxContext> contexts, const std::string& file) {
    if (Diagnostics faults = check_sources(); !faults.empty()) {
      return output_fault(std::move(faults));
    }
    if (auto copied = write_contexts(); !copied) return copied;
    return write_whole(file, build_onnx_root(job_, places_, contexts));
  }

 private:
  Fault fault(std::string_view file, std::string message) const {
    return output_fault({diagnostic_of(shown(file), std::move(message))});
  }

  std::string shown(std::string_view file) const {
    return folder_.final_path() + "/" + std::string(file);
  }

  // Output must not overwrite the files that it is copied from or refers to.
  Diagnostics check_sources() const {
    Diagnostics faults;
    for (const ByteSource& source : job_.source.files()) {
      if (folder_.would_remove(source.path)) {
        faults.push_back(
            diagnostic_of(folder_.final_path(),
                          "holds " + escaped_in_quotes(source.path) +
                              ", of the model itself, and would be replaced: give another folder"));
      }
    }
    return faults;
  }

  Status<Fault> write_shared() {
    std::optional<BytePieces>* const common = job_.options.common_weights;
    if (common != nullptr && *common) {
      if (job_.shared.data == **common) return Done{};
      return fault(OnnxSharedWeights::kFile,
                   "has the weights of the splits before " +
                       escaped_in_quotes(job_.options.prefix) +
                       ", which needs others: its sizes decide which weights are read, or (--fold "
                       "write) what they are; split it into a folder of its own");
    }
    if (common != nullptr) *common = job_.shared.data;
    if (job_.shared.data.size() == 0) return Done{};
    auto done = write_file(job_.shared.data, OnnxSharedWeights::kFile);
    if (done) written_.files.emplace_back(OnnxSharedWeights::kFile);
    return done;
  }

  Status<Fault> write_whole(std::string_view file, const Result<BytePieces, std::string>& built) {
    if (!built) return fault(file, built.error());
    auto done = write_file(*built, file);
    if (done) written_.files.emplace_back(file);
    return done;
  }

  Status<Fault> write_contexts() const {
    const IdRange<NodeId> nodes = job_.graph().nodes();
    const std::string root = shown(kRootFile);
    return copy_context_files(job_, std::vector<NodeId>(nodes.begin(), nodes.end()),
                              {folder_.path_of(kRootFile), root},
                              folder_.would_remove(root) ? OldFiles::removed : OldFiles::stay);
  }

  Status<Fault> write_parts() {
    std::vector<PartWritten> parts(job_.partition.count());
    const std::size_t failed = do_each(parts.size(), [&](std::size_t i) {
      parts[i] = write_part(PartId(i));
      return !parts[i].fault;
    });
    if (failed < parts.size()) return *std::move(parts[failed].fault);
    for (const PartId part : job_.partition.parts()) collect(part, std::move(parts[index(part)]));
    return Done{};
  }

  // Runs in any thread.
  PartWritten write_part(PartId part) {
    PartWritten written;
    if (part_outputs(job_, part).empty()) return written;
    const std::string& file = job_.files[index(part)];
    auto built = build_onnx_part(job_, part);
    if (!built) {
      written.fault = fault(file, built.error());
      return written;
    }
    written.files.push_back(file);
    auto done = write_file(built->model, file);
    if (done && built->data.size() > 0) {
      written.files.push_back(data_file(file));
      done = write_file(built->data, written.files.back());
    }
    if (!done) written.fault = std::move(done).error();
    written.weights = std::move(built->weights);
    return written;
  }

  static std::string data_file(const std::string& file) { return file + ".data"; }

  void collect(PartId part, PartWritten written) {
    note_part(part);
    const std::string& file = job_.files[index(part)];
    written_.part_files.push_back(written.files.empty() ? "" : file);
    for (const OnnxPlacedWeight& weight : written.weights) {
      place(weight, weight.in_data ? data_file(file) : file);
    }
    for (std::string& name : written.files) written_.files.push_back(std::move(name));
  }

  // The root refers to the first partition that contains a weight.
  void place(const OnnxPlacedWeight& weight, const std::string& file) {
    OnnxWeightPlaces::Place& place = places_.by_initializer[weight.initializer];
    if (place.file != OnnxWeightPlaces::kNowhere) return;
    if (places_.files.empty() || places_.files.back() != file) places_.files.push_back(file);
    place = {.file = static_cast<std::uint32_t>(places_.files.size() - 1), .offset = weight.offset};
  }

  Status<Fault> write_file(const BytePieces& pieces, std::string_view file) {
    if (is_source(file)) {
      return fault(
          file,
          "is the input of this split, and would be replaced: give the model's file another name");
    }
    return write_pieces(pieces, job_.source.files(), {folder_.path_of(file), shown(file)},
                        [this](std::uint64_t bytes) { tell_written(bytes); });
  }

  void tell_written(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_written_ += bytes;
    tell(job_.options.progress,
         {"writing", "bytes", bytes_written_, std::max(bytes_written_, bytes_to_write_)});
  }

  // True for a file that the output refers to.
  bool is_source(std::string_view file) const {
    const auto& references = job_.references;
    return contains(references, file);
  }

  void note_imports() {
    for (const auto& [domain, version] : job_.opsets) {
      const auto is_this = [name = domain](const auto& opset) {
        return plain_domain(opset.first) == name;
      };
      const auto& stated = job_.onnx().opsets;
      if (std::ranges::any_of(stated, is_this)) continue;
      written_.notes.push_back("domain " + escaped_in_quotes(domain) +
                               " is used but not imported by the model: imported as version " +
                               std::to_string(version));
    }
  }

  void note(PartId part, const std::string& message) {
    written_.notes.push_back("part " + escaped_in_quotes(job_.partition.name(part)) + " " +
                             message);
  }

  void note_part(PartId part) {
    const std::vector<ValueId> outputs = part_outputs(job_, part);
    if (job_.root_boundaries.outputs[part].empty()) {
      note(part, outputs.empty()
                     ? "makes no value: it is neither written nor in root.onnx"
                     : "has no outputs: it is not in root.onnx, and its own file gives " +
                           escaped_in_quotes(job_.graph().value(outputs[0]).name));
    }
    for (const ValueId value : job_.boundaries.inputs[part]) note_type(part, value, "reads");
    for (const ValueId value : outputs) note_type(part, value, "gives");
  }

  void note_type(PartId part, ValueId value, std::string_view verb) {
    const std::string what =
        std::string(verb) + " " + escaped_in_quotes(job_.graph().value(value).name);
    if (!job_.value_infos.has_type(value)) {
      note(part, what + ", whose type is not known" +
                     (verb == "reads" ? ": its file cannot be loaded by ONNX Runtime" : ""));
    } else if (!job_.value_infos.has_rank(value)) {
      note(part, what + ", whose rank is not known: the ONNX checker refuses its file");
    }
  }

  const OnnxSplitJob& job_;
  const OutputFolder& folder_;
  OnnxWeightPlaces places_;
  OnnxWritten written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_to_write_ = 0;
};

OnnxSplitJob job_of(const LoadedModel& model, const OnnxPieces& pieces,
                    const OnnxWriteOptions& options, OnnxSource source,
                    std::vector<std::string> references) {
  return {.model = model,
          .partition = pieces.partition,
          .boundaries = pieces.parts,
          .root_boundaries = pieces.root,
          .options = options,
          .source = std::move(source),
          .value_infos = OnnxValueInfos(model),
          .function_calls = OnnxFunctionCalls(*model.onnx()),
          .annotations = OnnxAnnotations(model),
          .opsets = opset_imports(*model.onnx()),
          .files = files_of_parts(pieces.partition, options.prefix),
          .references = std::move(references),
          .tags = OnnxNodeTags(model, pieces.partition, pieces.devices, options.tags)};
}

}  // namespace

Status<Fault> write_onnx_deployed(const LoadedModel& model, const OnnxPieces& pieces,
                                  std::span<const OnnxContext> contexts, const OutputFolder& folder,
                                  const std::string& file) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  OnnxWriteOptions options;
  options.root_weights = RootWeights::inlined;
  const OnnxSplitJob job = job_of(model, pieces, options, std::move(*source), {});
  return SplitWriter(job, folder).write_deployed(contexts, file);
}

Result<OnnxWritten, Fault> write_onnx_split(const LoadedModel& model, const OnnxPieces& pieces,
                                            const OnnxWriteOptions& options,
                                            const OutputFolder& folder) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  std::vector<std::string> references;
  if (options.weights() == RootWeights::reference) {
    auto found = onnx_references(model, *source, folder.final_path());
    if (!found) {
      return output_fault({diagnostic_of(folder.final_path(), std::move(found).error())});
    }
    references = *std::move(found);
  }
  OnnxSplitJob job = job_of(model, pieces, options, std::move(*source), std::move(references));
  if (options.weights() == RootWeights::shared) job.shared = shared_weights(job);
  return SplitWriter(job, folder).write();
}

}  // namespace cleave
