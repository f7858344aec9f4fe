// SPDX-License-Identifier: Apache-2.0
// Compares makespans with SimGrid on random graphs with shared links. Not part of the build:
//   apt-get install libsimgrid-dev
//   g++ -std=c++20 -O2 -I. bench/peers/simgrid_makespan.cpp BUILD/sims/liblanescope_sims.a
//       BUILD/core/liblanescope_core.a -lsimgrid -lfmt -lprotobuf -o simgrid_makespan
//   ./simgrid_makespan OPS SEED --cfg=network/model:CM02 --cfg=network/crosstraffic:0
//       --cfg=network/TCP-gamma:0 --cfg=surf/precision:1e-12 --cfg=maxmin/precision:1e-9
// SimGrid's default precisions (1e-5) are coarser than the comparison. Its CM02 weights flows by their
// latency, so all routes have the same one here. The order on a queue is given to SimGrid as dependencies.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <vector>

#include "sims/engine/simulator.h"
#include "tests/sims/schedule_maker.h"

namespace {

namespace sg = simgrid::s4u;
using lanescope::CommandId;
using lanescope::CommandKind;
using lanescope::DeviceId;
using lanescope::Machine;
using lanescope::Schedule;

std::vector<sg::Host*> BuildPlatform(sg::Engine* engine, const Machine& machine) {
  sg::NetZone* zone = sg::create_full_zone("star");
  std::vector<sg::Link*> resources;
  for (int r = 0; r < machine.num_resources(); ++r) {
    const bool link = static_cast<size_t>(r) < 2 * machine.links.size();
    const double latency =
        link ? static_cast<double>(machine.links[static_cast<size_t>(r) / 2].latency_ns) * 1e-9 : 0;
    resources.push_back(zone->create_link("r" + std::to_string(r), machine.ResourceBandwidth(r))
                            ->set_latency(latency)
                            ->seal());
  }
  std::vector<sg::Host*> hosts;
  for (const DeviceId d : machine.devices.ids())
    hosts.push_back(zone->create_host("d" + std::to_string(d.number()), 1e9));
  for (const DeviceId a : machine.Gpus()) {
    for (const DeviceId b : machine.Gpus()) {
      if (a == b) continue;
      std::vector<sg::LinkInRoute> route;
      for (const int r : machine.RouteBetween(a, b).resources)
        route.emplace_back(resources[static_cast<size_t>(r)]);
      zone->add_route(hosts[a.index()]->get_netpoint(), hosts[b.index()]->get_netpoint(), nullptr, nullptr,
                      route, false);
    }
  }
  zone->seal();
  (void)engine;
  return hosts;
}

// SimGrid 3.32 publishes add_successor in the derived classes only.
void AddDependency(const sg::ActivityPtr& before, const sg::ActivityPtr& after) {
  if (auto* exec = dynamic_cast<sg::Exec*>(before.get())) {
    exec->add_successor(after);
  } else {
    dynamic_cast<sg::Comm&>(*before).add_successor(after);
  }
}

// One flop is one ns.
double SimGridMakespan(sg::Engine* engine, const Machine& machine, const Schedule& schedule,
                       const lanescope::IdVector<CommandId, int64_t>& ns) {
  const std::vector<sg::Host*> hosts = BuildPlatform(engine, machine);
  lanescope::IdVector<CommandId, sg::ActivityPtr> activities;
  for (const CommandId c : schedule.commands.ids()) {
    const auto& command = schedule.commands[c];
    if (command.kind == CommandKind::kLaunch) {
      const DeviceId device = schedule.queues[command.queue].device;
      activities.Add(
          sg::Exec::init()->set_flops_amount(static_cast<double>(ns[c]))->set_host(hosts[device.index()]));
    } else {
      activities.Add(sg::Comm::sendto_init(hosts[schedule.CopySource(command).index()],
                                           hosts[schedule.CopyDestination(command).index()])
                         ->set_payload_size(static_cast<uint64_t>(command.bytes)));
    }
  }
  lanescope::IdVector<lanescope::QueueId, CommandId> last(schedule.queues.size());
  for (const CommandId c : schedule.commands.ids()) {
    CommandId& previous = last[schedule.commands[c].queue];
    bool listed = false;
    if (previous.exists()) {
      for (const CommandId s : schedule.Successors(previous)) listed |= s == c;
      if (!listed) AddDependency(activities[previous], activities[c]);
    }
    previous = c;
    for (const CommandId s : schedule.Successors(c)) {
      AddDependency(activities[c], activities[s]);
    }
  }
  for (auto& activity : activities) activity->vetoable_start();
  engine->run();
  return sg::Engine::get_clock();
}

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  const int ops = argc > 1 ? std::atoi(argv[1]) : 1000;
  const auto seed = static_cast<uint64_t>(argc > 2 ? std::atoi(argv[2]) : 1);
  const Machine machine = lanescope::sims::StarMachine(8, 12.5e9, 1000, 25e9);
  lanescope::sims::ScheduleMaker maker = lanescope::sims::RandomStarSchedule(machine, ops, 256, seed, true);
  const Schedule schedule = maker.Build();
  const auto begin = std::chrono::steady_clock::now();
  const double ours =
      static_cast<double>(
          lanescope::sims::Simulate(schedule, machine, {maker.ns(), {}}, {.share_links = true}).step_ns) *
      1e-9;
  const auto middle = std::chrono::steady_clock::now();
  const double theirs = SimGridMakespan(&engine, machine, schedule, maker.ns());
  const auto end = std::chrono::steady_clock::now();
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
  const auto tasks = static_cast<double>(schedule.commands.size());
  std::printf(
      "%zu tasks, seed %llu: lanescope %.9f s, SimGrid %.9f s, difference %.2e; tasks/s %.0f and %.0f\n",
      schedule.commands.size(), static_cast<unsigned long long>(seed), ours, theirs, ours / theirs - 1,
      tasks / seconds(middle - begin), tasks / seconds(end - middle));
  return 0;
}
