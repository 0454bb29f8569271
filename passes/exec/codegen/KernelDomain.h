//===- KernelDomain.h - The loops of a fused kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fused kernel has one iteration space, its *domain*. Every value inside walks a
// subset of the domain's dimensions: a bias [f] in the domain [b, t, f] walks {2}.
// From these maps follow the addresses (through strides) and the loop level of every
// computation. The analysis is shared by the fusion pass, which asks "could these ops
// be one kernel?", and by the generator.
//
// There are three kinds of kernel:
//   Map     no reduction; parallel over blocks of the domain
//   Row     reductions over dimensions that include the innermost: parallel over the
//           others, one pass over the row for each level of dependent reductions, one
//           to store. Norms, softmax.
//   Column  reductions over dimensions without the innermost: parallel over blocks of
//           columns. Bias and scale gradients.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_KERNELDOMAIN_H
#define DTCC_PASSES_EXEC_CODEGEN_KERNELDOMAIN_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace dtcc::exec {

enum class KernelKind { Map, Row, Column };

struct KernelDomain {
  KernelKind kind = KernelKind::Map;
  llvm::SmallVector<int64_t> sizes;
  /// Domain dimensions that the kernel reduces over, increasing; empty for Map.
  llvm::SmallVector<int64_t> reduced;
  /// Per value of the kernel (operands included): the domain dimension that each of
  /// its dimensions walks.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> maps;
  /// Broadcasts of a value from outside that walk it otherwise than `maps` says, as one of x[i] and x[j] in
  /// x[i] - x[j]: the kernel takes the value once more for each.
  llvm::SmallVector<mlir::Operation *> apart;

  bool isReduced(int64_t dim) const { return llvm::is_contained(reduced, dim); }
  /// Whether `value` walks each dimension that is not reduced and no other: one cell a row.
  bool isRowValue(mlir::Value value) const;
  /// Whether `value` walks the whole domain.
  bool isFullValue(mlir::Value value) const;

  /// Finds the domain of `ops` (in order, all of them fusible), or fails if they are
  /// not one kernel. `isOutput` says which values must be stored.
  static mlir::FailureOr<KernelDomain> analyze(llvm::ArrayRef<mlir::Operation *> ops,
                                               llvm::function_ref<bool(mlir::Value)> isOutput);
};

/// Whether the generator knows the op: elementwise, broadcast, reduce, splat constant, iota.
bool isFusible(mlir::Operation *op);
/// Fusible ops that cost nothing to repeat in each kernel that uses them.
bool isDuplicable(mlir::Operation *op);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_KERNELDOMAIN_H
