// SPDX-License-Identifier: Apache-2.0
// replay MUTATIONS SEED...: gives every file, its binary form where it is a graph in text form, and MUTATIONS
// random changes of them to LLVMFuzzerTestOneInput. A seed is a file, a folder, or random:LENGTH: then half
// of the MUTATIONS are random bytes, at most LENGTH. The random numbers are the same in every run.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/graph/graph_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lanescope {
namespace {

// Larger inputs take longer and find nothing that small ones do not.
constexpr size_t kMaxSeedBytes = 40'000;

// The input being tried: a crash leaves it in a file, which reproduces the crash as the only seed.
const std::string* current_input = nullptr;
char crash_file[4096];

void KeepInput(int signal_number) {
  signal(signal_number, SIG_DFL);
  const int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (const int to : {file, STDERR_FILENO}) {
    const std::string_view bytes = to == file ? std::string_view(*current_input) : "the input is kept in ";
    if (write(to, bytes.data(), bytes.size()) < 0) break;
  }
  if (write(STDERR_FILENO, crash_file, strlen(crash_file)) > 0 && write(STDERR_FILENO, "\n", 1) > 0)
    close(file);
  raise(signal_number);
}

void KeepInputsThatCrash(const std::string& program) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            (std::filesystem::path(program).filename().string() + ".crash"))
                               .string();
  path.copy(crash_file, sizeof crash_file - 1);
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGALRM}) signal(number, KeepInput);
}

void Run(const std::string& input) {
  constexpr unsigned kPatienceSeconds = 60;
  current_input = &input;
  alarm(kPatienceSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void AddFile(const std::filesystem::path& path, std::vector<std::string>* seeds) {
  seeds->push_back(ReadFile(path.string()));
  if (path.extension() == ".pbtxt") seeds->push_back(GraphToBinary(ParseGraphText(seeds->back())));
}

std::vector<std::string> ReadSeeds(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const auto& file : files) AddFile(file, &seeds);
  return seeds;
}

class Mutator {
 public:
  // `random_length`: of random bytes; 0: none.
  Mutator(const std::vector<std::string>& seeds, size_t random_length)
      : seeds_(seeds), random_length_(random_length) {}

  std::string Next() {
    if (random_length_ > 0 && (seeds_.empty() || Below(2) == 0)) {
      std::string bytes(Below(random_length_ + 1), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_());
      return bytes;
    }
    std::string input = seeds_[Below(seeds_.size())];
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(&input);
    return input;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string* input) {
    const size_t at = Below(input->size());
    const size_t length = 1 + Below(16);
    switch (Below(6)) {
      case 0:
        if (!input->empty()) (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (!input->empty()) (*input)[at] = static_cast<char>(Below(256));
        break;
      case 2:
        input->erase(at, length);
        break;
      case 3:
        input->insert(at, input->substr(Below(input->size()), length));
        break;
      case 4:
        input->resize(at);
        break;
      default: {
        const std::string& other = seeds_[Below(seeds_.size())];
        input->insert(at, other.substr(Below(other.size()), length * 8));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  const size_t random_length_;
  std::mt19937_64 random_{20180429};
};

int Replay(int mutations, std::vector<std::string> paths) {
  size_t random_length = 0;
  std::erase_if(paths, [&](const std::string& path) {
    constexpr std::string_view kRandom = "random:";
    if (!path.starts_with(kRandom)) return false;
    random_length = std::stoul(path.substr(kRandom.size()));
    return true;
  });
  std::vector<std::string> seeds = ReadSeeds(paths);
  for (const std::string& seed : seeds) Run(seed);
  std::erase_if(seeds, [](const std::string& seed) { return seed.size() > kMaxSeedBytes; });
  if (seeds.empty() && random_length == 0) {
    std::fprintf(stderr, "error: InvalidArgument: no corpus file of up to %zu bytes\n", kMaxSeedBytes);
    return 1;
  }
  Mutator mutator(seeds, random_length);
  for (int i = 0; i < mutations; ++i) Run(mutator.Next());
  std::printf("%zu seeds, %d mutations\n", seeds.size(), mutations);
  return 0;
}

}  // namespace
}  // namespace lanescope

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MUTATIONS SEED...\n", argv[0]);
    return 2;
  }
  lanescope::KeepInputsThatCrash(argv[0]);
  return lanescope::Replay(std::atoi(argv[1]), {argv + 2, argv + argc});
}
