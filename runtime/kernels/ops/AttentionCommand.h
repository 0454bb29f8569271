//===- AttentionCommand.h - An attention command, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands and attributes of the four attention ops, checked, and what a slot of them
// amounts to: one problem, or (of a part of the keys) one for every pair of runs of positions.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_ATTENTIONCOMMAND_H
#define DTCC_RUNTIME_KERNELS_OPS_ATTENTIONCOMMAND_H

#include "runtime/kernels/AttentionRuns.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/vector/AttentionProblem.h"

#include <array>
#include <vector>

namespace dtcc::rt {

/// Attention or its gradient. The two differ in their operands behind the masks. Attention to a part of the keys has
/// more attributes, and sums in f32 whatever the type of the rest.
class AttentionCommand {
public:
  /// Throws Error if operands or attributes are not those of LibraryOps.def.
  AttentionCommand(const CheckedOperands &operands, const Rank &rank, bool backward, bool isPart);

  /// Computes the attention. The addresses in its tensors are those of the `buffers` of run.
  class Solver {
  public:
    virtual ~Solver() = default;
    virtual void solve(const AttentionProblem &problem) = 0;
    /// Sets all cells of an f32 tensor of these sizes.
    virtual void fill(const AttentionTensor &tensor, const std::array<int64_t, 5> &sizes, float value) = 0;
  };
  /// The work of the running slot.
  void run(const Rank &rank, void *const *buffers, Solver &solver) const;

  /// Sizes, strides and masks, without addresses and the rank's first query.
  const AttentionProblem &problem() const { return p; }
  /// The problem with the offsets that follow from the rank's coordinates.
  AttentionProblem problemOf(const Rank &rank) const;
  /// Whether operands say which keys are seen.
  bool hasMasks() const { return hasKey || hasSegments; }
  /// Type of all tensors but lse, and but the sums of a part.
  dtcc_dtype type() const { return elementType; }
  const bool backward, isPart;

private:
  void bindMask(const CheckedOperands &operands);
  void bindPart(const CheckedOperands &operands, const Rank &rank);
  std::vector<AttentionRun> keyRuns(int64_t index, int64_t back) const;
  void runPart(const Rank &rank, const AttentionProblem &here, Solver &solver) const;

  AttentionProblem p;
  dtcc_dtype elementType = DTCC_F32;
  bool hasKey = false, hasSegments = false;
  int64_t queries = -1; // communicator over which they are split
  size_t next = 3;      // operand behind the masks
  // Attributes of an attention part.
  int64_t keys = -1, keyShards = 1, queryShards = 1, shift = 0, chunks = 0, length = 0, queryLength = 0;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_ATTENTIONCOMMAND_H
