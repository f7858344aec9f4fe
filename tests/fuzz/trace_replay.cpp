// trace_replay MUTATIONS: gives small exports of every version to LLVMFuzzerTestOneInput, and MUTATIONS
// random changes of them: bytes anywhere, and values of columns, which keep the database sound. The random
// numbers are the same in every run.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "tests/traces/nsys_export.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lanescope {
namespace {

constexpr const char* kValues[] = {
    "NULL", "0",    "-1",    "1 << 62", "-(1 << 62)", "9223372036854775807",
    "'x'",  "1e30", "x'00'", "500",     "1 << 31",    "-9223372036854775807 - 1"};

class Replayer {
 public:
  Replayer()
      : folder_(std::filesystem::temp_directory_path() / ("lanescope_replay_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Replayer() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  void Run(int mutations) {
    for (const ExportVersion& version : ExportVersions()) {
      const std::string path = (folder_ / (version.name + ".db")).string();
      WriteTwoProcesses(path, version);
      seeds_.push_back(ReadFile(path));
      Give(seeds_.back());
    }
    for (int i = 0; i < mutations; ++i) Give(i % 2 == 0 ? WithBytesChanged() : WithValuesChanged());
    std::printf("%zu seeds, %d mutations\n", seeds_.size(), mutations);
  }

 private:
  static void Give(const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  size_t Below(size_t end) { return random_() % end; }

  std::string WithBytesChanged() {
    std::string input = seeds_[Below(seeds_.size())];
    for (size_t changes = 1 + Below(20); changes > 0; --changes) {
      input[Below(input.size())] = static_cast<char>(random_());
    }
    return input;
  }

  std::string WithValuesChanged() {
    const std::vector<ExportVersion> versions = ExportVersions();
    const ExportVersion& version = versions[Below(versions.size())];
    const std::string path = (folder_ / "changed.db").string();
    std::filesystem::remove(path);
    WriteTwoProcesses(path, version);
    const std::pair<const char*, const std::vector<std::string>*> tables[] = {
        {"CUPTI_ACTIVITY_KIND_KERNEL", &version.kernel},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", &version.memcpy},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", &version.runtime},
        {"NVTX_EVENTS", &version.nvtx}};
    for (size_t changes = 1 + Below(3); changes > 0; --changes) {
      const auto& [table, columns] = tables[Below(std::size(tables))];
      const std::string& column = (*columns)[Below(columns->size())];
      Database(path, OpenMode::kReadWrite)
          .Execute("PRAGMA synchronous=OFF; UPDATE " + std::string(table) + " SET \"" + column + "\" = " +
                   kValues[Below(std::size(kValues))] + " WHERE rowid % 3 = " + std::to_string(Below(3)));
    }
    return ReadFile(path);
  }

  std::filesystem::path folder_;
  std::vector<std::string> seeds_;
  std::mt19937_64 random_{20201120};
};

}  // namespace
}  // namespace lanescope

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MUTATIONS\n", argv[0]);
    return 2;
  }
  try {
    lanescope::Replayer().Run(std::atoi(argv[1]));
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
