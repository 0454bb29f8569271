//===- NcclMember.h - A rank in a communicator of NCCL ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libnccl is opened when a program starts. Who uses it makes members: of a group's
// collectives (Nccl.h), of each pair that sends messages (NcclMessages.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMEMBER_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMEMBER_H

#include "runtime/collective/Communicator.h"
#include "runtime/cuda/collective/Watchdog.h"

#include <climits>

namespace dtcc::rt::cuda {

struct NcclId {
  char bytes[128];
};

/// ncclConfig_t as NCCL 2.17 has it, which says so itself: older libraries read a part, later ones add to its end.
struct NcclConfig {
  static constexpr int kUndefined = INT_MIN;
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21700;
  int blocking = 1, clusterSize = kUndefined, fewestBlocks = kUndefined, mostBlocks = kUndefined;
  const char *network = nullptr;
};

#define DTCC_NCCL_NUMBER(NAME, THEIRS, VALUE) constexpr int NAME = VALUE;
#include "runtime/cuda/collective/Nccl.def"

struct Nccl {
#define DTCC_NCCL_FUNCTION(FIELD, SYMBOL, PARAMETERS) int(*FIELD) PARAMETERS = nullptr;
#include "runtime/cuda/collective/Nccl.def"
  const char *(*errorString)(int error) = nullptr;
  /// Reason why NCCL is not available; empty if it is.
  std::string problem;
};

/// The library, if it is there. The first call says so where it is not.
const Nccl &nccl();

/// How the members of a group use the library among themselves. Members may share a GPU if NCCL_MULTI_RANK_GPU_ENABLE=1
/// says so to NCCL 2.30 or later.
enum class NcclUse { None, OwnGpus, SharedGpus };

class NcclMember {
public:
  /// None if a member does not have the library, or two share a GPU and may not. Every member calls it, and gets the
  /// same answer.
  static NcclUse agree(Communicator &host, const Gpu &gpu);
  /// Throws Error(Status::Device).
  static NcclId makeId(const Gpu &gpu);

  /// Joins: waits for all `size` members of `id`. `name`: of the group, for messages. `dog` watches what it does, or is
  /// null. `mostBlocks`: of a kernel of NCCL, each with buffers of its own; 0: as many as it likes.
  NcclMember(const NcclId &id, int64_t size, int64_t index, std::string name, Gpu &gpu, Watchdog *dog,
             int mostBlocks = 0);
  ~NcclMember();
  NcclMember(const NcclMember &) = delete;
  NcclMember &operator=(const NcclMember &) = delete;

  /// Puts a call of the library on a stream: `call(group)` makes it and returns its status. `what` names it.
  template <typename Call> void issue(const char *what, CUstream stream, Call &&call) {
    issueUnwatched(what, std::forward<Call>(call));
    watch(what, stream);
  }
  /// Does the same for a call that nobody waits for yet: `watch` says when somebody does.
  template <typename Call> void issueUnwatched(const char *what, Call &&call) {
    // NCCL connects members when they first meet: a call may wait for them.
    finish(what, gpu.waiting([&] { return call(group); }));
  }
  /// `stream` waits for a call from now on.
  void watch(const char *what, CUstream stream);

private:
  void finish(const char *what, int error);

  void *group = nullptr;
  std::string name;
  Gpu &gpu;
  Watchdog *dog;
  Watchdog::Group watched;
  uint64_t watchedCalls = 0;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_NCCLMEMBER_H
