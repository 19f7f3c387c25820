// The fuzz targets: each takes any bytes, reads them as one kind of input, and checks all
// properties of the result. A target aborts when one fails; it reads and writes only its bytes and
// temporary files, and does the same for the same bytes.
//
// libfuzzer_main.cc makes a libFuzzer program of a target, runner_main.cc runs all of them for a
// bounded count, with any compiler, as a test.
#pragma once

#include <span>
#include <string_view>

namespace cleave::fuzz {

struct Target {
  std::string_view name;  // also that of its folder of seeds and of its dictionary
  void (*run)(std::string_view bytes);
  // How many of 100 runs of the short test are of this target: slow ones get fewer.
  int share;
};

std::span<const Target> targets();

void read_graph(std::string_view bytes);           // native graph JSON
void read_onnx_model(std::string_view bytes);      // ONNX: index, links, types, graph, writers
void read_support(std::string_view bytes);         // support lists, all three formats
void read_relation(std::string_view bytes);        // relations of rules
void read_partition_maps(std::string_view bytes);  // JSON, CSV and TSV
void read_baselines(std::string_view bytes);       // baselines and reports
void read_workloads(std::string_view bytes);       // published placement workloads
void read_config(std::string_view bytes);          // the TOML of `check --config`
void read_tables(std::string_view bytes);          // times of nodes, devices
void read_loss(std::string_view bytes);            // which output is the loss
void read_backend(std::string_view bytes);         // backend files, and their short form
void read_tensor(std::string_view bytes);          // tensors that compilers' programs write
void read_pt2_model(std::string_view bytes);       // torch.export archives, and their programs
void read_archive(std::string_view bytes);         // their containers: directory, tables
void read_pickle(std::string_view bytes);          // pickles of weights, of torch up to 2.8
void read_tflite_model_and_split(std::string_view bytes);  // TensorFlow Lite models
void run_passes(std::string_view bytes);  // graphs, lists and settings made from the bytes

}  // namespace cleave::fuzz
