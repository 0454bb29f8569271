//===- Factors.h - Which dimensions of an op are one loop
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *factor* is one loop of an op, in the way an einsum names its letters:
// `contract "bk,kn->bn"` has the factors b, k and n. A factor map says which
// factor every dimension of every operand and result walks. It is all that
// verification, planning, partitioning and padding know of an op:
//
//  - dimensions of one factor have one size (the generic verifier);
//  - a plan assigns mesh axes to factors; the layouts of operands and results are
//    projections of that, so an op cannot disagree with itself;
//  - axes on a factor that the result has not (a reduction) leave the result
//    partial over these axes;
//  - a partial operand is legal only where the op is linear in it, or reads its own
//    part of it (`ownParts`).
//
// A result that walks a factor is sharded by it, of whatever kind. One that does not
// is partial over the factor's axes if the factor is Reduce, or Index with `partial`
// (cross_entropy: rows are Reduce, sum and count become partial, lse is sharded), and
// the same on all ranks otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_FACTORS_H
#define DTCC_DIALECTS_INTERFACES_FACTORS_H

#include "mlir/IR/OpDefinition.h"
#include "runtime/abi/Collectives.h"
#include "llvm/ADT/SmallVector.h"

namespace dtcc {

/// Dependence of the iterations of a factor on each other.
enum class FactorKind {
  /// Independent: each part of the result comes from the same part of the operands.
  Parallel,
  /// Summed (or max, min) away: a part gives a partial result.
  Reduce,
  /// Wanted whole by the op.
  Replicate,
  /// Neighbouring parts overlap (convolution, pooling, shift).
  Window,
  /// Independent, given the global offset of the part (iota, random numbers,
  /// rows of an embedding table). With `partial`, the result is partial over it.
  Index,
  /// Coupled, but the op has a local form with partial results and their merge
  /// (softmax, norms, cross entropy over classes, attention over keys).
  Decompose,
};

/// Content that padded cells of an operand must have along a factor, so that the rest of the
/// result is right.
enum class PaddingNeed {
  /// Anything: padded cells reach only padded cells.
  Any,
  /// The neutral element of the reduction (0 for a sum).
  Neutral,
  /// The op knows the unpadded size and skips padded cells.
  Skipped,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Kind of reduction, of Reduce factors and of Index factors whose result is partial.
  Reduction reduction = Reduction::Sum;
  /// Index factors only: results are partial over the axes of this factor.
  bool partial = false;
  PaddingNeed padding = PaddingNeed::Any;
};

/// Marks a dimension without a factor, which must not be sharded.
constexpr int64_t kNoFactor = -1;

/// The factor map of one op instance.
struct FactorMap {
  llvm::SmallVector<Factor> factors;
  /// Index into `factors`, or kNoFactor, for each dimension of each operand.
  llvm::SmallVector<llvm::SmallVector<int64_t>> operands;
  /// Likewise for each dimension of each result.
  llvm::SmallVector<llvm::SmallVector<int64_t>> results;
  /// Sets of operands in which the op is jointly linear: add {{0, 1}},
  /// contract {{0}, {1}}. Partial sums may enter through all members of one set.
  llvm::SmallVector<llvm::SmallVector<unsigned>> linear;

  /// An operand of which every shard of an index factor reads the rows that name it
  /// alone: the integers of operand `ids` are indices along `factor`, and the operand's
  /// leading dimensions are theirs. It arrives partial over the factor's axes, as a
  /// result of the same factor was left (`experts` and its backward ops).
  struct OwnPart {
    unsigned operand;
    int64_t factor;
    unsigned ids;
  };
  llvm::SmallVector<OwnPart> ownParts;

  /// Adds a factor and returns its index.
  int64_t add(int64_t size, FactorKind kind = FactorKind::Parallel);
  /// The factors that no result dimension walks.
  llvm::SmallVector<int64_t> reducedFactors() const;
  /// Whether this is the map of a product of two operands: linear in each by itself.
  bool multiplies() const;
};

/// One parallel factor a dimension, walked by all operands and results of that
/// rank; rank-0 operands walk none. For elementwise ops; `linear` is left empty.
FactorMap elementwiseFactorMap(mlir::Operation *op);

/// Verifies that each dimension has its factor's size and that ranks agree.
mlir::LogicalResult verifyFactorMap(mlir::Operation *op, const FactorMap &map);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_FACTORS_H
