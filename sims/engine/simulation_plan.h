// SPDX-License-Identifier: Apache-2.0
// A schedule as the simulator prepares it once, in the form that its loop reads. Included by simulator.cpp,
// the loop and frozen_order.h alone. Internal to sims.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/link_paths.h"
#include "core/time/ticks.h"
#include "sims/engine/delays.h"
#include "sims/engine/interference.h"
#include "sims/engine/issued_schedule.h"
#include "sims/engine/ready_ahead.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

// A command as the loop touches it. One record of 32 bytes and not one array a field: releasing a command
// reads most of it at a place that is not in the cache.
struct alignas(32) Task {
  int pending = 0;   // dependencies not yet satisfied
  int position = 0;  // in its queue's order
  QueueId queue;
  Ticks duration = 0;  // in the plan: of what is no command
  int first_successor = 0;
  int end_successor = 0;
};

// A place where one command runs at a time: a queue, or one of the workers that a queue's commands share.
struct Server {
  QueueId queue;
  DeviceId device;
  Ticks gap = 0;
  Ticks wake = 0;  // from its queue's first ready command until its driver is awake
  QueueClass kind = QueueClass::kCompute;
  int domain = -1;   // of shared silicon
  double cores = 0;  // host cores that a launch on it keeps busy, where the costs do not say
};

// The servers of a queue.
struct ServerRange {
  int first = 0, end = 0;
};

// The progress threads of a message, as servers, and how long it keeps them busy.
struct MessageEnds {
  int from = -1, to = -1;  // -1: no message
  Ticks sending = 0, receiving = 0;
};

struct SimulationPlan {
  IdVector<CommandId, Task> tasks;
  IdVector<CommandId, char> sync;  // Record or Wait: no gap around it. Empty: there are none
  const CommandId* successors = nullptr;
  std::vector<Server> servers;
  IdVector<QueueId, ServerRange> servers_of;
  IdVector<QueueId, std::vector<CommandId>> orders;  // the commands of every queue by rank
  IdVector<QueueId, char> in_order;
  Ticks handoff[kNumQueueClasses][kNumQueueClasses] = {};
  std::vector<char> signals;  // by place in `successors`: it waits for `signal`. Empty: none does
  Ticks signal = 0;
  bool any_handoff = false;
  Ticks step_start = 0, step_finish = 0;
  // Copies over links; empty without sharing.
  IdVector<CommandId, int> path_of;  // kNone: shares none
  IdVector<CommandId, int64_t> bytes;
  LinkPaths links;
  // Messages keep progress threads busy; empty where that takes nothing. ProgressThreads are the last
  // servers, and have no queue.
  IdVector<CommandId, MessageEnds> message_ends;
  int first_progress_thread = 0;
  // Interference; empty without.
  std::vector<InterferenceMatrix> domains;
  std::vector<std::vector<int>> domain_servers;
  // Streams of logical devices that take turns at a GPU's front end; empty where that takes nothing.
  IdVector<QueueId, int> gpu_of;     // -1: no such stream
  IdVector<QueueId, char> computes;  // whether it takes launches
  int gpus = 0;
  const Rows<IssuedSchedule::Issued, CommandId>* issued = nullptr;
  FrontEndLooks front_end;
};

// Memory that is kept from run to run only to save allocation.
struct SimulationScratch {
  IdVector<CommandId, Task> tasks;
  IdVector<QueueId, CommandId> ahead;  // what `ready` says that comes next
  IdVector<QueueId, BasicReadyQueue<ReadyAhead>> ready;
  IdVector<CommandId, Ticks> ready_at;
};

}  // namespace lanescope::sims
