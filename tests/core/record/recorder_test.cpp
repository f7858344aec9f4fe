// SPDX-License-Identifier: Apache-2.0
#include "core/record/recorder.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lanescope {
namespace {

class CollectingSink : public EventSink {
 public:
  void Consume(std::span<const Event> events) override {
    std::lock_guard lock(mutex_);
    events_.insert(events_.end(), events.begin(), events.end());
  }
  void CountDropped(int64_t records) override {
    std::lock_guard lock(mutex_);
    dropped_ += records;
  }
  std::vector<Event> events() {
    std::lock_guard lock(mutex_);
    return events_;
  }
  int64_t dropped() {
    std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  int64_t dropped_ = 0;
};

Event Numbered(int command, int step = 0) {
  Event event;
  event.command = Id<Command>(command);
  event.step = step;
  event.start_ns = command;
  event.end_ns = command + 1;
  return event;
}

TEST(EventRingTest, KeepsOrderAcrossTheWrap) {
  EventRing ring(4);
  std::vector<Event> out;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(ring.Push(Numbered(i)));
    if (i % 3 == 2) ring.Drain(&out);
  }
  ring.Drain(&out);
  ASSERT_EQ(out.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[static_cast<size_t>(i)].command.number(), i);
}

// capacity 3 rounds up to 4: four are kept, every further one is dropped and counted, and draining makes
// room.
TEST(EventRingTest, CountsWhatDoesNotFit) {
  EventRing ring(3);
  int kept = 0;
  for (int i = 0; i < 7; ++i) kept += ring.Push(Numbered(i));
  EXPECT_EQ(kept, 4);
  EXPECT_EQ(ring.dropped(), 3);
  std::vector<Event> out;
  ring.Drain(&out);
  EXPECT_EQ(out.size(), 4u);
  EXPECT_TRUE(ring.Push(Numbered(7)));
  EXPECT_EQ(ring.dropped(), 3);
}

TEST(RecorderTest, FlushDeliversAllThatWasPushedBefore) {
  CollectingSink sink;
  Recorder recorder(&sink, 1000);
  EventRing* ring = recorder.NewRing();
  for (int round = 1; round <= 20; ++round) {
    ring->Push(Numbered(round));
    recorder.Flush();
    EXPECT_EQ(sink.events().size(), static_cast<size_t>(round));
  }
}

TEST(RecorderTest, DestructionDeliversTheRest) {
  CollectingSink sink;
  {
    Recorder recorder(&sink, 1000);
    recorder.NewRing()->Push(Numbered(1));
  }
  EXPECT_EQ(sink.events().size(), 1u);
}

// Delivered + dropped = pushed, per producer in order, while rings overflow and others are created.
// Law: what goes wrong on the draining thread comes out where the events are waited for, and ends no program.
TEST(RecorderTest, FlushThrowsWhatTheSinkThrew) {
  class FullSink : public EventSink {
   public:
    void Consume(std::span<const Event>) override { throw std::bad_alloc(); }
    void CountDropped(int64_t) override {}
  } sink;
  Recorder recorder(&sink, 1);
  EXPECT_NO_THROW(recorder.Flush());
  recorder.NewRing()->Push(Numbered(0));
  EXPECT_THROW(recorder.Flush(), std::bad_alloc);
  EXPECT_THROW(recorder.Flush(), std::bad_alloc);
}

TEST(RecorderTest, ManyProducersLoseNothingUncounted) {
  constexpr int kThreads = 4, kEvents = 200'000;
  CollectingSink sink;
  {
    Recorder recorder(&sink, 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&recorder, t] {
        EventRing* ring = recorder.NewRing(1024);
        for (int i = 0; i < kEvents; ++i) ring->Push(Numbered(i, t));
      });
    }
    std::thread flusher([&recorder] {
      for (int i = 0; i < 50; ++i) recorder.Flush();
    });
    for (std::thread& thread : threads) thread.join();
    flusher.join();
  }
  const std::vector<Event> events = sink.events();
  EXPECT_EQ(static_cast<int64_t>(events.size()) + sink.dropped(), int64_t{kThreads} * kEvents);
  std::vector<Id<Command>> last(kThreads);
  for (const Event& event : events) {
    EXPECT_GT(event.command, last[static_cast<size_t>(event.step)]);
    last[static_cast<size_t>(event.step)] = event.command;
    EXPECT_EQ(event.end_ns, event.start_ns + 1);
  }
}

TEST(RecorderTest, ReportsDropsOnce) {
  CollectingSink sink;
  Recorder recorder(&sink, 1000);
  EventRing* ring = recorder.NewRing(2);
  for (int i = 0; i < 5; ++i) ring->Push(Numbered(i));
  recorder.Flush();
  recorder.Flush();
  EXPECT_EQ(sink.dropped(), 3);
}

}  // namespace
}  // namespace lanescope
