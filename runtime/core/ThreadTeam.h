//===- ThreadTeam.h - The threads of one rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated kernels and library ops of a rank share one team. The team is
// libgomp's own pool of the rank's thread, so oneDNN (which uses libgomp) and our
// kernels run on the same threads and no core is fought over (see OpenMp.h).
//
// A team belongs to the thread that made it: parallelFor may be called from that
// thread only, and does not nest.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_THREADTEAM_H
#define DTCC_RUNTIME_CORE_THREADTEAM_H

#include <cstdint>
#include <type_traits>

namespace dtcc::rt {

class ThreadTeam {
public:
  /// A team of `threads` (at least 1), the calling thread included. Sets the
  /// number of OpenMP threads of the calling thread to the same.
  explicit ThreadTeam(int threads);

  int threads() const { return count; }

  /// Parts that parallelFor makes of `extent`: at most one a thread, none
  /// smaller than `grain` but for rounding, at least 1.
  int parts(int64_t extent, int64_t grain) const;

  /// Calls fn(begin, end) once for each part of [0, extent). The partition is
  /// static: it depends on extent, grain and threads() alone. Runs inline when
  /// there is one part; does nothing when `extent` is 0.
  template <typename Fn> void parallelFor(int64_t extent, int64_t grain, Fn &&fn) {
    run(
        extent, parts(extent, grain),
        [](void *closure, int64_t begin, int64_t end, int) {
          (*static_cast<std::remove_reference_t<Fn> *>(closure))(begin, end);
        },
        const_cast<void *>(static_cast<const void *>(&fn)));
  }

  /// A parallel loop that passes the number of the part (0 .. parts - 1) as third argument, for partial results that
  /// are merged in a fixed order afterwards.
  template <typename Fn> void parallelParts(int64_t extent, int64_t grain, Fn &&fn) {
    run(
        extent, parts(extent, grain),
        [](void *closure, int64_t begin, int64_t end, int part) {
          (*static_cast<std::remove_reference_t<Fn> *>(closure))(begin, end, part);
        },
        const_cast<void *>(static_cast<const void *>(&fn)));
  }

private:
  using Body = void (*)(void *closure, int64_t begin, int64_t end, int part);
  void run(int64_t extent, int parts, Body body, void *closure);
  int count;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_THREADTEAM_H
