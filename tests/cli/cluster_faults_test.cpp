// SPDX-License-Identifier: Apache-2.0
// Steps of several processes, started by mpirun on this computer: what ends them, and what is refused before.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/cli/mpirun.h"
#include "tests/cli/program.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A machine whose tasks are not the processes, and processes that mean different steps, are told before the
// first step.
TEST(Cluster, WhatDiffersIsToldBeforeTheFirstStep) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string tasks = SampleMachine("two-tasks");
  const Ranks three =
      Mpirun(folder, fmt::format("-n 3 PROGRAM {}", RunOf("polynomial", tasks, "alternating")));
  EXPECT_EQ(three.status, 1);
  EXPECT_THAT(three.errors, HasSubstr("the machine has 2 tasks, but 3 processes were started"));
  const Ranks graphs = Mpirun(
      folder, fmt::format("-n 1 PROGRAM {} : -n 1 PROGRAM {}", RunOf("polynomial", tasks, "alternating"),
                          RunOf("polynomial_parallel", tasks, "alternating")));
  EXPECT_EQ(graphs.status, 1);
  EXPECT_THAT(graphs.errors, HasSubstr("graphs differ: rank 1 on "));
  const Ranks places = Mpirun(
      folder, fmt::format("-n 1 PROGRAM {} : -n 1 PROGRAM {}", RunOf("polynomial", tasks, "alternating"),
                          RunOf("polynomial", tasks, "single")));
  EXPECT_EQ(places.status, 1);
  EXPECT_THAT(places.errors, HasSubstr("placements differ: rank 1 on "));
  const std::string ensemble = fmt::format("run {} --machine {} --replicas", Sample("polynomial"), tasks);
  const Ranks graphs_of_all =
      Mpirun(folder, fmt::format("-n 1 PROGRAM {} : -n 1 PROGRAM {} --in-graph", ensemble, ensemble));
  EXPECT_EQ(graphs_of_all.status, 1);
  EXPECT_THAT(graphs_of_all.errors, HasSubstr("steps differ: rank 1 on "));
}

// Law: a process whose program is of another protocol is refused, whatever the others do with it.
TEST(Cluster, AnotherProtocolIsRefused) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string graph = Sample("polynomial"), tasks = SampleMachine("two-tasks"),
                    other = (std::filesystem::path(test::ProgramPath()).parent_path() / "other_protocol")
                                .string();
  for (const std::string& way :
       {fmt::format("run {} --machine {}", graph, tasks), fmt::format("serve --machine {}", tasks),
        fmt::format("compare {} --machine {} --strategies single,alternating", graph, tasks),
        fmt::format("search {} --machine {} --rounds 1", graph, SampleMachine("k80x2")),
        fmt::format("simulate {} --machine {} --strategy single --sweep link.bandwidth=1GB/s..2GB/s", graph,
                    tasks)}) {
    for (const std::string& ranks : {fmt::format("-n 1 PROGRAM {} : -n 1 '{}'", way, other),
                                     fmt::format("-n 1 '{}' : -n 1 PROGRAM {}", other, way)}) {
      const Ranks refused = Mpirun(folder, ranks);
      EXPECT_EQ(refused.status, 1) << way;
      EXPECT_THAT(refused.errors, HasSubstr("start the same version")) << way;
      EXPECT_EQ(refused.output, "") << way;
    }
  }
}

// Laws: a process that has no memory, or that is killed, is named with its host, and ends the job within
// seconds; what it was to run stands beside the first one's error. The trace stays, marked.
TEST(Cluster, AFailedProcessIsNamed) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("two-tasks"), graph = folder.File("large.pbtxt");
  std::ofstream(graph) << R"(
    node { name: "dims" op: "Const" device: "/job:worker/task:1/device:CPU:0"
      attr { key: "dtype" value { type: DT_INT32 } }
      attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1500000000 } } } }
    node { name: "one" op: "Const" device: "/job:worker/task:1/device:CPU:0"
      attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
    node { name: "large" op: "Fill" device: "/job:worker/task:1/device:CPU:0" input: "dims" input: "one"
      attr { key: "T" value { type: DT_FLOAT } } attr { key: "index_type" value { type: DT_INT32 } } })";
  const std::string large = fmt::format("run {} --machine {} --target large", graph, machine);
  if (!test::kSanitized) {  // whose shadow is larger than any limit
    const Ranks no_memory = Mpirun(
        folder,
        fmt::format("-n 1 PROGRAM {} : -n 1 sh -c \"ulimit -v 4000000; exec PROGRAM {}\"", large, large));
    EXPECT_NE(no_memory.status, 0);
    EXPECT_THAT(no_memory.errors, HasSubstr("error: ResourceExhausted: rank 1 of 2 on "));
    EXPECT_THAT(no_memory.errors, HasSubstr("large.pbtxt --machine"));
  }

  const std::string trace = folder.File("killed.db"), number = folder.File("number");
  // Long steps: it dies before the first has asked for its events.
  const std::string endless =
      fmt::format("PROGRAM run {} --machine {} --strategy tower-split --steps 10000000",
                  Sample("deepconn_dual"), machine);
  std::filesystem::remove(folder.File("errors"));
  std::thread killer([&] {
    // It says how far it is: steps have been recorded.
    std::system(
        fmt::format("timeout 60 sh -c 'until grep -q step {}; do sleep 0.1; done'; kill -KILL $(cat '{}')",
                    folder.File("errors"), number)
            .c_str());
  });
  // The first one has time to close its trace.
  const Ranks killed = Mpirun(
      folder,
      fmt::format(
          "--mca odls_base_sigkill_timeout 4 -n 1 {} --trace {} : -n 1 sh -c \"echo \\$\\$ > {}; exec {}\"",
          endless, trace, number, endless));
  killer.join();
  EXPECT_NE(killed.status, 0);
  EXPECT_THAT(killed.errors, HasSubstr("rank 1"));
  EXPECT_THAT(killed.errors, HasSubstr("signal 9"));
  const json run = LanescopeJson(
      {"query", trace,
       "SELECT (SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL) > 0, error FROM LANESCOPE_RUN", "--json"});
  EXPECT_EQ(run["rows"][0][0], 1) << run;
  EXPECT_THAT(run["rows"][0][1], HasSubstr("another process")) << run;
}

// Law: threads that fill queues take steps of their own, in an order that processes do not share.
TEST(Cluster, QueueRunnersAreOfOneProcess) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const Ranks two =
      Mpirun(folder, fmt::format("-n 2 PROGRAM run {}/samples/pipelines/deepconn_csv.pbtxt --machine {}",
                                 test::SourceDir(), SampleMachine("two-tasks")));
  EXPECT_EQ(two.status, 1);
  EXPECT_THAT(two.errors, HasSubstr("error: Unimplemented: "));
  EXPECT_THAT(two.errors, HasSubstr("threads that fill its queues"));
}

// A process that is stopped does not answer: the others end soon, and one line names it and the command.
TEST(Cluster, AStoppedProcessEndsTheJob) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string trace = folder.File("stopped.db");
  const std::string command =
      fmt::format("PROGRAM run {} --machine {} --strategy alternating --steps 10000000", Sample("polynomial"),
                  SampleMachine("two-tasks"));
  // The trace is there once both have joined.
  const Ranks stopped =
      Mpirun(folder,
             fmt::format("-n 1 {} --trace {} : -n 1 sh -c \"{} & while [ ! -s {} ]; do sleep 0.1; done; kill "
                         "-STOP \\$!; wait\"",
                         command, trace, command, trace));
  EXPECT_NE(stopped.status, 0);
  EXPECT_THAT(stopped.errors, HasSubstr("error: DeadlineExceeded: rank 0 of 2 on "));
  EXPECT_THAT(stopped.errors, HasSubstr("rank 1 on "));
  EXPECT_THAT(stopped.errors, HasSubstr("has not answered for 10 s"));
  EXPECT_THAT(stopped.errors, HasSubstr("polynomial.pbtxt"));
}

}  // namespace
}  // namespace lanescope::cli
