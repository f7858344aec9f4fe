// SPDX-License-Identifier: Apache-2.0
#include "study/job/doorbells.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/base/futex.h"

namespace lanescope::study {
namespace {

// Nobody guesses it, and no other computer has it. Empty: there is no randomness.
std::string NewName() {
  std::array<uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return "";
  return fmt::format("/lanescope-{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace

Doorbells::Doorbells(int rank, const std::function<std::vector<std::string>(const std::string&)>& share)
    : rank_(rank) {
  std::string name = NewName();
  Bell* own = nullptr;
  if (!name.empty()) {
    const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    // Not ftruncate: where the file system is full the first ring would be a SIGBUS.
    if (file >= 0 && posix_fallocate(file, 0, sizeof(Bell)) == 0) own = Map(file);
    if (file >= 0) close(file);
    if (own == nullptr && file >= 0) shm_unlink(name.c_str());
    if (own == nullptr) name.clear();
  }
  const std::vector<std::string> names = share(name);
  bells_.assign(names.size(), nullptr);
  size_t found = 0;
  for (size_t other = 0; other < names.size(); ++other) {
    if (static_cast<int>(other) == rank_) {
      bells_[other] = own != nullptr ? own : &own_;
    } else if (!names[other].empty()) {
      const int file = shm_open(names[other].c_str(), O_RDWR | O_CLOEXEC, 0600);
      if (file >= 0) bells_[other] = Map(file);
      if (file >= 0) close(file);
    }
    found += bells_[other] != nullptr;
  }
  const std::vector<std::string> all = share(found == names.size() ? "all" : "");
  all_ring_ = own != nullptr && std::ranges::count(all, "all") == static_cast<ptrdiff_t>(all.size());
  if (!name.empty()) shm_unlink(name.c_str());
}

Doorbells::~Doorbells() {
  for (Bell* bell : mapped_) munmap(bell, sizeof(Bell));
}

// New memory is all zero, as a bell is that has not rung.
Doorbells::Bell* Doorbells::Map(int file) {
  void* memory = mmap(nullptr, sizeof(Bell), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  mapped_.push_back(static_cast<Bell*>(memory));
  return mapped_.back();
}

uint32_t Doorbells::count() const {
  return bells_[static_cast<size_t>(rank_)]->count.load(std::memory_order_acquire);
}

void Doorbells::Await(uint32_t seen, int64_t until_ns) {
  Bell& bell = *bells_[static_cast<size_t>(rank_)];
  // A ringer looks for sleepers after it has counted up, and the system looks at the count again.
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (bell.count.load(std::memory_order_seq_cst) == seen) FutexWait(bell.count, seen, until_ns);
  bell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Doorbells::Ring(int rank) {
  Bell* bell = bells_[static_cast<size_t>(rank)];
  if (bell == nullptr) return;
  bell->count.fetch_add(1, std::memory_order_seq_cst);
  if (bell->sleepers.load(std::memory_order_seq_cst) != 0) FutexWake(bell->count);
}

}  // namespace lanescope::study
