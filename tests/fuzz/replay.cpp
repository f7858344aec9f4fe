// replay MUTATIONS FILE-OR-FOLDER...: gives every file, its binary form where it is a graph in text form, and
// MUTATIONS random changes of them to LLVMFuzzerTestOneInput. The random numbers are the same in every run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/graph_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lanescope {
namespace {

// Larger inputs take longer and find nothing that small ones do not.
constexpr size_t kMaxSeedBytes = 40'000;

void Run(const std::string& input) {
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
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string Next() {
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
  std::mt19937_64 random_{20180429};
};

int Replay(int mutations, const std::vector<std::string>& paths) {
  std::vector<std::string> seeds = ReadSeeds(paths);
  for (const std::string& seed : seeds) Run(seed);
  std::erase_if(seeds, [](const std::string& seed) { return seed.size() > kMaxSeedBytes; });
  if (seeds.empty()) {
    std::fprintf(stderr, "error: InvalidArgument: no corpus file of up to %zu bytes\n", kMaxSeedBytes);
    return 1;
  }
  Mutator mutator(seeds);
  for (int i = 0; i < mutations; ++i) Run(mutator.Next());
  std::printf("%zu seeds, %d mutations\n", seeds.size(), mutations);
  return 0;
}

}  // namespace
}  // namespace lanescope

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MUTATIONS FILE-OR-FOLDER...\n", argv[0]);
    return 2;
  }
  return lanescope::Replay(std::atoi(argv[1]), {argv + 2, argv + argc});
}
