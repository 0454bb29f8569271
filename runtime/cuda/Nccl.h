//===- Nccl.h - Collectives among GPUs ------------------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL is opened when a program starts. A group of ranks uses it if all of its members
// have it and no two share a GPU (or NCCL_MULTI_RANK_GPU_ENABLE=1 says that they may);
// else its collectives go through the host. Members find each other by the host's
// communicator. Sums of floating-point numbers are in NCCL's order: equal on all members,
// not always the bits that the host gives.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_NCCL_H
#define DTCC_RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/Gpu.h"

namespace dtcc::rt {
class Communicator;
}

namespace dtcc::rt::cuda {

class NcclGroup {
public:
  /// Every member calls it with its handle of the group. Null, for all members, if one of them cannot.
  static std::unique_ptr<NcclGroup> open(Communicator &host, const Gpu &gpu);
  ~NcclGroup();
  NcclGroup(const NcclGroup &) = delete;

  /// Whether it runs this command: the collectives but exchanges of rows. Messages go through the host, which keeps
  /// them until the other side wants them.
  static bool takes(const dtcc_command &command);
  /// Lets a collective run in the order of `stream`. `buffers`: the GPU's addresses of the operands.
  void run(const Image &image, const dtcc_command &command, void *const *buffers, CUstream stream);

private:
  NcclGroup(void *group, int64_t members, int64_t me) : group(group), members(members), me(me) {}

  void *group;
  int64_t members, me;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_NCCL_H
