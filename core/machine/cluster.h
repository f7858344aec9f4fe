// SPDX-License-Identifier: Apache-2.0
// Machines of many nodes, described by a few numbers: routes between their GPUs follow by formula.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope {

enum class NetworkKind : uint8_t {
  kFatTree,  // all ports of a node reach one leaf switch
  kRails,    // port k of every node reaches leaf switches of rail k
};
std::string_view NetworkKindName(NetworkKind kind);  // "fat-tree", "rails"

// A collective among the first `gpus` GPUs of a node, as measured: (bytes, ns), ascending.
struct MeasuredCollective {
  std::string kind;  // as CollectiveKindName says
  int gpus = 2;
  std::vector<std::pair<int64_t, int64_t>> table;
};

// `nodes` islands of GPUs that a switch joins, each with network ports ("NICs") of its own, which switches of
// `radix` ports join. GPU g is in node g / gpus_per_node and sends through the port that is nearest to it.
// Bandwidths are per second and each way.
struct Cluster {
  int nodes = 1, gpus_per_node = 8;
  double switch_bandwidth = 300e9;  // of each GPU to the others of its node
  int64_t switch_latency_ns = 2'000;
  int nics_per_node = 8;
  double nic_bandwidth = 25e9;
  int64_t nic_latency_ns = 3'000;  // of both ends together
  NetworkKind network = NetworkKind::kFatTree;
  int radix = 40;
  int64_t hop_latency_ns = 300;  // of a switch
  double oversubscription = 1;   // of a leaf switch: its bandwidth to nodes over that to other switches
  double host_bandwidth = 25e9;  // of each GPU to the host
  int64_t host_latency_ns = 10'000;
  std::vector<MeasuredCollective> collectives;
  // A name of KnownGpus, "H100-SXM": collectives go by what was measured on such GPUs; empty: by formulas.
  std::string fabric;

  int num_gpus() const { return nodes * gpus_per_node; }
  int NodeOf(int gpu) const { return gpu / gpus_per_node; }
  // The port of its node that a GPU sends through.
  int NicOf(int gpu) const { return gpu % gpus_per_node * nics_per_node / gpus_per_node; }
  // Whether any two messages between different pairs of GPUs share nothing but the GPUs' own ports.
  bool IsNonBlocking() const { return nics_per_node >= gpus_per_node && oversubscription <= 1; }

  // Resources of messages: each GPU's switch port out and in, its way to the host and from it; for each
  // port of the network out and in; for each leaf switch up and down.
  int num_resources() const { return 4 * num_gpus() + 2 * nodes * nics_per_node + 2 * num_leaves(); }
  double ResourceBandwidth(int resource) const;
  std::string ResourceName(int resource) const;

  struct Way {
    std::vector<int> resources;
    int64_t latency_ns = 0;
  };
  Way Between(int src_gpu, int dst_gpu) const;
  Way ToHost(int gpu) const;
  Way FromHost(int gpu) const;
  // Switches on the way between the ports of two GPUs of different nodes.
  int SwitchesBetween(int src_gpu, int dst_gpu) const;
  // Nodes whose ports a leaf switch joins.
  int NodesOfLeaf() const;

 private:
  int num_leaves() const;
  int LeafOf(int gpu) const;
};

}  // namespace lanescope
