// OpenMPI by its public names, without its headers: the program runs where it is not installed.

#include "study/mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

class OpenMpi {
 public:
  OpenMpi() {
    // Its components look its symbols up by themselves.
    library_ = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) {
      Throw(Code::kFailedPrecondition,
            "mpirun started this process, but OpenMPI's library is missing ({}); install libopenmpi3 or run "
            "without mpirun",
            dlerror());
    }
    world_ = dlsym(library_, "ompi_mpi_comm_world");
    bytes_ = dlsym(library_, "ompi_mpi_byte");
    ints_ = dlsym(library_, "ompi_mpi_int");
    if (world_ == nullptr || bytes_ == nullptr || ints_ == nullptr)
      Throw(Code::kFailedPrecondition, "libmpi.so.40 is not OpenMPI's");
    Require(Function<int(int*, char***)>("MPI_Init")(nullptr, nullptr), "MPI_Init");
    Require(Function<int(void*, int*)>("MPI_Comm_rank")(world_, &rank_), "MPI_Comm_rank");
    Require(Function<int(void*, int*)>("MPI_Comm_size")(world_, &size_), "MPI_Comm_size");
    on_exit(&End, nullptr);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  std::vector<std::string> Share(const std::string& mine) const {
    using Gather = int(const void*, int, void*, void*, int, void*, void*, void**);
    using GatherV = int(const void*, int, void*, void*, const int*, const int*, void*, void*, void**);
    void* request = nullptr;
    if (mine.size() > INT32_MAX / static_cast<size_t>(size_))
      Throw(Code::kResourceExhausted, "{} bytes are more than ranks can share", mine.size());
    const auto length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<size_t>(size_)), begins(lengths.size(), 0);
    Require(Function<Gather>("MPI_Iallgather")(&length, 1, ints_, lengths.data(), 1, ints_, world_, &request),
            "MPI_Iallgather");
    Await(library_, &request);
    if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) > INT32_MAX)
      Throw(Code::kResourceExhausted, "the ranks share more than 2 GiB at once");
    std::partial_sum(lengths.begin(), lengths.end() - 1, begins.begin() + 1);
    std::string all(static_cast<size_t>(begins.back() + lengths.back()), '\0');
    Require(Function<GatherV>("MPI_Iallgatherv")(mine.data(), length, bytes_, all.data(), lengths.data(),
                                                 begins.data(), bytes_, world_, &request),
            "MPI_Iallgatherv");
    Await(library_, &request);
    std::vector<std::string> shared;
    for (size_t r = 0; r < lengths.size(); ++r)
      shared.push_back(all.substr(static_cast<size_t>(begins[r]), static_cast<size_t>(lengths[r])));
    return shared;
  }

 private:
  template <typename F>
  F* Function(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) Throw(Code::kFailedPrecondition, "libmpi.so.40 has no {}", name);
    return reinterpret_cast<F*>(found);
  }
  static void Require(int status, const char* what) {
    if (status != 0) Throw(Code::kInternal, "{} failed with {}", what, status);
  }
  // Looks now and then whether the request is served: waiting inside of MPI keeps a core busy, which other
  // ranks need.
  static void Await(void* library, void** request) {
    using Test = int(void**, int*, void*);
    auto* test = reinterpret_cast<Test*>(dlsym(library, "MPI_Test"));
    constexpr std::chrono::microseconds kLongest{5000};
    std::chrono::microseconds pause{20};
    for (int served = 0; test != nullptr;) {
      Require(test(request, &served, nullptr), "MPI_Test");  // null: no status is wanted
      if (served != 0) return;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongest);
    }
  }
  // A rank that is done waits for the others. One that failed ends them: they wait for what it will not send.
  static void End(int status, void*) {
    void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    if (status == 0) {
      void* request = nullptr;
      using Barrier = int(void*, void**);
      void* barrier = dlsym(library, "MPI_Ibarrier");
      void* world = dlsym(library, "ompi_mpi_comm_world");
      if (barrier != nullptr && reinterpret_cast<Barrier*>(barrier)(world, &request) == 0)
        Await(library, &request);
      if (void* finalize = dlsym(library, "MPI_Finalize")) reinterpret_cast<int (*)()>(finalize)();
    } else if (void* abort = dlsym(library, "MPI_Abort")) {
      reinterpret_cast<int (*)(void*, int)>(abort)(dlsym(library, "ompi_mpi_comm_world"), status);
    }
  }

  void* library_ = nullptr;
  void* world_ = nullptr;
  void* bytes_ = nullptr;
  void* ints_ = nullptr;
  int rank_ = 0, size_ = 1;
};

// As mpirun says before anything has joined; 0 without it.
int LaunchedRanks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size == nullptr ? 0 : std::atoi(size);
}

}  // namespace

const Ranks& WorldRanks() {
  static const Ranks ranks = [] {
    if (LaunchedRanks() < 2) return Ranks();
    static const OpenMpi mpi;
    return Ranks{mpi.rank(), mpi.size(), [](const std::string& mine) { return mpi.Share(mine); }};
  }();
  return ranks;
}

std::string RankName() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (LaunchedRanks() < 2 || rank == nullptr) return "";
  return fmt::format("rank {} of {}", std::atoi(rank), LaunchedRanks());
}

}  // namespace lanescope::study
