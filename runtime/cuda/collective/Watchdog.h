//===- Watchdog.h - Ends waits for a GPU that are in vain -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective of NCCL is a kernel that waits for the other members' kernels. If one of
// them has died it waits for ever, and the host with it. So while the rank's thread waits
// for its GPU another one looks, ten times a second, what ends waits in vain
// (collective/Watch.h), and what NCCL says of its communicators; if there is a reason it
// aborts them, which ends their kernels, and the rank's thread goes on with an Error.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_COLLECTIVE_WATCHDOG_H
#define DTCC_RUNTIME_CUDA_COLLECTIVE_WATCHDOG_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Watch.h"
#include "runtime/cuda/driver/Gpu.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace dtcc::rt::cuda {

class Watchdog final : public GpuWaits {
public:
  /// For the rank of `gpu`, which outlives it, from now on. `transport` has a watch.
  Watchdog(Gpu &gpu, int64_t rank, Transport &transport);
  ~Watchdog() override;

  /// A communicator of NCCL is there. `error` says what NCCL found wrong with it, or nothing; `abort` ends its kernels,
  /// from another thread than the rank's.
  struct Group {
    std::function<std::string()> error;
    std::function<void()> abort;
  };
  /// The group stays where it is until `remove`.
  void add(Group &group);
  /// Way in which a group is closed: in NCCL's regular way, without waiting for its kernels, or not at all.
  enum class Close { Destroy, Abort, Nothing };
  Close remove(Group &group);

  /// Records a call of NCCL that was put on `stream`: its name ("ncclAllReduce"), its group, and its number among the
  /// calls of this group.
  void issued(const char *call, const std::string &group, uint64_t number, CUstream stream);

  // GpuWaits, by the rank's thread.
  void begin(std::string_view doing) override;
  void end() override;

private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    CUevent done;
    const char *name;
    std::string group;
    uint64_t number;
  };

  void loop();
  /// Returns the reason why a wait of `seconds` must end, or nothing.
  std::optional<Error> reason(double seconds);
  /// "rank 1, GPU 1 (..), in NAME: ncclAllReduce, call 17 of group 'dp'"
  std::string place();
  void giveUp();

  Gpu &gpu;
  int64_t rank;
  Transport &transport;
  std::mutex lock;
  std::condition_variable changed;
  bool closing = false;
  bool waiting = false;
  Clock::time_point since;
  std::string doing;
  std::set<Group *> groups;
  std::vector<Call> calls; /* the last ones, a ring */
  uint64_t issuedCalls = 0;
  std::optional<Error> failure; /* with which the rank's thread goes on */
  std::thread thread;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_COLLECTIVE_WATCHDOG_H
