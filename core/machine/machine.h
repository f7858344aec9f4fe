// SPDX-License-Identifier: Apache-2.0
// The devices and links that a schedule is compiled for: found on this machine, read from a file, or both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/id.h"
#include "core/machine/cluster.h"
#include "core/machine/device_name.h"

namespace lanescope {

enum class DeviceKind {
  kHost,      // the host itself, CPU:0
  kVirtual,   // GPU-like, made of host threads
  kCuda,      // a physical GPU
  kLogical,   // a part of a physical GPU
  kModelled,  // exists in the simulator alone
};
inline constexpr int kNumDeviceKinds = static_cast<int>(DeviceKind::kModelled) + 1;
std::string_view DeviceKindName(DeviceKind kind);  // "host", "virtual", "cuda", "logical", "modelled"

// Whether its workers are threads of the host, in real time.
constexpr bool IsOfHostThreads(DeviceKind kind) {
  return kind == DeviceKind::kHost || kind == DeviceKind::kVirtual;
}

struct DeviceSpec {
  std::string name;  // full: "/job:localhost/replica:0/task:0/device:GPU:0"
  DeviceName parsed;
  DeviceKind kind = DeviceKind::kVirtual;
  std::string model;                      // "Tesla K80"; free text
  int64_t memory_bytes = 0;               // limit of tensors on it
  int workers = 1;                        // host threads of a host or virtual device
  int copy_engines = 2;                   // 1: copies in and out share one engine; 2: one each
  bool in_order = false;                  // commands in issue order (a stream), or ready-first by priority
  std::map<DataType, double> peak_flops;  // per second
  double tf32_flops = 0;                  // per second: products whose factors are TF32; 0 unknown
  double float8_flops = 0;                // the same with factors of 8 bits
  double memory_bandwidth = 0;            // bytes per second; 0 unknown
  std::string rates;                      // where these come from: "data sheet", "measured"; free text
  int64_t launch_ns = 0;                  // cost of one launch
  int physical = -1;                      // kCuda, kLogical: ordinal of the physical GPU
  double sm_share = 0;                    // kLogical: fraction of the multiprocessors; 0: all, shared
  int multiprocessors = 0;                // that it really has, or shares; 0 unknown
  int stream_priority = 0;                // of its streams, the lower the more urgent, as CUDA has it

  bool is_gpu() const { return parsed.type == "GPU"; }
  // A physical GPU or a part of one.
  bool is_hardware() const { return kind == DeviceKind::kCuda || kind == DeviceKind::kLogical; }
  // "GPU:0"
  std::string local_name() const { return parsed.LocalName(); }
};

using DeviceId = Id<DeviceSpec>;

// A connection of two devices. With `duplex` each direction has the bandwidth to itself, otherwise both share
// it.
struct LinkSpec {
  DeviceId a{0}, b{0};
  double bandwidth = 0;  // bytes per second
  int64_t latency_ns = 0;
  std::vector<std::pair<int64_t, int64_t>>
      table;     // measured (bytes, ns), ascending; overrides bandwidth and latency for one copy alone
  int bus = -1;  // shared by links: index into buses
  bool duplex = true;
};

struct BusSpec {
  std::string name;
  double bandwidth = 0;  // bytes per second, shared by all that passes
};

// The network interface of a computer: what its tasks send to tasks of others shares its bandwidth, and so
// does what they receive.
struct NicSpec {
  std::vector<DeviceId> hosts;  // CPU:0 of each of the tasks; a task has one interface at most
  double bandwidth = 0;         // bytes per second, in each direction
};

// The way of a copy between two devices. Resources are numbered 0..num_resources()-1: two per link (a
// to b, b to a; the same one twice when not duplex), then the buses, two per network interface (out, in),
// then those of the cluster.
struct Route {
  std::vector<int> resources;
  int64_t latency_ns = 0;
  double bandwidth = 0;  // of the narrowest resource
  int link = -1;         // the link whose table applies; -1 when the route has several hops
  bool staged = false;   // through host memory, because no direct link exists
};

class Machine {
 public:
  std::string name;
  IdVector<DeviceId, DeviceSpec>
      devices;  // CPU:0 is always there; TensorFlow's order is by name, this is file order
  std::vector<LinkSpec> links;
  std::vector<BusSpec> buses;
  std::vector<NicSpec> nics;
  // Joins GPU:0, GPU:1, ..., which are the devices from `first_clustered` on.
  std::optional<Cluster> cluster;
  DeviceId first_clustered{0};

  int num_devices() const { return static_cast<int>(devices.size()); }
  const DeviceSpec& device(DeviceId id) const { return devices[id]; }
  // CPU:0.
  DeviceId host() const;
  // By full or local or legacy name; none when absent.
  DeviceId FindDevice(std::string_view name) const;
  // GPUs in order of id.
  std::vector<DeviceId> Gpus() const;
  int num_resources() const { return num_listed_resources() + (cluster ? cluster->num_resources() : 0); }
  double ResourceBandwidth(int resource) const;
  std::string ResourceName(int resource) const;
  // Throws NotFound when no path exists.
  Route RouteBetween(DeviceId src, DeviceId dst) const;

 private:
  int num_listed_resources() const {
    return static_cast<int>(2 * (links.size() + nics.size()) + buses.size());
  }
};

// JSON in and out (units spelled out: "11GiB", "7.55GB/s", "4.3us"; docs/reference/machine-file.md). A host
// beside physical GPUs is this computer's: it has the processors of this process, unless the file says how
// many. Throws InvalidArgument naming the field.
Machine ParseMachine(std::string_view json);
Machine ReadMachine(const std::string& path);
std::string MachineToJson(const Machine& machine);
// A machine from a text such as "dgx-a100:64,fat-tree,400Gb/s": 64 GPUs of a kind of node, then in any order
// the network ("fat-tree", "rails"), the bandwidth of each port, nodes=N instead of the GPUs, gpus=N and
// nics=N of a node, radix=N, oversubscription=X. Kinds are those of nodes.tsv, "h100x2" (two such GPUs of
// gpus.tsv), "pcie-4090:8" (boards of one host). Throws InvalidArgument naming the part.
Machine MakeCluster(std::string_view text);
// Kinds of nodes that MakeCluster knows.
std::string ClusterNodeKinds();
// Appends GPU:0, GPU:1, ... of this kind, as many as `machine->cluster` has.
void AddClusterGpus(DeviceSpec gpu, Machine* machine);
// CPU:0 and `gpus` virtual GPUs with `workers` threads each, linked all to all and to the host.
Machine VirtualMachine(int gpus, int workers);

}  // namespace lanescope
