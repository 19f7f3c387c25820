// Reports about a model and its split.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- explain text ----
//
// `explain`: where given nodes run, and why, as text and as JSON; `help`: what a reason means,
// at length, and how to remove it.

// A block of lines per node: its op and signature, its partition, the reason, and the chain of
// nodes to blame. Nodes may be constants; without nodes it says that none is on the CPU. `ways` has, by
// place in `nodes`, a way out to try, or ""; it may be empty.
std::string explain_text(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways = {});

// cleave.explain version 1. `ways` as above.
std::string explain_json(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways = {});
Document explain_document();

// The names of all codes, in the order of the enumerators, without none's.
std::vector<std::string> reason_code_names();

// Heading, meaning, and the ways out as a list. `code` is not none.
std::string reason_page(ReasonCode code);

// ---- inspect text ----
//
// What a model is made of, before a support list is chosen: its ops with counts, types and FLOPs,
// and how much of it each known list accepts. Says which numbers are unknown, and which option would
// make them known.

// `lists`: those known by name; one line of coverage for each. `sizes`: how the work depends on open dims;
// null: on none, or it is not known. `at_first`: the model's graph at the first of them, at which lists are tried;
// null: as it is.
std::string inspect_text(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes = nullptr, const Graph* at_first = nullptr);

// cleave.inspect version 1.
std::string inspect_json(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes = nullptr, const Graph* at_first = nullptr);
Document inspect_document();

// ---- plans ----
//
// Plans that runtimes obey: which device runs each node, in the words of each runtime. `split` writes
// them beside the manifest, where there are several targets.

struct PlanFile {
  std::string name;  // "plans.txt"
  std::string text;
};

// Of ONNX models: OpenVINO's affinities and ONNX Runtime's setting. Of TensorFlow Lite models: LiteRT's
// options. Each says what of it was verified. Empty for other models, and where there is one target.
std::vector<PlanFile> plan_files(const Report& report);

// ---- genai ----

struct GenaiConfig {
  std::string text;
  std::string note;  // what it assumes; "": nothing
};

// genai_config.json of onnxruntime-genai, a "decoder-pipeline" of the phases' partitions, whose files were written with
// OnnxWriteOptions::names_for_readers. `given`: KEY=VALUE of ids and the context's length. Refuses phases that the
// runtime could not run, or would run wrongly: other than one for a prompt of any number of tokens and one for a new
// token; caches of fixed sizes; state other than keys and values of layers; inputs that it has nothing for.
Result<GenaiConfig, Error> genai_config(const PhasesReport& report,
                                        std::span<const std::string> given);

// ---- print text ----
//
// A model, or a split, as readable text: one line per node.
//
//   %relu: float32[1, 64, 56, 56] = torch.relu(%conv1) {inplace=1}
//   %out: float32[1, 64, 56, 56]  = Conv(%x, %w, _, bias=%b) {group=2}  # conv_17
//
// A node's name follows # when its output has another name; _ is a literal, or an input left out;
// parameters that a module owns follow a semicolon.

// What the graph's outputs are besides results: "next value of buffer state" where a program writes its own state, else
// "". In the order of the outputs.
std::vector<std::string> output_notes(const LoadedModel& model);

// Inputs, parameters, constants, nodes with their bodies, outputs with output_notes(). Linear.
std::string print_model(const Graph& graph, std::span<const std::string> output_notes = {});

// The calls of the root, constants that several partitions need, then each partition: its device,
// inputs, outputs, parameters, its own constants, nodes. Linear; constants count once a partition.
std::string print_split(const Graph& graph, const Partition& partition,
                        const Boundaries& boundaries);

// One partition: its device if given, inputs, outputs, parameters, nodes. Linear in the partition.
std::string print_part(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                       PartId part, std::string_view device = {});

}  // namespace cleave
