// SPDX-License-Identifier: Apache-2.0
// Tables beside those of activities: runs, nodes, placement, schedules, memory. Internal to traces and gui.
#pragma once

#include "traces/store/input_tables.h"
#include "traces/store/run_table.h"

namespace lanescope::traces::tables {

struct SchemaVersion : TableOf<SchemaVersion> {
  constexpr SchemaVersion() : TableOf("LANESCOPE_SCHEMA", "One row: the version of the schema.") {}
  Integer version{this, About(kVersion, "Version of this schema.")};
  Integer next_correlation{this,
                           {"nextCorrelationId", Need::kNotNull,
                            "Correlation ids from here on are free; writers reserve blocks.", "1"}};
};
inline constexpr SchemaVersion kSchema;

struct Run : TableOf<Run> {
  constexpr Run() : TableOf("LANESCOPE_RUN", "Runs, measured and simulated.") {}
  Number id{this, {kRunId.name, Need::kPrimaryKey, "Number of the run: the top 16 bits of its globalPid."}};
  Text kind{this, About(kKind, "'measured' or 'simulated'.")};
  Flag emulated{this, {"emulated", Need::kNotNull, "1: virtual devices or emulated links took part."}};
  Text strategy{this, {"strategy", Need::kNotNull, "Placement strategy.", "''"}};
  Text graph{this, {"graph", Need::kNotNull, "File name of the graph.", "''"}};
  Text machine{this, {"machine", Need::kNotNull, "The machine, as a machine file (JSON).", "''"}};
  Size steps{this, {"steps", Need::kNotNull, "Steps recorded, those that were not timed among them."}};
  Flag oversubscribed{
      this, {"oversubscribed", Need::kNotNull, "1: workers and copies together exceeded the processors."}};
  Flag complete{
      this,
      {"complete", Need::kNotNull, "1: the run was closed. 0: it is being written, or its writer died."}};
  Text error{this, {"error", Need::kOptional, "Why the run failed or was cut short; NULL: it did not."}};
  Text prediction_of{this,
                     {"predictionOf", Need::kOptional, "Simulated runs: what calibrated the prediction."}};
  Flag in_sample{this, {"inSample", Need::kNotNull, "1: its own measurement calibrated the prediction."}};
  Integer clock_origin{
      this,
      {"clockOriginNs", Need::kNotNull, "Time zero of the run on CLOCK_MONOTONIC (ns); 0 for virtual time."}};
  Integer utc_epoch{this, {kUtcEpochNs.name, Need::kNotNull, "When the run began, ns since 1970 (UTC)."}};
  Real step_median{this,
                   {"stepMedianNs", Need::kOptional,
                    "Median length of the steps that count (ns): of those in LANESCOPE_UNTIMED_STEP, where "
                    "the run has any."}};
  Real step_p25{this, {"stepP25Ns", Need::kOptional, "First quartile (ns)."}};
  Real step_p75{this, {"stepP75Ns", Need::kOptional, "Third quartile (ns)."}};
  Integer step_min{this, {"stepMinNs", Need::kOptional, "Shortest step (ns)."}};
  Integer step_max{this, {"stepMaxNs", Need::kOptional, "Longest step (ns)."}};
};
inline constexpr Run kRun;

struct CostModelTable : OfRun<CostModelTable> {
  constexpr CostModelTable()
      : OfRun("LANESCOPE_COST_MODEL", "Cost models of calibrated predictions.", "Simulated run.") {}
  Text costs{this, {"costs", Need::kAlways, "What it was predicted with, as a cost file (JSON)."}};
};
inline constexpr CostModelTable kCostModel;

struct PredictionTable : OfRun<PredictionTable> {
  constexpr PredictionTable()
      : OfRun("LANESCOPE_PREDICTION", "What the commands' times of predictions go by.", "Simulated run.") {}
  Size uncalibrated{
      this,
      {"uncalibratedPpm", Need::kNotNull,
       "Parts in a million of the commands' time that go by no measurement of the op in its size."}};
  Size extrapolated{
      this,
      {"extrapolatedPpm", Need::kNotNull,
       "Parts in a million that go by other ops, by sizes far from those measured, or by nothing."}};
};
inline constexpr PredictionTable kPrediction;

struct Process : OfRun<Process> {
  constexpr Process() : OfRun("LANESCOPE_PROCESS", "Processes of a run.") {}
  Integer global_pid{this, {kGlobalPid.name, Need::kAlways, "A process of the run."}};
};
inline constexpr Process kProcess;

struct Device : OfRun<Device> {
  constexpr Device() : OfRun("LANESCOPE_DEVICE", "Devices of a run.") {}
  Number id{this,
            {kDeviceId.name, Need::kAlways,
             "Device number of the activity tables: GPUs in order of id, then the others."}};
  Number in_machine{this, {"machineDevice", Need::kNotNull, "Position in the machine file."}};
  Text name{this, {kName.name, Need::kAlways, "Full device name."}};
  Text kind{this, About(kKind, "'host', 'virtual', 'cuda', 'logical' or 'modelled'.")};
  Size memory_limit{this, {"memoryLimit", Need::kNotNull, "Memory for tensors (bytes)."}};
  Size planned_peak{
      this,
      {"plannedPeakBytes", Need::kOptional, "Largest planned memory over the schedules of the run (bytes)."}};
};
inline constexpr Device kDevice;

struct Node : OfRun<Node> {
  constexpr Node() : OfRun("LANESCOPE_NODE", "Nodes of the graph.") {}
  Number id{this, About(kOfNode, "Number of the node in its graph.")};
  Text name{this, Needed(kName, Need::kAlways)};
  Text op{this, kOp};
};
inline constexpr Node kNode;

struct PlacementTable : OfRun<PlacementTable> {
  constexpr PlacementTable() : OfRun("LANESCOPE_PLACEMENT", "Which device ran which node.") {}
  Number node{this, kOfNode};
  Number device{this, {kDeviceId.name, Need::kAlways, "Its device."}};
  Id priority{this, {kPriority.name, Need::kNotNull, "Its priority, larger first."}};
};
inline constexpr PlacementTable kPlacement;

struct CommandTable : OfRun<CommandTable> {
  constexpr CommandTable() : OfRun("LANESCOPE_COMMAND", "Commands of the compiled steps.") {}
  Number schedule{this, About(kOfSchedule, "Number of the schedule in the run.")};
  Number id{this, {"commandId", Need::kAlways, "Number of the command in the schedule."}};
  Text kind{this, About(kKind, "'launch', 'copy', 'record' or 'wait'.")};
  Number node{
      this,
      {kOfNode.name, Need::kOptional, "Launch: the node that runs. Copy: the node whose output is copied."}};
  Id queue{this, About(kOfQueue, "Queue of the schedule (LANESCOPE_QUEUE); the streamId of its activities.")};
  Id rank{this, {"rank", Need::kNotNull, "Dispatch order, smaller first."}};
  Id device{this, About(kDeviceId, "Device of the queue.")};
  Number src{this, {"src", Need::kOptional, "Copies: source device."}};
  Number dst{this, {"dst", Need::kOptional, "Copies: destination device."}};
  Size bytes{this,
             {kBytes.name, Need::kOptional, "Copies: bytes by the bound. Launches: bytes read and written."}};
  Size flops{this, {"flops", Need::kOptional, "Launches: floating-point operations."}};
  Integer signature{this,
                    {"signature", Need::kOptional,
                     "Op, dtypes and shapes; StringIds.id. Equal work has equal signatures."}};
};
inline constexpr CommandTable kCommand;

struct QueueTable : OfRun<QueueTable> {
  constexpr QueueTable() : OfRun("LANESCOPE_QUEUE", "Queues of the schedules.") {}
  Number schedule{this, kOfSchedule};
  Id number{this, Needed(kOfQueue, Need::kAlways)};
  Id device{this, {kDeviceId.name, Need::kAlways, "The device that it belongs to."}};
  Text kind{this, About(kKind, "'compute', 'copy-in' or 'copy-out'.")};
  Flag in_order{
      this,
      {"inOrder", Need::kAlways,
       "1: its commands run one after the other in the order of commandId. 0: of those that are ready "
       "the one of the smallest rank."}};
  Number workers{this,
                 {"workers", Need::kAlways, "Workers that its commands share; 1: one command at a time."}};
  Text name{this, Needed(kName, Need::kNotNull)};
};
inline constexpr QueueTable kQueue;

struct Dependency : OfRun<Dependency> {
  constexpr Dependency()
      : OfRun("LANESCOPE_DEPENDENCY",
              "Which command waits for which. The order inside an in-order queue is not listed.") {}
  Number schedule{this, kOfSchedule};
  Number from{this, {"fromCommand", Need::kAlways, "The command that must end first."}};
  Number to{this, {"toCommand", Need::kAlways, "The command that waits."}};
};
inline constexpr Dependency kDependency;

struct Activity : TableOf<Activity> {
  constexpr Activity()
      : TableOf("LANESCOPE_ACTIVITY",
                "Which activity executed which command: joins by globalPid, correlationId and graphNodeId.") {
  }
  Integer global_pid{this, {kGlobalPid.name, Need::kNotNull, "Process of the activity."}};
  Integer correlation{this, {kCorrelationId.name, Need::kAlways, "Its correlation id."}};
  Integer graph_node{this, About(kGraphNodeId, "Its CUDA graph node; NULL: none.")};
  Number command{this, {kCommand[kCommand.id].name, Need::kNotNull, "The command that it executed."}};
  Number schedule{this, {kOfSchedule.name, Need::kNotNull, "The schedule of the command."}};
  Number step{this, Needed(kOfStep, Need::kNotNull)};
};
inline constexpr Activity kActivity;

struct Step : OfRun<Step> {
  constexpr Step()
      : OfRun("LANESCOPE_STEP",
              "Steps: one session run each. Those of LANESCOPE_UNTIMED_STEP are not among them.") {}
  Number number{this, About(kOfStep, "Number of the step.")};
  Time start{this, kStart};
  Time end{this, kEnd};
};
inline constexpr Step kStep;

struct UntimedStepTable : OfRun<UntimedStepTable> {
  constexpr UntimedStepTable()
      : OfRun(
            "LANESCOPE_UNTIMED_STEP",
            "Steps of which nothing but the ends was timed, so that timing lengthened none: LANESCOPE_RUN's "
            "figures of steps are theirs. They have no activities and no row in LANESCOPE_STEP. Files of "
            "version 6 and before lack the table.") {}
  Number number{this, About(kOfStep, "Number of the step, among those of LANESCOPE_STEP.")};
  Time start{this, kStart};
  Time end{this, kEnd};
};
inline constexpr UntimedStepTable kUntimedStep;

struct TimingTable : OfRun<TimingTable> {
  constexpr TimingTable()
      : OfRun(
            "LANESCOPE_TIMING",
            "How the commands of physical GPUs were timed, a row for each measured run that has some. Files "
            "of version 6 and before lack the table: there events were, or a profiler, in every step.") {}
  Text commands{this,
                {"commands", Need::kNotNull,
                 "'events': by pairs of events on their streams; 'profiler': as its records."}};
  Size pair_ns{
      this,
      {"pairNs", Need::kNotNull,
       "What a pair of events added to its step, in the middle (ns): taken out of the times of steps "
       "and activities. 0: nothing was."}};
};
inline constexpr TimingTable kTiming;

struct DisturbanceTable : OfRun<DisturbanceTable> {
  constexpr DisturbanceTable()
      : OfRun(
            "LANESCOPE_DISTURBANCE",
            "What others took from measured steps. Steps without a row were not watched, and count; files of "
            "version 3 and before have no rows.") {}
  Number step{this, kOfStep};
  Number round{this, {"round", Need::kNotNull, "Steps of a round ran one right after the other."}};
  Flag disturbed{this,
                 {"disturbed", Need::kAlways,
                  "1: the step does not count, unless fewer than a third of the run's are left alone."}};
  Size others{this, {"othersNs", Need::kNotNull, "Processor time of other processes meanwhile (ns)."}};
  Size stolen{this, {"stolenNs", Need::kNotNull, "Time that a hypervisor gave to other machines (ns)."}};
  Size waited{this,
              {"waitedNs", Need::kNotNull,
               "Time in which the run's threads were ready and had no processor, added up (ns)."}};
  Size preempted{this, {"preempted", Need::kNotNull, "Switches away from threads that wanted to go on."}};
};
inline constexpr DisturbanceTable kDisturbance;

struct TaskTable : OfRun<TaskTable> {
  constexpr TaskTable()
      : OfRun(
            "LANESCOPE_TASK",
            "Tasks of the machine that processes of their own ran; none where one process played them all or "
            "others served the run. Files of version 5 and before lack the table.") {}
  Number number{this, {"task", Need::kAlways, "Number of the task: the rank of its process."}};
  Text name{this, {kName.name, Need::kAlways, "Name of the task, as its devices begin."}};
  Text process{this, {"process", Need::kAlways, "The process: its rank and host."}};
  Integer clock_ahead{
      this,
      {"clockAheadNs", Need::kNotNull,
       "ns by which its clock was ahead of the first task's, as measured last; it has been taken "
       "from the times in the tables."}};
  Size clock_uncertainty{this, {"clockUncertaintyNs", Need::kNotNull, "By how much that may be wrong (ns)."}};
};
inline constexpr TaskTable kTask;

struct Memory : OfRun<Memory> {
  constexpr Memory()
      : OfRun("LANESCOPE_MEMORY", "Memory over time, of the first recorded step of each schedule.") {}
  Number device{this, {kDeviceId.name, Need::kAlways, "Device."}};
  Time time{this, About(kTimeOf, "From this time on (ns since time zero of the run).")};
  Size bytes{this, {kBytes.name, Need::kAlways, "Bytes that tensors hold."}};
};
inline constexpr Memory kMemory;

struct Dropped : OfRun<Dropped> {
  constexpr Dropped() : OfRun("LANESCOPE_DROPPED", "Records that were lost, counted.") {}
  Text what{this, {"what", Need::kNotNull, "Which records."}};
  Size count{this, {"count", Need::kAlways, "How many were lost."}};
};
inline constexpr Dropped kDropped;

struct Clock : OfRun<Clock> {
  constexpr Clock() : OfRun("LANESCOPE_CLOCK", "How well the clocks of a capture agree.") {}
  Integer global_pid{this, {kGlobalPid.name, Need::kNotNull, "Process."}};
  Text clock{
      this,
      {"clock", Need::kAlways,
       "'capture': the clock of captured records against CLOCK_MONOTONIC, read in between two readings "
       "of that. 'gpu': kernels against the calls that launched them."}};
  Integer time{this, {kTimeOf.name, Need::kNotNull, "When it was measured (ns since time zero of the run)."}};
  Integer offset{
      this,
      {"offset", Need::kNotNull,
       "'capture': ns by which the clock was ahead. 'gpu': the most by which a kernel seems to start "
       "before its launch (ns)."}};
  Integer uncertainty{this, {"uncertainty", Need::kOptional, "Half the width of the bracket (ns)."}};
  Integer samples{this, {"samples", Need::kNotNull, "Readings; for 'gpu' kernels that were compared."}};
  Integer violations{this, {"violations", Need::kNotNull, "Kernels that seem to start before their launch."}};
  Integer corrected{
      this, {"corrected", Need::kNotNull, "1: the times of the records are corrected by the offset."}};
};
inline constexpr Clock kClock;

struct Nvlink : OfRun<Nvlink> {
  constexpr Nvlink() : OfRun("LANESCOPE_NVLINK", "NVLink connections that a capture found.") {}
  Text device0{this, {"device0", Need::kNotNull, "One end: UUID of a GPU, or 'npu N'."}};
  Text device1{this, {"device1", Need::kNotNull, "The other end."}};
  Integer version{this, About(kVersion, "NVLink version as the driver numbers it.")};
  Integer links{this, {"links", Need::kNotNull, "Physical links between the two."}};
  Integer flags{this, {"flags", Need::kNotNull, "Capabilities as the driver numbers them."}};
  Integer bandwidth{this, {"bandwidth", Need::kNotNull, "Bandwidth (bytes per second)."}};
  Integer through_switch{this, {"throughSwitch", Need::kNotNull, "1: through an NVSwitch."}};
};
inline constexpr Nvlink kNvlink;

inline constexpr const Table* kLanescope[] = {&kSchema,
                                              &kRun,
                                              &kCostModel,
                                              &kPrediction,
                                              &kProcess,
                                              &kDevice,
                                              &kNode,
                                              &kPlacement,
                                              &kCommand,
                                              &kQueue,
                                              &kDependency,
                                              &kActivity,
                                              &kStep,
                                              &kUntimedStep,
                                              &kTiming,
                                              &kDisturbance,
                                              &kTask,
                                              &kMemory,
                                              &kDropped,
                                              &kClock,
                                              &kNvlink,
                                              &kInputThread,
                                              &kInputQueueTable,
                                              &kInputStep,
                                              &kInputWork,
                                              &kWait,
                                              &kQueueFill};

}  // namespace lanescope::traces::tables
