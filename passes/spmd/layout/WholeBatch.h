//===- WholeBatch.h - Values of all samples, in every micro-batch
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss of several terms divides each by a number of the whole batch: of labels that are not ignored, or the sum of a
// mask. A micro-batch has a part of the samples, and the parts of others are not there yet. Such a number depends on
// inputs alone, so every micro-batch computes it again, from inputs that it reads whole:
//
//   %labels: [{mb,dp}]                       %labels: [{mb,dp}], %again: [{dp}]
//   %count = reduce sum %ones : partial mb   %whole = reduce sum .. %again .. : partial dp
//   %mean = div %sum, %count                 %mean = div %sum, %whole
//
// The cost is that of reading these inputs once a micro-batch. Values that depend on trained states, and products that
// frozen ones reach, are not computed so: that would be the forward pass of the whole batch in every micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_WHOLEBATCH_H
#define DTCC_PASSES_SPMD_LAYOUT_WHOLEBATCH_H

#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/Placement.h"

namespace dtcc::spmd {

class WholeBatch {
public:
  /// `placements` has those of all ops that have layouts. `reshard` brings an operand to a layout.
  using Placements = llvm::DenseMap<mlir::Operation *, Placement>;
  using Reshard = llvm::function_ref<mlir::Value(mlir::Value, const Layout &, mlir::Operation *user)>;
  WholeBatch(mlir::func::FuncOp step, const Mesh &mesh, const Placements &placements)
      : step(step), mesh(mesh), placements(placements) {}

  /// Whether micro-batches have parts of `value`, and it depends on inputs, constants and states that do not train, on
  /// the last without a product.
  bool canCompute(mlir::Value value) const;
  /// Computes `value` before `user` from the samples of all micro-batches. The result's layout has no
  /// time axis. Null after a message.
  mlir::Value compute(mlir::Value value, mlir::Operation *user, Reshard reshard);

private:
  bool isSplit(mlir::Value value) const;
  Axes withoutTime(Axes axes) const;
  /// The input of `argument` once more, read whole.
  mlir::Value readWhole(mlir::BlockArgument argument);

  mlir::func::FuncOp step;
  const Mesh &mesh;
  const Placements &placements;
  /// Whole values by the values of micro-batches, of the step and of its evaluation.
  llvm::DenseMap<mlir::Value, mlir::Value> computed;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_WHOLEBATCH_H
