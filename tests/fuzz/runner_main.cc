// Runs every fuzz target for a bounded count, without libFuzzer: on each seed as it is, then on
// changed ones. The same count gives the same inputs everywhere. When a target aborts, the input is
// named; `--show TARGET NUMBER` prints it.
//
//   fuzz_runner SEEDS COUNT               SEEDS/<target>/*, SEEDS/<target>.dict
//   fuzz_runner SEEDS --show TARGET NUMBER
//   fuzz_runner SEEDS --file TARGET FILE  runs that one input
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/fuzz/mutator.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

std::array<char, 256> running;  // printed when a run ends in a signal

void tell_what_was_running(int signal) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, running.data(), strlen(running.data()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> seed_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

// The words of a libFuzzer dictionary: a line "word" each, with \xNN.
std::vector<std::string> words_of(const std::filesystem::path& path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || line.front() != '"' || line.back() != '"') continue;
    std::string word;
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
      if (line[i] == '\\' && line[i + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        if (line[i] == '\\') ++i;
        word += line[i];
      }
    }
    words.push_back(word);
  }
  return words;
}

class Runner {
 public:
  explicit Runner(std::filesystem::path seeds) : seeds_(std::move(seeds)) {}

  void run(const Target& target, std::uint64_t count) {
    const auto begin = std::chrono::steady_clock::now();
    const auto files = seed_files(seeds_ / target.name);
    for (const auto& file : files) run_one(target, file.filename().string(), content_of(file));
    Mutator mutator = mutator_of(target);
    for (std::uint64_t i = 0; i < count; ++i) {
      run_one(target, std::to_string(i), mutator.input(i));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%-14s %6zu seeds %8llu changed ones %7.1f s\n", std::string(target.name).c_str(),
                files.size(), static_cast<unsigned long long>(count), taken.count());
    std::fflush(stdout);
  }

  void show(const Target& target, std::uint64_t number) {
    const std::string input = mutator_of(target).input(number);
    std::cout.write(input.data(), static_cast<std::streamsize>(input.size()));
  }

  static void run_one(const Target& target, const std::string& input_name,
                      const std::string& input) {
    std::snprintf(running.data(), running.size(), "fuzz_runner: in target %s, input %s\n",
                  std::string(target.name).c_str(), input_name.c_str());
    target.run(input);
  }

 private:
  Mutator mutator_of(const Target& target) const {
    std::vector<std::string> seeds;
    for (const auto& file : seed_files(seeds_ / target.name)) seeds.push_back(content_of(file));
    return {std::move(seeds), words_of(seeds_ / (std::string(target.name) + ".dict"))};
  }

  std::filesystem::path seeds_;
};

const Target* target_named(std::string_view name) {
  for (const Target& target : targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

int run_runner(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2) {
    Runner runner(arguments[0]);
    const std::uint64_t count = std::stoull(arguments[1]);
    for (const Target& target : targets()) {
      runner.run(target, count * static_cast<std::uint64_t>(target.share) / 100);
    }
    return 0;
  }
  const Target* const target = arguments.size() == 4 ? target_named(arguments[2]) : nullptr;
  if (target == nullptr) {
    std::fputs("usage: fuzz_runner SEEDS COUNT | --show TARGET NUMBER | --file TARGET FILE\n",
               stderr);
    return 2;
  }
  Runner runner(arguments[0]);
  if (arguments[1] == "--show") {
    runner.show(*target, std::stoull(arguments[3]));
  } else {
    Runner::run_one(*target, arguments[3], content_of(arguments[3]));
  }
  return 0;
}

}  // namespace
}  // namespace cleave::fuzz

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, cleave::fuzz::tell_what_was_running);
  }
  return cleave::fuzz::run_runner({argv + 1, argv + argc});
}
