// SPDX-License-Identifier: Apache-2.0
#include "study/job/mpi.h"

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
#include "study/job/mpi_library.h"
#include "study/job/rank_watch.h"

namespace lanescope::study {
namespace {

constexpr int64_t kSilenceNs = 10'000'000'000;

int Number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? -1 : std::atoi(text);
}

// The launch of this process, as is said before anything has joined; -1: nothing. mpirun sets
// OpenMPI's variables; with srun and its plug-in OpenMPI does so itself once it has joined, and those of
// Slurm's step are there.
struct Launch {
  bool by_mpirun = false;
  int rank = -1, ranks = -1, ranks_here = -1;  // on this computer

  // A computer's processes need no network.
  bool OnOneComputer() const { return ranks_here == ranks; }
};

Launch OwnLaunch() {
  Launch launch{true, Number("OMPI_COMM_WORLD_RANK"), Number("OMPI_COMM_WORLD_SIZE"),
                Number("OMPI_COMM_WORLD_LOCAL_SIZE")};
  if (launch.ranks >= 0) return launch;
  // A shell that srun started (--pty) passes them on to what runs in it alone.
  if (isatty(STDIN_FILENO) != 0) return launch;
  launch = {false, Number("SLURM_PROCID"), Number("SLURM_STEP_NUM_TASKS"), -1};
  if (Number("SLURM_STEP_NUM_NODES") == 1) launch.ranks_here = launch.ranks;
  return launch;
}

// Else each would run all of it, and write the same files.
void RequireMeeting(const Launch& launch) {
  if (launch.by_mpirun || std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr) return;
  Throw(Code::kFailedPrecondition,
        "srun started {} processes and nothing by which they find each other: give it --mpi=pmix (srun "
        "--mpi=list shows what it has), start them by mpirun, or unset SLURM_STEP_NUM_TASKS for runs that "
        "have nothing to do with each other",
        launch.ranks);
}

struct World {
  MpiLibrary mpi{OwnLaunch().OnOneComputer()};
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
    the_world->mpi.Greet();  // before anything of what a protocol says is sent
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
    const Launch launch = OwnLaunch();
    if (launch.ranks < 2) return Ranks();
    RequireMeeting(launch);
    MpiLibrary& mpi = TheWorld().mpi;
    if (mpi.size() != launch.ranks) {
      Throw(Code::kFailedPrecondition,
            "{} processes were started, but OpenMPI joins {}: start them by the mpirun that belongs to the "
            "OpenMPI installed here, or by srun with a plug-in that it knows",
            launch.ranks, mpi.size());
    }
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
  const Launch launch = OwnLaunch();
  if (launch.ranks < 2 || launch.rank < 0) return "";
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("rank {} of {} on {}", launch.rank, launch.ranks, host.data());
}

std::string OwnCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (char& c : text) c = c == '\0' ? ' ' : c;
  while (text.ends_with(' ')) text.pop_back();
  return Printable(text);
}

}  // namespace lanescope::study
