//===- GpuMemory.h - What a rank has on a GPU besides its arenas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver and NCCL allocate by themselves, and neither says how much. These are figures
// that others measured; the search subtracts them from what a plan may use (passes/cost),
// and programs tell them with --info.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_GPUMEMORY_H
#define DTCC_RUNTIME_ABI_GPUMEMORY_H

#include <cstdint>

namespace dtcc::gpu_memory {

/// A context of the driver with the code that is loaded, and small tables of operations.
inline constexpr int64_t contextBytes = int64_t{512} << 20;

/// A launch that a CUDA graph keeps: 33 MB for 500 kernels, 63 MB for 1,000 (CUDA 11.2, NVIDIA's forum, 244901).
inline constexpr int64_t launchBytes = int64_t{64} << 10;

/// NCCL's channels, each with buffers of all protocols to two neighbours: 544 to 688 MB a group on 8 A100 with all
/// channels of NVLink (NCCL issue 964); a group with one rank a node has those of the network alone.
constexpr int64_t groupBytes(int64_t ranks, bool withinNode) {
  constexpr int64_t channelBytes = 22'000'000;
  return ranks <= 1 ? 0 : channelBytes * (withinNode ? 24 : 4);
}

/// NCCL's sends and receives with one other rank: 10 MiB a channel where they come in, 2 MiB where they go out, 32
/// channels between two H100 of a node (NCCL issue 1685: 3.3 GB for 7 of them), 2 between nodes.
constexpr int64_t peerBytes(bool withinNode) { return (int64_t{12} << 20) * (withinNode ? 32 : 2); }

} // namespace dtcc::gpu_memory

#endif // DTCC_RUNTIME_ABI_GPUMEMORY_H
