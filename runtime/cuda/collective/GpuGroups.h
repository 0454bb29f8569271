//===- GpuGroups.h - What a rank's GPU communicates by
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicators of a program on this rank's GPU, and the commands that run by them. NCCL carries collectives and
// messages between stages where all members can use it. All else goes through the host, by the rank's own
// communicators.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_GPUGROUPS_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_GPUGROUPS_H

#include "runtime/cuda/collective/GpuRows.h"
#include "runtime/cuda/collective/Nccl.h"
#include "runtime/cuda/collective/NcclMessages.h"
#include "runtime/device/Device.h"

namespace dtcc::rt::cuda {

class GpuGroups {
public:
  /// `setup` and `gpu` outlive the groups.
  GpuGroups(const DeviceSetup &setup, Gpu &gpu) : setup(setup), gpu(gpu) {}

  /// The memory that the program plans for messages on their way. Without it, open() allocates theirs.
  void lendMessages(CUdeviceptr begin, uint64_t bytes) { room = {begin, begin + bytes}; }
  /// Opens the communicators of all commands of the program, whichever stage they are of. All ranks call it together.
  void open();
  /// Whether NCCL carries anything. Valid behind open(), as all that follows.
  bool useNccl() const;
  /// Whether NCCL carries a collective among ranks of which two share a GPU.
  bool shareGpu() const;
  bool goesThroughHost(const dtcc_command &command) const;
  /// The messages of all receives of an action that runs later may come behind what stands on `stream`, but for those
  /// that go through the host.
  void expect(std::span<const uint32_t> receives, CUstream stream);
  /// Runs a collective or a message behind what stands on `stream`. `rows`: the exchange of rows that the command is,
  /// or null.
  void run(const dtcc_command &command, GpuRows *rows, CUstream stream, void *const *buffers);

private:
  void openCollectives();
  void openMessages();
  CUdeviceptr takeMessage(uint64_t bytes);

  const DeviceSetup &setup;
  Gpu &gpu;
  struct {
    CUdeviceptr begin = 0, end = 0;
  } room;                                                     /* what is left of the planned memory */
  std::unique_ptr<Watchdog> dog;                              /* null where nobody is waited for */
  std::vector<std::unique_ptr<NcclMessages>> messages;        /* by communicator; null: through the host */
  std::vector<std::unique_ptr<NcclCommunicator>> collectives; /* by communicator; null: through the host */
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_GPUGROUPS_H
