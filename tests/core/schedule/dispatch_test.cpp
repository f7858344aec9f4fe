// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dispatch.h"

#include <gtest/gtest.h>

#include "core/graph/work_pieces.h"

namespace lanescope {
namespace {

IdVector<CommandId, Command> CommandsOf(const std::vector<int>& workers) {
  IdVector<CommandId, Command> commands(workers.size());
  for (const CommandId c : commands.ids()) commands[c].workers = workers[c.index()];
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
  queue.Push(5, CommandId(0));
  queue.Push(2, CommandId(1));
  EXPECT_EQ(queue.Pop().number(), 1);
  EXPECT_FALSE(queue.CanPop());
  EXPECT_EQ(queue.Pop().number(), -1);
  queue.Done(CommandId(1));
  EXPECT_EQ(queue.Pop().number(), 0);
}

// Law: commands run side by side as long as their workers suffice; none passes one that waits for workers.
TEST(ReadyQueue, WorkersAreShared) {
  const auto commands = CommandsOf({1, 1, 1, 4, 1});
  ReadyQueue queue(nullptr, 3, &commands);
  for (const CommandId c : IdRange<CommandId>(5)) queue.Push(c.number(), c);
  EXPECT_EQ(queue.Pop().number(), 0);
  EXPECT_EQ(queue.Pop().number(), 1);
  EXPECT_EQ(queue.Pop().number(), 2);
  EXPECT_EQ(queue.Pop().number(), -1);
  queue.Done(CommandId(1));
  queue.Done(CommandId(0));
  EXPECT_EQ(queue.Pop().number(), -1) << "the large one waits for all";
  queue.Done(CommandId(2));
  EXPECT_EQ(queue.Pop().number(), 3) << "it takes what there is";
  EXPECT_EQ(queue.Pop().number(), -1);
  queue.Done(CommandId(3));
  EXPECT_EQ(queue.Pop().number(), 4);
  queue.Reset();
  EXPECT_FALSE(queue.CanPop());
  queue.Push(0, CommandId(3));
  EXPECT_EQ(queue.Pop().number(), 3) << "all workers are idle again";
}

TEST(ReadyQueue, InOrderWaitsForTheNextOfItsList) {
  const std::vector<CommandId> order = {CommandId(2), CommandId(0)};
  ReadyQueue queue(&order);
  queue.Push(7, CommandId(0));
  EXPECT_EQ(queue.Pop().number(), -1);
  queue.Push(1, CommandId(2));
  EXPECT_EQ(queue.Pop().number(), 2);
  queue.Done(CommandId(2));
  EXPECT_EQ(queue.Pop().number(), 0);
}

}  // namespace
}  // namespace lanescope
