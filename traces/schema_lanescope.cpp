// What the activity tables cannot say: runs, nodes, placement, schedules, memory.
#include "traces/schema.h"

namespace lanescope {
namespace {

using enum ColumnType;

constexpr Column kSchema[] = {
    {"version", kInteger, true, "Version of this schema.", ""},
    {"nextCorrelationId", kInteger, true, "Correlation ids from here on are free; writers reserve blocks.",
     "1"},
};

constexpr Column kRun[] = {
    {"runId", kInteger, true, "Number of the run: the top 16 bits of its globalPid.", ""},
    {"kind", kText, true, "'measured' or 'simulated'.", ""},
    {"emulated", kInteger, true, "1: virtual devices or emulated links took part.", ""},
    {"strategy", kText, true, "Placement strategy.", "''"},
    {"graph", kText, true, "File name of the graph.", "''"},
    {"machine", kText, true, "The machine, as a machine file (JSON).", "''"},
    {"steps", kInteger, true, "Steps recorded.", ""},
    {"oversubscribed", kInteger, true, "1: workers and copies together exceeded the processors.", ""},
    {"complete", kInteger, true, "1: the run was closed. 0: it is being written, or its writer died.", ""},
    {"error", kText, false, "Why the run failed or was cut short; NULL: it did not.", ""},
    {"predictionOf", kText, false, "Simulated runs: what calibrated the prediction.", ""},
    {"inSample", kInteger, true, "1: its own measurement calibrated the prediction.", ""},
    {"clockOriginNs", kInteger, true, "Time zero of the run on CLOCK_MONOTONIC (ns); 0 for virtual time.",
     ""},
    {"utcEpochNs", kInteger, true, "When the run began, ns since 1970 (UTC).", ""},
    {"stepMedianNs", kReal, false, "Median length of a step (ns).", ""},
    {"stepP25Ns", kReal, false, "First quartile (ns).", ""},
    {"stepP75Ns", kReal, false, "Third quartile (ns).", ""},
    {"stepMinNs", kInteger, false, "Shortest step (ns).", ""},
    {"stepMaxNs", kInteger, false, "Longest step (ns).", ""},
};

constexpr Column kCostModel[] = {
    {"runId", kInteger, true, "Simulated run.", ""},
    {"costs", kText, true, "What it was predicted with, as a cost file (JSON).", ""},
};

constexpr Column kProcessTable[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"globalPid", kInteger, true, "A process of the run.", ""},
};

constexpr Column kDeviceTable[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"deviceId", kInteger, true,
     "Device number of the activity tables: GPUs in order of id, then the others.", ""},
    {"machineDevice", kInteger, true, "Position in the machine file.", ""},
    {"name", kText, true, "Full device name.", ""},
    {"kind", kText, true, "'host', 'virtual', 'cuda', 'logical' or 'modelled'.", ""},
    {"memoryLimit", kInteger, true, "Memory for tensors (bytes).", ""},
    {"plannedPeakBytes", kInteger, false, "Largest planned memory over the schedules of the run (bytes).",
     ""},
};

constexpr Column kNode[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"nodeId", kInteger, true, "Number of the node in its graph.", ""},
    {"name", kText, true, "Name.", ""},
    {"op", kText, true, "Op type.", ""},
};

constexpr Column kPlacement[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"nodeId", kInteger, true, "Node.", ""},
    {"deviceId", kInteger, true, "Its device.", ""},
    {"priority", kInteger, true, "Its priority, larger first.", ""},
};

constexpr Column kCommand[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"schedule", kInteger, true, "Number of the schedule in the run.", ""},
    {"commandId", kInteger, true, "Number of the command in the schedule.", ""},
    {"kind", kText, true, "'launch', 'copy', 'record' or 'wait'.", ""},
    {"nodeId", kInteger, false, "Launch: the node that runs. Copy: the node whose output is copied.", ""},
    {"queue", kInteger, true, "Queue of the schedule (LANESCOPE_QUEUE); the streamId of its activities.", ""},
    {"rank", kInteger, true, "Dispatch order, smaller first.", ""},
    {"deviceId", kInteger, true, "Device of the queue.", ""},
    {"src", kInteger, false, "Copies: source device.", ""},
    {"dst", kInteger, false, "Copies: destination device.", ""},
    {"bytes", kInteger, false, "Copies: bytes by the bound. Launches: bytes read and written.", ""},
    {"flops", kInteger, false, "Launches: floating-point operations.", ""},
    {"signature", kInteger, false, "Op, dtypes and shapes; StringIds.id. Equal work has equal signatures.",
     ""},
};

constexpr Column kQueueTable[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"schedule", kInteger, true, "Schedule.", ""},
    {"queue", kInteger, true, "Number of the queue in the schedule.", ""},
    {"deviceId", kInteger, true, "The device that it belongs to.", ""},
    {"kind", kText, true, "'compute', 'copy-in' or 'copy-out'.", ""},
    {"inOrder", kInteger, true,
     "1: its commands run one after the other in the order of commandId. 0: of those that are ready the one "
     "of the smallest rank.",
     ""},
    {"workers", kInteger, true, "Workers that its commands share; 1: one command at a time.", ""},
    {"name", kText, true, "Name.", "''"},
};

constexpr Column kDependency[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"schedule", kInteger, true, "Schedule.", ""},
    {"fromCommand", kInteger, true, "The command that must end first.", ""},
    {"toCommand", kInteger, true, "The command that waits.", ""},
};

constexpr Column kActivity[] = {
    {"globalPid", kInteger, true, "Process of the activity.", ""},
    {"correlationId", kInteger, true, "Its correlation id.", ""},
    {"graphNodeId", kInteger, false, "Its CUDA graph node; NULL: none.", ""},
    {"commandId", kInteger, true, "The command that it executed.", ""},
    {"schedule", kInteger, true, "The schedule of the command.", ""},
    {"step", kInteger, true, "The step.", ""},
};

constexpr Column kStep[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"step", kInteger, true, "Number of the step.", ""},
    {"start", kInteger, true, "Start (ns since time zero of the run).", ""},
    {"end", kInteger, true, "End (ns since time zero of the run).", ""},
};

constexpr Column kMemory[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"deviceId", kInteger, true, "Device.", ""},
    {"time", kInteger, true, "From this time on (ns since time zero of the run).", ""},
    {"bytes", kInteger, true, "Bytes that tensors hold.", ""},
};

constexpr Column kDropped[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"what", kText, true, "Which records.", ""},
    {"count", kInteger, true, "How many were lost.", ""},
};

constexpr Column kClock[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"globalPid", kInteger, true, "Process.", ""},
    {"clock", kText, true,
     "'capture': the clock of captured records against CLOCK_MONOTONIC, read in between two readings of "
     "that. "
     "'gpu': kernels against the calls that launched them.",
     ""},
    {"time", kInteger, true, "When it was measured (ns since time zero of the run).", ""},
    {"offset", kInteger, true,
     "'capture': ns by which the clock was ahead. 'gpu': the most by which a kernel seems to start before "
     "its "
     "launch (ns).",
     ""},
    {"uncertainty", kInteger, false, "Half the width of the bracket (ns).", ""},
    {"samples", kInteger, true, "Readings; for 'gpu' kernels that were compared.", ""},
    {"violations", kInteger, true, "Kernels that seem to start before their launch.", ""},
    {"corrected", kInteger, true, "1: the times of the records are corrected by the offset.", ""},
};

constexpr Column kNvlink[] = {
    {"runId", kInteger, true, "Run.", ""},
    {"device0", kText, true, "One end: UUID of a GPU, or 'npu N'.", ""},
    {"device1", kText, true, "The other end.", ""},
    {"version", kInteger, true, "NVLink version as the driver numbers it.", ""},
    {"links", kInteger, true, "Physical links between the two.", ""},
    {"flags", kInteger, true, "Capabilities as the driver numbers them.", ""},
    {"bandwidth", kInteger, true, "Bandwidth (bytes per second).", ""},
    {"throughSwitch", kInteger, true, "1: through an NVSwitch.", ""},
};

constexpr Table kLanescopeTableList[] = {
    {"LANESCOPE_SCHEMA", "One row: the version of the schema.", kSchema, ""},
    {"LANESCOPE_RUN", "Runs, measured and simulated.", kRun, "runId"},
    {"LANESCOPE_COST_MODEL", "Cost models of calibrated predictions.", kCostModel, ""},
    {"LANESCOPE_PROCESS", "Processes of a run.", kProcessTable, ""},
    {"LANESCOPE_DEVICE", "Devices of a run.", kDeviceTable, ""},
    {"LANESCOPE_NODE", "Nodes of the graph.", kNode, ""},
    {"LANESCOPE_PLACEMENT", "Which device ran which node.", kPlacement, ""},
    {"LANESCOPE_COMMAND", "Commands of the compiled steps.", kCommand, ""},
    {"LANESCOPE_QUEUE",
     "Queues of the schedules. Runs of files of version 2 and before have no rows here: what their queues "
     "are "
     "is then inferred from their commands.",
     kQueueTable, ""},
    {"LANESCOPE_DEPENDENCY",
     "Which command waits for which. The order inside an in-order queue is not listed.", kDependency, ""},
    {"LANESCOPE_ACTIVITY",
     "Which activity executed which command: joins by globalPid, correlationId and graphNodeId.", kActivity,
     ""},
    {"LANESCOPE_STEP", "Steps: one session run each.", kStep, ""},
    {"LANESCOPE_MEMORY", "Memory over time, of the first recorded step of each schedule.", kMemory, ""},
    {"LANESCOPE_DROPPED", "Records that were lost, counted.", kDropped, ""},
    {"LANESCOPE_CLOCK", "How well the clocks of a capture agree.", kClock, ""},
    {"LANESCOPE_NVLINK", "NVLink connections that a capture found.", kNvlink, ""},
};

constexpr Index kIndexes[] = {
    {"LANESCOPE_KERNEL_CORRELATION", "CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"},
    {"LANESCOPE_MEMCPY_CORRELATION", "CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId"},
    {"LANESCOPE_ACTIVITY_CORRELATION", "LANESCOPE_ACTIVITY", "correlationId"},
};

}  // namespace

std::span<const Table> LanescopeTables() { return kLanescopeTableList; }
std::span<const Index> TraceIndexes() { return kIndexes; }

}  // namespace lanescope
