//===- FactorClasses.h - Which dimensions of a training step are one
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions that one factor of some op walks are of one class, over the whole step: the
// batch, the embedding, the vocabulary. Samples are split by class, and padding is chosen by
// class, so that a tensor never changes its padding between ops.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_FACTORCLASSES_H
#define DTCC_PASSES_SPMD_LAYOUT_FACTORCLASSES_H

#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::spmd {

class FactorClasses {
public:
  /// Finds the classes of a function after differentiation: `graph.read` and `graph.update` tie
  /// dimensions of states to those of their values and gradients.
  explicit FactorClasses(mlir::func::FuncOp step);

  /// The class of a dimension of a value, of a state, of a factor of an op.
  unsigned ofDim(mlir::Value value, int64_t dim) const { return classes[values.lookup(value) + dim]; }
  unsigned ofState(llvm::StringRef state, int64_t dim) const { return classes[states.lookup(state) + dim]; }
  unsigned ofFactor(mlir::Operation *op, int64_t factor) const { return classes[factors.lookup(op) + factor]; }
  unsigned count() const { return classes.getNumClasses(); }

private:
  unsigned reserve(unsigned number);
  void join(unsigned a, unsigned b, unsigned number);
  unsigned stateNode(llvm::StringRef name, unsigned rank);

  llvm::IntEqClasses classes;
  unsigned nodes = 0;
  llvm::DenseMap<mlir::Value, unsigned> values;
  llvm::DenseMap<mlir::Operation *, unsigned> factors;
  llvm::StringMap<unsigned> states;
};

/// The classes of dimensions that inputs bring.
struct InputClasses {
  InputClasses(mlir::func::FuncOp step, const FactorClasses &classes);

  /// Samples, and all other dimensions of inputs.
  llvm::DenseSet<unsigned> batch, others;
  /// Positions in sequences: dimension 1 of inputs of tokens and labels.
  llvm::DenseSet<unsigned> positions;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_FACTORCLASSES_H
