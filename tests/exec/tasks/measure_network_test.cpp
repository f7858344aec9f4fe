// SPDX-License-Identifier: Apache-2.0
// Measured figures of a network are checked for sense, not for size.
#include "exec/measure/measure_network.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "core/base/clock.h"
#include "tests/exec/tasks/tasks_harness.h"

namespace lanescope::exec::test {
namespace {

// One message after the other, all that any process receives.
struct Wire {
  double bytes_per_second;
  std::mutex mutex;
  int64_t free_ns = 0;

  int64_t EndOf(int64_t bytes) {
    const std::lock_guard lock(mutex);
    free_ns = std::max(free_ns, NowNs()) +
              static_cast<int64_t>(1e9 * static_cast<double>(bytes) / bytes_per_second);
    return free_ns;
  }
};

// A message is there once the wire has let it through.
class WireTransport : public lanescope::test::MemoryTransport {
 public:
  WireTransport(lanescope::test::MessageBoard* board, int rank, Wire* wire)
      : MemoryTransport(board, rank), wire_(*wire) {}

  Ticket Receive(int from, int tag, void* data, int64_t bytes) override {
    const Ticket ticket = MemoryTransport::Receive(from, tag, data, bytes);
    received_[ticket] = {bytes, 0};
    return ticket;
  }
  bool Test(Ticket ticket) override {
    const auto message = received_.find(ticket);
    if (message == received_.end()) return MemoryTransport::Test(ticket);
    auto& [bytes, end_ns] = message->second;
    if (end_ns == 0 && !MemoryTransport::Test(ticket)) return false;
    if (end_ns == 0) end_ns = wire_.EndOf(bytes);
    if (NowNs() < end_ns) return false;
    received_.erase(message);
    return true;
  }

 private:
  struct Received {
    int64_t bytes, end_ns;
  };
  Wire& wire_;
  std::map<Ticket, Received> received_;
};

// Rates of an interface by every process of a job of `ranks`.
std::vector<double> RatesOf(int ranks, const std::vector<int>& inside, bool receives, Wire* wire) {
  lanescope::test::MessageBoard board(ranks);
  std::vector<double> rates(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      WireTransport transport(&board, rank, wire);
      rates[static_cast<size_t>(rank)] = MeasureInterface(&transport, inside, receives, 40'000, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rates;
}

// Law: an interface is measured with all its messages under way at once, so that it is never said to carry
// more than it does, and all processes say the same. Four messages of 40 kB at 10 MB/s are 16 ms.
TEST(MeasureInterface, CarriesNoMoreThanItsWire) {
  for (const bool receives : {false, true}) {
    Wire wire{1e7, {}, 0};
    const std::vector<double> rates = RatesOf(4, {1, 3}, receives, &wire);
    for (const double rate : rates) EXPECT_EQ(rate, rates[0]);
    EXPECT_GT(rates[0], 0);
    EXPECT_LE(rates[0], 1e7);
  }
}

TEST(MeasureInterface, OfAllProcessesSendsNothing) {
  Wire wire{1e7, {}, 0};
  EXPECT_EQ(RatesOf(2, {0, 1}, false, &wire), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace lanescope::exec::test
