#include "core/schedule/dispatch.h"

#include <gtest/gtest.h>

namespace lanescope {
namespace {

std::vector<Command> CommandsOf(const std::vector<int>& workers) {
  std::vector<Command> commands(workers.size());
  for (size_t c = 0; c < workers.size(); ++c) commands[c].workers = workers[c];
  return commands;
}

TEST(WorkersFor, OneForEveryPiece) {
  EXPECT_EQ(WorkersFor({0, 0}, 4), 1);
  EXPECT_EQ(WorkersFor({0, 8 * kPieceElements}, 4), 1);
  EXPECT_EQ(WorkersFor({0, 8 * 3 * kPieceElements}, 4), 3);
  EXPECT_EQ(WorkersFor({kPieceFlops, 0}, 4), 1);
  EXPECT_EQ(WorkersFor({100 * kPieceFlops, 0}, 4), 4);
  EXPECT_EQ(WorkersFor({100 * kPieceFlops, 0}, 1), 1);
}

// Law: the smallest rank first, and one at a time where the queue has one worker.
TEST(ReadyQueue, OneWorkerRunsOneCommandAtATime) {
  ReadyQueue queue;
  queue.Push(5, 0);
  queue.Push(2, 1);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.CanPop());
  EXPECT_EQ(queue.Pop(), -1);
  queue.Done(1);
  EXPECT_EQ(queue.Pop(), 0);
}

// Law: commands run side by side as long as their workers suffice; none passes one that waits for workers.
TEST(ReadyQueue, WorkersAreShared) {
  const auto commands = CommandsOf({1, 1, 1, 4, 1});
  ReadyQueue queue(nullptr, 3, commands.data());
  for (int c = 0; c < 5; ++c) queue.Push(c, c);
  EXPECT_EQ(queue.Pop(), 0);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), -1);
  queue.Done(1);
  queue.Done(0);
  EXPECT_EQ(queue.Pop(), -1) << "the large one waits for all";
  queue.Done(2);
  EXPECT_EQ(queue.Pop(), 3) << "it takes what there is";
  EXPECT_EQ(queue.Pop(), -1);
  queue.Done(3);
  EXPECT_EQ(queue.Pop(), 4);
  queue.Reset();
  EXPECT_FALSE(queue.CanPop());
  queue.Push(0, 3);
  EXPECT_EQ(queue.Pop(), 3) << "all workers are idle again";
}

TEST(ReadyQueue, InOrderWaitsForTheNextOfItsList) {
  const std::vector<int> order = {2, 0};
  ReadyQueue queue(&order);
  queue.Push(7, 0);
  EXPECT_EQ(queue.Pop(), -1);
  queue.Push(1, 2);
  EXPECT_EQ(queue.Pop(), 2);
  queue.Done(2);
  EXPECT_EQ(queue.Pop(), 0);
}

}  // namespace
}  // namespace lanescope
