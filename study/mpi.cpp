#include "study/mpi.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

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

struct World {
  MpiLibrary mpi;
  std::unique_ptr<RankWatch> watch;
  bool separate = false;
  std::atomic<bool> some_are_lost{false};
  std::mutex lost_mutex;
  std::function<void(int rank)> lost;  // while there are separate ranks
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

void NoteLoss(int rank) {
  the_world->some_are_lost.store(true);
  const std::lock_guard lock(the_world->lost_mutex);
  if (the_world->lost) the_world->lost(rank);
}

// A rank that is done waits for the others; meanwhile they hear that it lives.
void End(int status, void*) {
  if (status != 0 && !the_world->separate) return the_world->mpi.EndAll(status);
  // A rank that is gone never comes.
  if (!the_world->mpi.Meet(&the_world->some_are_lost)) _exit(status);
  the_world->watch.reset();
  the_world->mpi.Meet();  // no sign of life is under way any more
  the_world->mpi.Leave();
}

World& TheWorld() {
  if (the_world == nullptr) {
    the_world = new World();  // threads may use it until the process is gone
    on_exit(&End, nullptr);
    std::vector<int> peers;
    for (int rank = 0; rank < the_world->mpi.size(); ++rank) {
      if (rank != the_world->mpi.rank() && (rank == 0 || the_world->mpi.rank() == 0)) peers.push_back(rank);
    }
    the_world->watch = std::make_unique<RankWatch>(&the_world->mpi, peers, kSilenceNs, &EndForSilence);
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

SeparateRanks::SeparateRanks(const std::vector<int>& peers, std::function<void(int rank)> lost) {
  World& world = TheWorld();
  {
    const std::lock_guard lock(world.lost_mutex);
    world.lost = std::move(lost);
  }
  world.mpi.Meet();
  world.watch.reset();
  world.mpi.Meet();  // no sign of life is under way any more
  world.separate = true;
  world.watch = std::make_unique<RankWatch>(&world.mpi, peers, kSilenceNs, &NoteLoss);
}

SeparateRanks::~SeparateRanks() {
  const std::lock_guard lock(the_world->lost_mutex);
  the_world->lost = nullptr;
}

std::string RankName() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (LaunchedRanks() < 2 || rank == nullptr) return "";
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("rank {} of {} on {}", std::atoi(rank), LaunchedRanks(), host.data());
}

std::string OwnCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (char& c : text) c = c == '\0' ? ' ' : c;
  while (text.ends_with(' ')) text.pop_back();
  return Printable(text);
}

}  // namespace lanescope::study
