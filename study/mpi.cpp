#include "study/mpi.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "study/mpi_library.h"
#include "study/rank_watch.h"

namespace lanescope::study {
namespace {

constexpr int64_t kSilenceNs = 10'000'000'000;

// As mpirun says before anything has joined; 0 without it.
int LaunchedRanks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size == nullptr ? 0 : std::atoi(size);
}

std::string OwnCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (char& c : text) c = c == '\0' ? ' ' : c;
  while (text.ends_with(' ')) text.pop_back();
  return Printable(text);
}

struct World {
  MpiLibrary mpi;
  std::unique_ptr<RankWatch> watch;
};

World* the_world = nullptr;

void EndForSilence(int rank) {
  const std::string text = fmt::format(
      "error: DeadlineExceeded: {}: {} has not answered for {} s: it was stopped, or its host or "
      "network is gone: {}\n",
      RankName(), the_world->mpi.NameOf(rank), kSilenceNs / 1'000'000'000, OwnCommand());
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  the_world->mpi.EndAll(1);
  _exit(1);
}

// A rank that is done waits for the others; meanwhile they hear that it lives.
void End(int status, void*) {
  if (status != 0) return the_world->mpi.EndAll(status);
  the_world->mpi.Meet();
  the_world->watch.reset();
  the_world->mpi.Meet();  // no sign of life is under way any more
  the_world->mpi.Leave();
}

World& TheWorld() {
  if (the_world == nullptr) {
    the_world = new World();  // threads may use it until the process is gone
    on_exit(&End, nullptr);
    the_world->watch = std::make_unique<RankWatch>(&the_world->mpi, kSilenceNs, &EndForSilence);
  }
  return *the_world;
}

}  // namespace

const Ranks& WorldRanks() {
  static const Ranks ranks = [] {
    if (LaunchedRanks() < 2) return Ranks();
    MpiLibrary& mpi = TheWorld().mpi;
    return Ranks{mpi.rank(), mpi.size(), [&mpi](const std::string& mine) { return mpi.Share(mine); }};
  }();
  return ranks;
}

exec::Transport* WorldTransport() { return WorldRanks().size > 1 ? &TheWorld().mpi : nullptr; }

std::string RankName() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (LaunchedRanks() < 2 || rank == nullptr) return "";
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("rank {} of {} on {}", std::atoi(rank), LaunchedRanks(), host.data());
}

}  // namespace lanescope::study
