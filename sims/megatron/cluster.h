// SPDX-License-Identifier: Apache-2.0
// How long collectives and messages take between the GPUs of nodes that a network joins.
#pragma once

namespace lanescope::sims::megatron {

// Nodes as a DGX A100: GPUs on NVSwitch, four HDR InfiniBand ports of 200 Gb/s a node. Within a node a ring
// reaches what NCCL's tests show for 2, 4 and 8 GPUs.
struct Cluster {
  double gpus_per_node = 8;
  double ring_bytes_per_s = 190e9;  // and `ring_bytes_per_s_per_gpu` more with every GPU
  double ring_bytes_per_s_per_gpu = 5e9;
  double ring_s = 20e-6;  // of every ring, and with every GPU
  double ring_s_per_gpu = 4e-6;
  double small_s = 25e-6;  // the least, and with every GPU
  double small_s_per_gpu = 9e-6;
  double message_bytes_per_s = 235e9;  // from GPU to GPU of a node
  double message_s = 52e-6;
  double network_bytes_per_s = 100e9;  // of a node, each way
  double network_share = 0.85;         // of it that InfiniBand reaches
  double network_s = 20e-6;            // a hop
};

// Ranks that reduce together.
struct Ring {
  double size = 1;
  double per_node = 1;        // of its ranks in one node
  double rings_per_node = 1;  // that share the node's network
};

// A ring's all-reduce: 2 (n - 1) / n of the bytes pass every link.
double AllReduceSeconds(const Cluster& cluster, double bytes, const Ring& ring);

// From a GPU to its neighbour; across nodes all GPUs of a node send at once.
double MessageSeconds(const Cluster& cluster, double bytes, bool across_nodes);

}  // namespace lanescope::sims::megatron
