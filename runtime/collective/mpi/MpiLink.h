//===- MpiLink.h - Messages by MPI ---------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every message is an MPI_Isend and an MPI_Irecv that this rank's thread tests again and again,
// because a call that blocks cannot be ended: a wait asks the rank's watch, as waits for shared
// memory do. While it waits, a rank also answers others that ask what it waits for.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_MPI_MPILINK_H
#define DTCC_RUNTIME_COLLECTIVE_MPI_MPILINK_H

#include "runtime/collective/network/Link.h"

#include <list>
#include <mpi.h>

namespace dtcc::rt {

class MpiLink final : public Link {
public:
  /// `comm` and `watch` outlive it. `crowded`: waits give up the core at once.
  MpiLink(MPI_Comm comm, Watch &watch, bool crowded, Tell tell)
      : comm(comm), watch(watch), crowded(crowded), tell(std::move(tell)) {}
  /// Waits for messages that are still here.
  ~MpiLink() override;

  void post(int64_t rank, uint32_t channel, std::vector<std::byte> data) override;
  void drain(int64_t rank, size_t most, const Describe &wait) override;
  int64_t take(int64_t rank, uint32_t channel, void *into, int64_t bytes, const Describe &wait) override;

  /// Answers questions of other ranks. Called in every wait, by the rank's thread.
  void answer();
  /// Only a rank that waits answers.
  Notes ask(std::span<const int64_t> ranks) override;

  /// Whether this rank is the first to say why all end, as far as it knows after `seconds`; then it tells the others.
  bool speaksFirst(int64_t ranks, double seconds);

private:
  struct Sent {
    int64_t rank;
    std::vector<std::byte> data;
    MPI_Request request;
  };

  /// Frees messages that are gone; returns how many to `rank` are not.
  size_t pending(int64_t rank);
  /// Tests `done` until it holds; throws if the watch ends the wait.
  template <typename Done> void wait(Done &&done, const Describe &describe);

  MPI_Comm comm;
  Watch &watch;
  bool crowded;
  std::list<Sent> sent; /* MPI keeps the address of their bytes */
  Tell tell;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_MPI_MPILINK_H
