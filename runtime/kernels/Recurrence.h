//===- Recurrence.h - Recurrent layers over the threads of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over the steps: a product of the states of all samples with the recurrent weights, then the functions of the
// cell, sample by sample. All tensors are dense; LibraryOps.def says what they hold.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_RECURRENCE_H
#define DTCC_RUNTIME_KERNELS_RECURRENCE_H

#include "runtime/kernels/Matmul.h"
#include "runtime/kernels/RecurrenceTensors.h"

#include <optional>

namespace dtcc::rt {

class Recurrence {
public:
  /// Plans the products of the layer, or of its gradient, by the thread that runs them. Reserves what they need of
  /// `scratch`.
  Recurrence(const RecurrenceProblem &problem, bool gradient, const VectorKernels &kernels, TeamScratch &scratch);

  void run(ThreadTeam &team, const TeamScratch &scratch, const RecurrenceTensors &x) const;
  void run(ThreadTeam &team, const TeamScratch &scratch, const RecurrenceGradTensors &x) const;

private:
  /// Calls fn(sample) for all samples, shared out over the threads.
  template <typename Fn> void forEachSample(ThreadTeam &team, const Fn &fn) const;

  RecurrenceProblem p;
  const VectorKernels &kernels;
  /// Products of the gates that read the whole state, and of a gru's last gate.
  std::optional<Matmul> whole, last;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_RECURRENCE_H
