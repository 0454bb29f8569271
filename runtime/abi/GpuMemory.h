//===- GpuMemory.h - What a rank has on a GPU besides its arenas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver and NCCL allocate by themselves, and neither says how much. These are figures
// that were measured; the search subtracts them from what a plan may use (planner/cost),
// and programs tell them with --info.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_GPUMEMORY_H
#define DTCC_RUNTIME_ABI_GPUMEMORY_H

#include <cstdint>

namespace dtcc::gpu_memory {

/// A context of the driver with the code that is loaded, and small tables of operations. Two programs of dtcc on an
/// H100 (driver 580), of 10,857 and 9,593 commands a step, had 597 and 587 MiB besides their arenas
/// (docs/measurements.md).
inline constexpr int64_t contextBytes = int64_t{512} << 20;

/// A launch that a CUDA graph keeps, by the same two. Older drivers took more: 63 MB for 1,000 kernels (CUDA 11.2,
/// NVIDIA's forum, 244901).
inline constexpr int64_t launchBytes = int64_t{8} << 10;

/// NCCL's channels, each with buffers of all protocols to two neighbours: 544 to 688 MB a group on 8 A100 with all
/// channels of NVLink (NCCL issue 964); a group with one rank a node has those of the network alone.
constexpr int64_t groupBytes(int64_t ranks, bool withinNode) {
  constexpr int64_t channelBytes = 22'000'000;
  return ranks <= 1 ? 0 : channelBytes * (withinNode ? 24 : 4);
}

/// NCCL's buffers between two ranks, a channel: those of all three protocols (0.5 + 4.7 + 4 MiB) where messages come
/// in, in pieces of 2 MiB, and one such piece where they go out.
inline constexpr int64_t incomingBytes = int64_t{10} << 20, outgoingBytes = int64_t{2} << 20;

/// Rows of experts that go to one other rank and come from it: 32 channels between two H100 of a node (NCCL issue 1685:
/// 3.3 GB for 7 of them), 2 between nodes.
constexpr int64_t peerBytes(bool withinNode) { return (incomingBytes + outgoingBytes) * (withinNode ? 32 : 2); }

/// Channels for the messages of a stage to another, and blocks of the kernel that waits for the other side: programs
/// ask NCCL for no more. About 20 GB/s each within a node, so what pipelines that were measured reach (sendLink of
/// planner/cost/Constants.def, 0.33 of 450 GB/s); more would take memory and multiprocessors from what computes.
inline constexpr int messageChannels = 8;
constexpr int64_t messageBytes(bool incoming, bool withinNode) {
  return (incoming ? incomingBytes : outgoingBytes) * (withinNode ? messageChannels : 2);
}

} // namespace dtcc::gpu_memory

#endif // DTCC_RUNTIME_ABI_GPUMEMORY_H
