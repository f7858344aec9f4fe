// SPDX-License-Identifier: Apache-2.0
// The compact form of many nodes in machine files.
#include "core/machine/collective.h"
#include "core/machine/gpu_facts.h"
#include "core/machine/machine_field.h"

namespace lanescope::machine_file {
namespace {

constexpr int kMaxClusterGpus = 32768;
constexpr int kMaxPorts = 4 * kMaxClusterGpus;
constexpr size_t kMaxCollectives = 64;

template <typename T>
void ReadIf(const Field& field, std::string_view key, T (*parse)(std::string_view), T high, T* value) {
  if (field.Has(key)) *value = field[key].Quantity(parse, high, false);
}
void ReadLatency(const Field& field, int64_t* ns) {
  if (field.Has("latency")) *ns = field["latency"].Quantity(&ParseDuration, kMaxDuration, true);
}

void ReadNetwork(const Field& field, Cluster* cluster) {
  field.RequireObject({"kind", "radix", "latency", "oversubscription"});
  if (field.Has("kind")) {
    const std::string kind = field["kind"].String();
    const bool rails = kind == NetworkKindName(NetworkKind::kRails);
    if (!rails && kind != NetworkKindName(NetworkKind::kFatTree))
      field["kind"].Fail("'{}' is neither fat-tree nor rails", kind);
    cluster->network = rails ? NetworkKind::kRails : NetworkKind::kFatTree;
  }
  if (field.Has("radix")) cluster->radix = static_cast<int>(field["radix"].Integer(2, 4096));
  ReadLatency(field, &cluster->hop_latency_ns);
  if (field.Has("oversubscription")) cluster->oversubscription = field["oversubscription"].Number(1, 1000);
}

MeasuredCollective ReadCollective(const Field& field, const Cluster& cluster) {
  field.RequireObject({"kind", "gpus", "table"});
  MeasuredCollective measured;
  measured.kind = field["kind"].String();
  if (!ParseCollectiveKind(measured.kind))
    field["kind"].Fail("'{}' is none of all-reduce, all-gather, reduce-scatter, broadcast, all-to-all",
                       measured.kind);
  measured.gpus = static_cast<int>(field["gpus"].Integer(2, cluster.gpus_per_node));
  measured.table = ReadTable(field["table"]);
  if (measured.table.empty()) field["table"].Fail("must have a row");
  return measured;
}

void AddGpus(const Field& field, Machine* machine) {
  field.RequireObject({"kind", "model", "memory", "workers", "copy_engines", "queue", "peak",
                       "memory_bandwidth", "rates", "launch", "multiprocessors"});
  DeviceSpec gpu;
  ParseLocalDeviceName("GPU:0", &gpu.parsed);
  ReadDeviceBody(field, &gpu);
  if (!field.Has("kind")) gpu.kind = DeviceKind::kModelled;
  if (gpu.kind != DeviceKind::kModelled) field["kind"].Fail("the GPUs of a cluster are of kind modelled");
  AddClusterGpus(std::move(gpu), machine);
}

}  // namespace

void ReadCluster(const Field& field, Machine* machine) {
  field.RequireObject(
      {"nodes", "gpus_per_node", "gpu", "switch", "nics", "network", "host", "collectives", "fabric"});
  for (const DeviceSpec& device : machine->devices) {
    if (device.is_gpu())
      field.Fail("'{}' is listed beside it; the cluster names its GPUs itself", device.name);
  }
  Cluster& cluster = machine->cluster.emplace();
  cluster.nodes = static_cast<int>(field["nodes"].Integer(1, kMaxClusterGpus));
  cluster.gpus_per_node = static_cast<int>(field["gpus_per_node"].Integer(1, 1024));
  if (int64_t{cluster.nodes} * cluster.gpus_per_node > kMaxClusterGpus) {
    field.Fail("{} nodes of {} GPUs are more than {} GPUs", cluster.nodes, cluster.gpus_per_node,
               kMaxClusterGpus);
  }
  cluster.nics_per_node = cluster.gpus_per_node;
  if (field.Has("switch")) {
    const Field inner = field["switch"];
    inner.RequireObject({"bandwidth", "latency"});
    ReadIf(inner, "bandwidth", &ParseBandwidth, kMaxBandwidth, &cluster.switch_bandwidth);
    ReadLatency(inner, &cluster.switch_latency_ns);
  }
  if (field.Has("nics")) {
    const Field inner = field["nics"];
    inner.RequireObject({"count", "bandwidth", "latency"});
    if (inner.Has("count")) cluster.nics_per_node = static_cast<int>(inner["count"].Integer(1, 1024));
    ReadIf(inner, "bandwidth", &ParseBandwidth, kMaxBandwidth, &cluster.nic_bandwidth);
    ReadLatency(inner, &cluster.nic_latency_ns);
    if (cluster.nodes * cluster.nics_per_node > kMaxPorts) {
      inner["count"].Fail("{} ports of {} nodes are more than {}", cluster.nics_per_node, cluster.nodes,
                          kMaxPorts);
    }
  }
  if (field.Has("network")) ReadNetwork(field["network"], &cluster);
  if (field.Has("host")) {
    const Field inner = field["host"];
    inner.RequireObject({"bandwidth", "latency"});
    ReadIf(inner, "bandwidth", &ParseBandwidth, kMaxBandwidth, &cluster.host_bandwidth);
    ReadLatency(inner, &cluster.host_latency_ns);
  }
  if (field.Has("collectives")) {
    for (const Field& element : field["collectives"].Elements(kMaxCollectives))
      cluster.collectives.push_back(ReadCollective(element, cluster));
  }
  if (field.Has("fabric")) {
    cluster.fabric = field["fabric"].String();
    if (FindGpu(cluster.fabric) == nullptr)
      field["fabric"].Fail("'{}' is none of {}", cluster.fabric, GpuNames());
  }
  AddGpus(field["gpu"], machine);
}

Json ClusterToJson(const Machine& machine) {
  const Cluster& c = *machine.cluster;
  Json json = {
      {"nodes", c.nodes},
      {"gpus_per_node", c.gpus_per_node},
      {"gpu", DeviceBodyToJson(machine.device(machine.first_clustered))},
      {"switch",
       {{"bandwidth", ExactBandwidth(c.switch_bandwidth)}, {"latency", ExactDuration(c.switch_latency_ns)}}},
      {"nics",
       {{"count", c.nics_per_node},
        {"bandwidth", ExactBandwidth(c.nic_bandwidth)},
        {"latency", ExactDuration(c.nic_latency_ns)}}},
      {"network",
       {{"kind", NetworkKindName(c.network)},
        {"radix", c.radix},
        {"latency", ExactDuration(c.hop_latency_ns)},
        {"oversubscription", c.oversubscription}}},
      {"host",
       {{"bandwidth", ExactBandwidth(c.host_bandwidth)}, {"latency", ExactDuration(c.host_latency_ns)}}}};
  if (!c.fabric.empty()) json["fabric"] = c.fabric;
  for (const MeasuredCollective& measured : c.collectives) {
    Json rows = Json::array();
    for (const auto& [bytes, ns] : measured.table) rows.push_back({ExactBytes(bytes), ExactDuration(ns)});
    json["collectives"].push_back({{"kind", measured.kind}, {"gpus", measured.gpus}, {"table", rows}});
  }
  return json;
}

}  // namespace lanescope::machine_file
