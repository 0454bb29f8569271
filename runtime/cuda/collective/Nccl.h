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

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_NCCL_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_NCCL_H

#include "runtime/cuda/collective/NcclMember.h"

namespace dtcc::rt::cuda {

/// Buffers are addresses of the GPU. Calls return at once: the work stands on the stream that useStream named.
class NcclCommunicator final : public Communicator {
public:
  /// Every member calls it with its handle of the group. Null, for all members, if one of them cannot.
  /// `dog` watches what it does, or is null.
  static std::unique_ptr<NcclCommunicator> open(Communicator &host, std::string name, Gpu &gpu, Watchdog *dog);
  NcclCommunicator(const NcclCommunicator &) = delete;

  /// Whether GPUs run this command among themselves: the collectives that this class implements. Others go through the
  /// host. Exchanges of rows need kernels besides (GpuRows.h), which call `exchange`.
  static bool takes(const dtcc_command &command);
  /// A piece of memory to each member, and one from each; empty ones are neither sent nor waited for.
  struct Piece {
    void *data;
    int64_t bytes;
  };
  void exchange(std::span<const Piece> sends, std::span<const Piece> receives);
  void useStream(CUstream other) { stream = other; }
  /// Whether two of the members share a GPU.
  bool sharesGpu() const { return use == NcclUse::SharedGpus; }

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override;
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override;
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void shift(const void *in, void *out, int64_t bytes) override;

  // The methods from here on throw. GpuRows exchanges rows instead, and messages for which takes() is false go through
  // the host.
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) override;
  void barrier() override;
  void reserveSend(int64_t peer, int64_t bytes) override;
  void send(const void *data, int64_t bytes, int64_t peer) override;
  void receive(void *data, int64_t bytes, int64_t peer) override;

  /// NCCL's own buffers are not counted: it does not say how large they are.
  uint64_t stagingBytes() const override { return 0; }

private:
  NcclCommunicator(Communicator &host, const NcclId &id, NcclUse use, std::string name, Gpu &gpu, Watchdog *dog)
      : Communicator(host.size(), host.index()), member(id, host.size(), host.index(), std::move(name), gpu, dog),
        use(use) {}
  /// Sends and receives that NCCL runs together: `calls(group)` makes them.
  template <typename Calls> void issueGroup(const char *what, Calls &&calls);

  NcclMember member;
  NcclUse use;
  CUstream stream = nullptr;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_NCCL_H
