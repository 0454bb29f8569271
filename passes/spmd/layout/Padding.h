//===- Padding.h - What padded cells hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Padding of states is zero. What it is further on follows from the ops: a linear op keeps
// zeros, gelu of zero is zero, exp of zero is not. A sum over padded cells is right only if
// they are zero, and so is the update of a padded state (rules V6 and V7). What is positive may be
// divided by: the weights of a router's picks by their sum. One rule, PaddingAnalysis::whyNotPadded, answers for
// distributed steps, which spmd-verify checks, and for whole ones, which plans are made of.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PADDING_H
#define DTCC_PASSES_SPMD_LAYOUT_PADDING_H

#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/FactorClasses.h"
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace dtcc::spmd {

/// Positive cells are finite too.
enum class PaddingContent { Zero, Positive, Finite, Unknown };

class PaddingAnalysis {
public:
  using IsPadded = std::function<bool(mlir::Value, int64_t dim)>;
  /// Analyses `ops`, in the order of their step. The padded dimensions are those of which `isPadded` is true; their
  /// content depends on no other dimension.
  PaddingAnalysis(llvm::ArrayRef<mlir::Operation *> ops, IsPadded isPadded);
  /// Analyses a function on !spmd.tensor.
  explicit PaddingAnalysis(mlir::func::FuncOp step);

  /// Content of the cells past the size of a dimension. Zero if there are none.
  PaddingContent of(mlir::Value value, int64_t dim) const;
  /// Why padding would falsify what `op` computes or be trained by it; nothing if it does neither.
  std::optional<std::string> whyNotPadded(mlir::Operation *op) const;

private:
  /// Whether the sum of `op` over a padded factor sees zeros in the padding.
  bool sumsZeros(mlir::Operation *op, const FactorMap &map, int64_t factor) const;
  /// Whether the factor is padded on some operand or result.
  bool isFactorPadded(mlir::Operation *op, const FactorMap &map, int64_t factor) const;
  PaddingContent transfer(mlir::Operation *op, const FactorMap &map, unsigned result, int64_t factor) const;
  /// The content of an operand along a factor, of all dimensions that walk it; nothing if none does.
  std::optional<PaddingContent> along(mlir::Operation *op, const FactorMap &map, unsigned operand,
                                      int64_t factor) const;

  IsPadded isPadded;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, PaddingContent> contents;
};

/// Says which classes of dimensions may be padded. Planners leave the others whole where they do not divide, and plans
/// that pad them are refused. A class is analysed when it is asked about: a search asks about few of them. Any thread
/// may ask.
class PaddableClasses {
public:
  /// The step must not change while it is asked about.
  PaddableClasses(mlir::func::FuncOp step, const FactorClasses &classes);

  /// The first op that cannot have the class padded, and why.
  struct Obstacle {
    mlir::Operation *op;
    std::string why;
  };
  /// Null if the class may be padded.
  const Obstacle *obstacleOf(unsigned id) const;

private:
  const FactorClasses &classes;
  /// The ops that see each class, in the order of the step.
  std::vector<llvm::SmallVector<mlir::Operation *, 0>> opsOf;
  mutable std::mutex asking;
  mutable std::map<unsigned, std::optional<Obstacle>> known;
};

/// The end of a message about samples: names an input with another number of rows a step than the first input, which
/// may have no dimension of samples. Empty if there is none.
std::string describeOtherRows(mlir::func::FuncOp step);

/// Samples are not padded. Fails with a message if an input of a training step has none, which are its first dimension,
/// or a number of them that does not divide by `parts`, micro-batches times data-parallel ranks.
mlir::LogicalResult checkInputSamples(mlir::func::FuncOp step, int64_t parts);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PADDING_H
