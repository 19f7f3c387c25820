// Splits a model with cleave as a library, prints the partitions and why nodes are on the CPU, and
// writes the partitions.
//
// usage: embed MODEL LIST FOLDER [DIM=SIZE]
#include <cleave/cleave.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// What a fault is worth as an exit code: 2 for a wrong request, 3 for an input, 4 for an output.
int refuse(const cleave::Fault& fault) {
  std::fputs(cleave::fault_text(fault).c_str(), stderr);
  if (fault.cause == cleave::FaultCause::request) return 2;
  return fault.cause == cleave::FaultCause::input ? 3 : 4;
}

// "N=8" sets the dim N.
cleave::ReadOptions read_options(const std::string& dim) {
  cleave::ReadOptions options;
  const std::size_t equals = dim.find('=');
  if (equals == dim.npos) return options;
  options.dims.emplace_back(dim.substr(0, equals), std::atoll(dim.c_str() + equals + 1));
  return options;
}

void print(const cleave::PartitionInfo& part) {
  std::printf("%-16s %s %3zu nodes", part.name.c_str(), part.is_acc ? "acc" : "CPU",
              part.nodes.size());
  // Numbers that are unknown have no value: the dim of this input may be open.
  if (part.input_bytes)
    std::printf(" %8llu bytes in", static_cast<unsigned long long>(*part.input_bytes));
  std::putchar('\n');
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: embed MODEL LIST FOLDER [DIM=SIZE]\n", stderr);
    return 2;
  }
  // 1. Read. A fault says what is wrong with which line, and how to mend it.
  const auto model = cleave::Model::read(argv[1], read_options(argc > 4 ? argv[4] : ""));
  if (!model) return refuse(model.error());
  const auto lists = cleave::SupportLists::read({.paths = {argv[2]}});
  if (!lists) return refuse(lists.error());

  // 2. Split. Settings have the names that they have in manifest.json.
  const auto request = cleave::request_of({{"min_acc_module_size", 2}, {"keep_qdq", true}});
  if (!request) return refuse(request.error());
  const auto split = cleave::split_model(*model, *lists, *request);
  if (!split) return refuse(split.error());
  // Also the warnings of the model and the lists.
  std::fputs(cleave::warning_text(split->warnings()).c_str(), stderr);

  // 3. Look.
  const cleave::SplitNumbers numbers = split->numbers();
  std::printf("%zu of %zu nodes on the accelerator, in %zu of %zu partitions\n", numbers.acc_nodes,
              numbers.nodes, numbers.acc_partitions, numbers.partitions);
  for (const cleave::PartitionInfo& part : split->partitions()) print(part);
  for (const cleave::CpuNode& node : split->cpu_nodes()) {
    std::printf("%s is on the CPU: %s\n", node.name.c_str(), node.reason.c_str());
  }

  // 4. Write the partitions as models, with manifest.json.
  const auto written = split->write(argv[3]);
  if (!written) return refuse(written.error());
  for (const std::string& file : written->part_files) std::printf("wrote %s\n", file.c_str());
  return 0;
}
