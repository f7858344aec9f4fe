// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/messages/joined_gpus.h"
#include "exec/serve/task_server.h"
#include "study/job/mpi.h"
#include "study/job/serving.h"

namespace lanescope::cli {
namespace {

struct ServeOptions {
  MachineOptions machine;
  exec::DeviceOptions devices;
};

std::string StepsText(const exec::TaskServer::ClientReport& client) {
  std::string text = fmt::format("{} session{}, {} step{}", client.sessions, client.sessions == 1 ? "" : "s",
                                 client.steps, client.steps == 1 ? "" : "s");
  if (client.failed_steps > 0) text += fmt::format(", {} given up", client.failed_steps);
  if (!client.emptied.empty()) text += fmt::format(", emptied {}", fmt::join(client.emptied, ", "));
  if (client.lost) text += ", then lost";
  return text;
}

void Serve(const ServeOptions& options) {
  exec::Transport* const ranks = study::WorldTransport();
  if (ranks == nullptr) {
    Throw(
        Code::kFailedPrecondition,
        "it serves processes that mpirun starts with it, as in `mpirun -n 1 lanescope serve --machine M : -n "
        "2 lanescope run G --machine M`");
  }
  const study::Roles roles = study::ShareRoles(ranks, true, "");
  // Tasks that are served send to each other through their hosts.
  const Machine machine = exec::JoinGpus(options.machine.Load(), nullptr).machine;
  study::RequireTasks(machine, ranks);
  const study::Cancellation::Watch in_order(&Interruption());
  exec::TaskServer server(machine, {ranks, roles.clients, options.devices});
  const study::SeparateRanks separate(roles.clients, [&](int rank) {
    NoteLine(fmt::format("note: {} has not answered for ten seconds: its steps are given up",
                         ranks->NameOf(rank)));
    server.Lose(rank);
  });
  server.Serve([] { Interruption().Check(); });
  const std::string task = TasksOf(machine).names[static_cast<size_t>(ranks->rank())];
  for (const auto& client : server.Report())
    Print("{} served {}: {}\n", task, ranks->NameOf(client.client), StepsText(client));
}

}  // namespace

void AddServe(CLI::App* app) {
  auto* command = app->add_subcommand("serve", "Let processes that mpirun starts with it use its devices");
  auto options = std::make_shared<ServeOptions>();
  options->machine.Add(command);
  AddGpuOptions(command, &options->devices);
  AddExample(command, "lanescope serve --machine samples/machines/one-ps-two-workers.json");
  command->callback([options] { Serve(*options); });
}

}  // namespace lanescope::cli
