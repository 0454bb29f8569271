//===- GpuOverhead.h - What a rank has on a GPU besides its arenas
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that the driver and NCCL take besides the plan's, by the figures of
// runtime/abi/GpuMemory.h. A GPU must have room for it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_GPUOVERHEAD_H
#define DTCC_RUNTIME_LAUNCH_GPUOVERHEAD_H

#include "runtime/image/Image.h"

namespace dtcc::rt {

/// Bytes, at most: as if all ranks of a group had a GPU of one node.
struct GpuOverhead {
  int64_t context = 0; /* with code, and small tables */
  int64_t groups = 0;  /* NCCL's, of collectives */
  int64_t peers = 0;   /* NCCL's, of messages and of rows on their way to experts */
  int64_t graph = 0;   /* the launches of a step, where it is kept as a CUDA graph */

  int64_t total() const { return context + groups + peers + graph; }
};
GpuOverhead gpuOverhead(const Image &image, const dtcc_stage &stage);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_GPUOVERHEAD_H
