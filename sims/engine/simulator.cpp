// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/simulator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/huge_pages.h"
#include "core/machine/tasks.h"
#include "core/schedule/stream_issue.h"
#include "core/schedule/task_share.h"
#include "core/time/queue_servers.h"
#include "sims/engine/frozen_order.h"
#include "sims/engine/issued_schedule.h"
#include "sims/engine/simulation_loop.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

struct Simulator::Prepared {
  const Schedule* schedule = nullptr;
  std::optional<IssuedSchedule> issued;
  size_t num_commands = 0, num_queues = 0;  // of the schedule that costs are given for
  SimulationPlan plan;
  SimulationScratch scratch;
  std::optional<FrozenOrder> frozen;
  int passes = 0, refused = 0;
  SimulationResult result;  // of runs that are asked for their step time alone
};

namespace {

// The first time in huge pages: both are touched in the order of virtual time.
template <typename T>
void ResizeInHugePages(size_t count, IdVector<CommandId, T>* table) {
  if (table->empty()) {
    table->reserve(count);
    PreferHugePages(table->data(), count * sizeof(T));
  }
  table->resize(count);
}

void PlanTasks(const Schedule& schedule, SimulationPlan* plan) {
  const size_t total = schedule.commands.size();
  LANESCOPE_CHECK(schedule.successors.size() == total && schedule.num_predecessors.size() == total);
  ResizeInHugePages(total, &plan->tasks);
  plan->successors = schedule.successors.items.data();
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    plan->tasks[c] = {.pending = schedule.num_predecessors[c],
                      .queue = command.queue,
                      .first_successor = schedule.successors.first[c.index()],
                      .end_successor = schedule.successors.first[c.index() + 1]};
    const bool nothing = !schedule.issue.empty() && schedule.issue[c] == StreamIssue::kNothing;
    if (command.is_work() && !nothing) continue;
    if (plan->sync.empty()) plan->sync.assign(total, 0);
    plan->sync[c] = 1;
  }
}

// The commands of an in-order queue run as they are numbered, those of others by rank and then by number.
void PlanOrders(const Schedule& schedule, SimulationPlan* plan) {
  plan->orders.resize(schedule.queues.size());
  for (const CommandId c : schedule.commands.ids()) plan->orders[schedule.commands[c].queue].push_back(c);
  const auto before = [&](CommandId a, CommandId b) {
    const int of_a = schedule.commands[a].rank, of_b = schedule.commands[b].rank;
    return of_a != of_b ? of_a < of_b : a < b;
  };
  for (const QueueId q : schedule.queues.ids()) {
    std::vector<CommandId>& order = plan->orders[q];
    plan->in_order.Add(schedule.queues[q].in_order);
    if (!schedule.queues[q].in_order && !std::is_sorted(order.begin(), order.end(), before))
      std::sort(order.begin(), order.end(), before);
    for (size_t i = 0; i < order.size(); ++i) plan->tasks[order[i]].position = static_cast<int>(i);
  }
}

// No more than the queue has commands, or workers.
int NumServers(const Queue& queue, const DeviceSpec& device, size_t commands) {
  const int servers = QueueServers(device, queue.kind, queue.workers);
  return std::min(servers, std::max({1, queue.workers, static_cast<int>(commands)}));
}

// Queues from number `drivers` on issue the streams of others.
void PlanServers(const Schedule& schedule, const Machine& machine, const Delays& delays, size_t drivers,
                 SimulationPlan* plan) {
  for (const QueueId q : schedule.queues.ids()) {
    const Queue& queue = schedule.queues[q];
    const DeviceSpec& device = machine.device(queue.device);
    Server server;
    server.queue = q;
    server.device = queue.device;
    server.kind = q.index() < drivers ? QueueClassOf(queue.kind, device) : QueueClass::kDriver;
    server.cores = queue.workers > 1 ? 1 : device.workers;
    server.gap = TicksOf(delays.gap(device.kind, server.kind));
    server.wake = TicksOf(delays.wake(device.kind, server.kind));
    const auto first = static_cast<int>(plan->servers.size());
    const int servers = NumServers(queue, device, plan->orders[q].size());
    plan->servers.insert(plan->servers.end(), static_cast<size_t>(servers), server);
    plan->servers_of.Add({first, static_cast<int>(plan->servers.size())});
  }
  plan->first_progress_thread = static_cast<int>(plan->servers.size());
  for (size_t from = 0; from < kNumQueueClasses; ++from) {
    for (size_t to = 0; to < kNumQueueClasses; ++to) {
      plan->handoff[from][to] = TicksOf(delays.handoff_ns[from][to]);
      plan->any_handoff |= plan->handoff[from][to] > 0;
    }
  }
  plan->step_start = TicksOf(delays.step_start_ns);
  plan->step_finish = TicksOf(delays.step_finish_ns);
}

// The streams of logical devices of one GPU, where more than one device has any.
void PlanFrontEnd(const Schedule& schedule, const Machine& machine, const FrontEndLooks& looks,
                  const IssuedSchedule& issued, size_t drivers, SimulationPlan* plan) {
  if (looks.between == 0) return;
  std::map<int, int> numbers;
  for (const QueueId q : schedule.queues.ids()) {
    const DeviceSpec& device = machine.device(schedule.queues[q].device);
    const bool shares = q.index() < drivers && device.kind == DeviceKind::kLogical && device.physical >= 0 &&
                        IsStream(schedule.queues[q], machine);
    plan->gpu_of.Add(shares ? numbers.emplace(device.physical, static_cast<int>(numbers.size())).first->second
                            : -1);
    plan->computes.Add(schedule.queues[q].kind == QueueKind::kCompute);
  }
  plan->gpus = static_cast<int>(numbers.size());
  plan->issued = &issued.issued();
  plan->front_end = looks;
}

// Which successors are told by a message without content.
void PlanSignals(const Schedule& schedule, const Machine& machine, const Delays& delays,
                 SimulationPlan* plan) {
  if (delays.signal_ns == 0) return;
  const MachineTasks tasks = TasksOf(machine);
  if (tasks.size() < 2) return;
  plan->signal = TicksOf(delays.signal_ns);
  plan->any_handoff = true;
  plan->signals.assign(schedule.successors.items.size(), 0);
  for (const CommandId c : schedule.commands.ids()) {
    const TaskEnds ends = EndsOf(schedule, tasks, c);
    for (int s = plan->tasks[c].first_successor; s < plan->tasks[c].end_successor; ++s)
      plan->signals[static_cast<size_t>(s)] = NeedsSignal(ends, EndsOf(schedule, tasks, plan->successors[s]));
  }
}

// One for each task.
void PlanProgressThreads(const Schedule& schedule, const Machine& machine, const Delays& delays,
                         SimulationPlan* plan) {
  if (delays.message_overhead_ns == 0) return;
  const MachineTasks tasks = TasksOf(machine);
  if (tasks.size() < 2) return;
  plan->message_ends.resize(schedule.commands.size());
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kCopy) continue;
    const TaskEnds ends = EndsOf(schedule, tasks, c);
    if (ends.from == ends.to) continue;
    const double copying = delays.message_byte_ns * static_cast<double>(command.bytes);
    const auto copying_ns = static_cast<int64_t>(std::min(copying, static_cast<double>(kMaxSimulatedNs)));
    plan->message_ends[c] = {plan->first_progress_thread + ends.from, plan->first_progress_thread + ends.to,
                             TicksOf(delays.message_overhead_ns),
                             TicksOf(delays.message_overhead_ns + copying_ns)};
  }
  for (const DeviceId host : tasks.hosts) {
    Server progress_thread;
    progress_thread.device = host;
    plan->servers.push_back(progress_thread);
  }
}

void PlanCopies(const Schedule& schedule, const Machine& machine, SimulationPlan* plan) {
  plan->links = LinkPaths(machine);
  plan->path_of.assign(schedule.commands.size(), LinkPaths::kNone);
  plan->bytes.assign(schedule.commands.size(), 0);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kCopy) continue;
    const DeviceId src = schedule.CopySource(command);
    const DeviceId dst = schedule.CopyDestination(command);
    if (src == dst) continue;
    plan->path_of[c] = plan->links.Find(machine, src, dst);
    plan->bytes[c] = command.bytes;
  }
  if (plan->links.empty()) {
    plan->path_of.clear();
    plan->bytes.clear();
  }
}

void PlanInterference(const Machine& machine, const Interference& interference, SimulationPlan* plan) {
  const Computers computers(interference.other_computers);
  std::map<std::pair<int, int>, int> numbers;  // by computer and domain there
  for (size_t l = 0; l < plan->servers.size(); ++l) {
    const Server& server = plan->servers[l];
    const DeviceSpec& device = machine.device(server.device);
    const int domain = InterferenceDomain(device);
    // A message takes no cores but those of its progress threads.
    const bool message = server.kind == QueueClass::kMessage && !plan->message_ends.empty();
    if (domain < 0 || message || server.kind == QueueClass::kDriver) continue;
    const int computer = computers.NumberOf(device);
    const auto [found, added] =
        numbers.try_emplace({computer, domain}, static_cast<int>(plan->domains.size()));
    if (added) {
      plan->domains.push_back(domain == kHostDomain ? HostMatrix(interference, computer) : interference.gpu);
      plan->domain_servers.emplace_back();
    }
    plan->servers[l].domain = found->second;
    plan->domain_servers[static_cast<size_t>(found->second)].push_back(static_cast<int>(l));
  }
}

void CheckCosts(const CommandCosts& costs, size_t commands) {
  const auto fits = [&](const auto& list) { return list.empty() || list.size() == commands; };
  if (costs.ns.size() != commands || !fits(costs.classes) || !fits(costs.cores)) {
    Throw(Code::kInvalidArgument, "{} costs for {} commands; give one each", costs.ns.size(), commands);
  }
  for (const CommandId c : costs.ns.ids()) {
    if (costs.ns[c] >= 0 && costs.ns[c] <= kMaxSimulatedNs) continue;
    Throw(Code::kInvalidArgument, "command {} costs {} ns; costs lie between 0 and 26 days", c.number(),
          costs.ns[c]);
  }
}

template <bool kShared, bool kInterfere>
void RunLoop(const SimulationPlan& plan, SimulationScratch* scratch, const CommandCosts& costs,
             SimulationResult* result) {
  SimulationLoop<kShared, kInterfere> loop(plan, scratch, costs, result);
  result->step_ns = NsOf(loop.Run() + plan.step_finish);
}

}  // namespace

Simulator::Simulator(const Schedule& original, const Machine& machine, const SimulationModel& model)
    : prepared_(std::make_unique<Prepared>()) {
  prepared_->num_commands = original.commands.size();
  prepared_->num_queues = original.queues.size();
  if (model.issue && !original.issue.empty()) prepared_->issued.emplace(original, machine, *model.issue);
  const Schedule& schedule = prepared_->issued ? prepared_->issued->schedule() : original;
  prepared_->schedule = &schedule;
  SimulationPlan* plan = &prepared_->plan;
  PlanTasks(schedule, plan);
  for (size_t c = prepared_->num_commands; c < schedule.commands.size(); ++c)
    plan->tasks[CommandId(c)].duration = TicksOf(prepared_->issued->issue_ns()[CommandId(c)]);
  PlanOrders(schedule, plan);
  PlanServers(schedule, machine, model.delays, prepared_->num_queues, plan);
  if (prepared_->issued) {
    PlanFrontEnd(schedule, machine, model.front_end, *prepared_->issued, prepared_->num_queues, plan);
  }
  PlanSignals(schedule, machine, model.delays, plan);
  PlanProgressThreads(schedule, machine, model.delays, plan);
  if (model.share_links) PlanCopies(schedule, machine, plan);
  if (model.interference) PlanInterference(machine, *model.interference, plan);
  SimulationScratch* scratch = &prepared_->scratch;
  scratch->ahead.resize(schedule.queues.size());
  for (const QueueId q : schedule.queues.ids()) {
    const Queue& queue = schedule.queues[q];
    const std::vector<CommandId>* order = &plan->orders[q];
    scratch->ready.Add(BasicReadyQueue(queue.in_order ? order : nullptr,
                                       NumServers(queue, machine.device(queue.device), order->size()),
                                       &schedule.commands, ReadyAhead(order, &scratch->ahead[q])));
  }
}

Simulator::~Simulator() = default;

void Simulator::Run(const CommandCosts& costs, SimulationResult* result) {
  const SimulationPlan& plan = prepared_->plan;
  SimulationScratch* scratch = &prepared_->scratch;
  CheckCosts(costs, prepared_->num_commands);
  ResizeInHugePages(plan.tasks.size(), &scratch->tasks);
  for (const CommandId c : costs.ns.ids()) {
    scratch->tasks[c] = plan.tasks[c];
    scratch->tasks[c].duration = TicksOf(costs.ns[c]);
  }
  for (size_t c = costs.ns.size(); c < plan.tasks.size(); ++c)
    scratch->tasks[CommandId(c)] = plan.tasks[CommandId(c)];
  for (auto& ready : scratch->ready) ready.Reset();
  ResizeInHugePages(plan.tasks.size(), &result->times);
  result->queue_busy_ns.assign(plan.servers_of.size(), 0);
  const bool shared = !plan.links.empty();
  const bool interfere = !plan.domains.empty();
  if (shared) {
    interfere ? RunLoop<true, true>(plan, scratch, costs, result)
              : RunLoop<true, false>(plan, scratch, costs, result);
  } else {
    interfere ? RunLoop<false, true>(plan, scratch, costs, result)
              : RunLoop<false, false>(plan, scratch, costs, result);
  }
  result->times.resize(prepared_->num_commands);
  result->queue_busy_ns.resize(prepared_->num_queues);
}

void Simulator::Freeze(const SimulationResult& result) {
  prepared_->frozen.reset();
  prepared_->passes = prepared_->refused = 0;
  if (FrozenOrder::Applies(prepared_->plan) && !prepared_->issued)
    prepared_->frozen.emplace(prepared_->plan, prepared_->schedule->commands, result.times);
}

int64_t Simulator::StepNs(const CommandCosts& costs) {
  constexpr int kMostRefused = 8;  // and twice as many passes: then trying costs more than it saves
  Prepared& own = *prepared_;
  if (own.frozen && own.refused <= kMostRefused + 2 * own.passes) {
    CheckCosts(costs, own.num_commands);
    if (const std::optional<Ticks> last = own.frozen->LastEnd(costs)) {
      ++own.passes;
      return NsOf(*last + own.plan.step_finish);
    }
    ++own.refused;
  }
  Run(costs, &own.result);
  return own.result.step_ns;
}

int Simulator::passes() const { return prepared_->passes; }

SimulationResult Simulate(const Schedule& schedule, const Machine& machine, const CommandCosts& costs,
                          const SimulationModel& model) {
  SimulationResult result;
  Simulator(schedule, machine, model).Run(costs, &result);
  return result;
}

bool RunsNothing(const Schedule& schedule, CommandId command) {
  return !schedule.issue.empty() && schedule.issue[command] == StreamIssue::kNothing;
}

std::vector<Event> EventsOfStep(const Schedule& schedule, const SimulationResult& result, int step,
                                int64_t begin_ns) {
  std::vector<Event> events;
  events.reserve(schedule.commands.size() + 1);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (!command.is_work() || RunsNothing(schedule, c)) continue;
    events.push_back({.start_ns = begin_ns + result.times[c].start_ns,
                      .end_ns = begin_ns + result.times[c].end_ns,
                      .bytes = command.kind == CommandKind::kCopy ? command.bytes : 0,
                      .command = c,
                      .step = step});
  }
  events.push_back(
      {.start_ns = begin_ns, .end_ns = begin_ns + result.step_ns, .step = step, .kind = EventKind::kStep});
  return events;
}

void PublishSteps(const Schedule& schedule, const SimulationResult& result, int steps, int64_t origin_ns,
                  EventSink* sink) {
  for (int step = 0; step < steps; ++step)
    sink->Consume(EventsOfStep(schedule, result, step, origin_ns + step * result.step_ns));
}

}  // namespace lanescope::sims
