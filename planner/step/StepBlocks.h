//===- StepBlocks.h - A training step as a row of blocks, most of them alike
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner looks at a model as a row of blocks: what stands between two places where a
// pipeline may be cut. Blocks of the same structure, the layers of a model, are of one type:
// their placement is solved once, and they are priced once.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_STEPBLOCKS_H
#define DTCC_PLANNER_STEP_STEPBLOCKS_H

#include "planner/step/GivenPlacement.h"
#include "planner/step/Pins.h"
#include "llvm/ADT/DenseMap.h"

namespace dtcc::spmd {

/// Blocks of a step above which pieces are joined. The number is the same for all searches of a model, so that a shape
/// has one price.
inline constexpr size_t kMostBlocks = 48;

class StepBlocks {
public:
  /// Cuts a differentiated step. While there are more than `most` blocks, pieces are joined to pairs that repeat.
  /// Blocks whose values are pinned to different layouts, or that a given plan places differently, are of different
  /// types.
  explicit StepBlocks(mlir::func::FuncOp step, size_t most = kMostBlocks, const Pins &pins = {},
                      const GivenPlacement *given = nullptr);

  struct Block {
    /// The block's first forward op. The block ends before the first op of the next.
    int64_t origin = 0;
    uint32_t type = 0;
    /// Values that are made before it and read in it or behind it, by the forward pass.
    llvm::SmallVector<mlir::Value> entering;
  };
  llvm::ArrayRef<Block> blocks() const { return row; }
  uint32_t types() const { return firsts.size(); }
  /// The first block of a type, and how many there are.
  uint32_t firstOf(uint32_t type) const { return firsts[type]; }
  int64_t countOf(uint32_t type) const { return counts[type]; }
  mlir::func::FuncOp step() const { return function; }

  /// The block of a tagged op of any phase; nothing for others (the update).
  std::optional<uint32_t> blockOf(mlir::Operation *op) const;
  /// The op at the same place in the first block of its type; the op itself if it is of no block.
  mlir::Operation *representative(mlir::Operation *op) const;
  /// The op at the same place in each block of its type, in their order; the op alone if it is of no block.
  llvm::SmallVector<mlir::Operation *> alike(mlir::Operation *op) const;
  /// The op's twin in the middle block of its type, whose neighbours are of the same type if there are many.
  mlir::Operation *typical(mlir::Operation *op) const;
  /// A value with all that reads it, as often as the step has the like: the value, the readers and their operands are
  /// those that represent them. A gradient that is handed to the update is read by the op that reads its state.
  struct Flow {
    mlir::Value value;
    llvm::SmallVector<std::pair<mlir::Operation *, unsigned>, 2> readers;
    int64_t times = 0;
  };
  llvm::ArrayRef<Flow> flows() const { return uses; }
  /// Ops that represent themselves, in program order.
  llvm::ArrayRef<mlir::Operation *> uniqueOps() const { return unique; }

private:
  void collect();
  void findFlows();
  /// Constraints that make blocks with equal ops different.
  struct Constraints {
    const Pins &pins;
    const GivenPlacement *given;
  };
  std::string signatureOf(uint32_t block, const Constraints &constraints) const;
  void joinPairs(size_t most, const Constraints &constraints);
  void classify(const Constraints &constraints);

  mlir::func::FuncOp function;
  std::vector<Block> row;
  std::vector<uint32_t> firsts;
  std::vector<int64_t> counts;
  /// Blocks of each type.
  std::vector<llvm::SmallVector<uint32_t>> members;
  /// Ops of every block in program order; and the block and position of every op.
  std::vector<llvm::SmallVector<mlir::Operation *>> ops;
  llvm::DenseMap<mlir::Operation *, std::pair<uint32_t, uint32_t>> places;
  llvm::SmallVector<mlir::Operation *> unique;
  std::vector<Flow> uses;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_STEPBLOCKS_H
