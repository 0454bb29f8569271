//===- BlockTable.h - Facts that all prices of a step share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search prices the blocks of one step for hundreds of placements and numbers of samples.
// Facts that depend on neither are collected once, as numbers: the factor maps of ops, how
// dimensions are split, and the live ranges of values.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_BLOCKTABLE_H
#define DTCC_PLANNER_MODEL_BLOCKTABLE_H

#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/placement/SolvePlacement.h"
#include "planner/step/StepValues.h"

namespace dtcc::spmd {

/// The ranks over which a dimension is split, besides axes of the model. Group: samples of all ranks that hold the
/// experts together; each of these experts may be picked by all of the samples.
enum class SharedBy : uint8_t { Nothing, Batch, Experts, Positions, Group };
inline constexpr size_t kSharedBy = 5;

class BlockTable {
public:
  /// `input` and `values` must outlive the table.
  BlockTable(const PlacementInput &input, const StepValues &values);

  /// An op with a factor map that represents all equal ops of repeated blocks.
  struct Op : PlannedOp {
    mlir::Operation *op;
    graph::Phase phase;
    int64_t origin;
    /// The ranks that split each factor.
    llvm::SmallVector<SharedBy> shared;
  };
  const Op *find(mlir::Operation *op) const {
    auto at = numbers.find(input.blocks.representative(op));
    return at == numbers.end() ? nullptr : &ops[at->second];
  }
  SharedBy sharedDim(mlir::Value value, int64_t dim) const { return sharedBy(input.classes.ofDim(value, dim)); }

  /// Values of these ops that have memory of their own, in the order of the step.
  llvm::ArrayRef<mlir::Value> owned() const { return values; }
  /// The number of a value, or of the value that represents it, among owned().
  std::optional<uint32_t> numberOf(mlir::Value value) const;

  /// Live ranges of values that are not saved for the backward pass, over the whole step under a mode of recomputation.
  /// Recomputed values begin at their first reader. Of blocks in a row that are alike two have events.
  struct Event {
    enum Kind : uint8_t { Begins, Ends, BlockRuns } kind;
    /// The number of the value among `owned`, or the type of the block.
    uint32_t number;
    bool operator==(const Event &) const = default;
  };
  llvm::ArrayRef<Event> events(plan::Recompute mode) const { return lives[size_t(mode)]; }

  /// A trained state as the first block reads it, and the types of the other blocks that read it.
  struct Tied {
    mlir::Value value;
    uint32_t type;
    int64_t copyBytes;
    llvm::SmallVector<uint32_t> others;
  };
  llvm::ArrayRef<Tied> tied() const { return shares; }

  const PlacementInput &input;
  const StepValues &step;

private:
  SharedBy sharedBy(unsigned id) const;
  void addOps();
  void addEvents(plan::Recompute mode);
  void addTied();

  std::vector<Op> ops;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  std::vector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, uint32_t> valueNumbers;
  std::array<std::vector<Event>, kRecomputeModes> lives;
  std::vector<Tied> shares;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_BLOCKTABLE_H
