//===- Buckets.h - Which bucket every state lives in, and where
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States share a bucket if one collective and one update can serve them: the same axes
// shard them, their gradients are partial over the same axes, the same axes share them
// in the same stage, they belong to one unit, they have one element type, one compute
// type and one type of gradients, all or none of them train, by the same optimizer, and what only the update touches
// lies in the same memory. In a pipeline, gradients that are kept as shares share a bucket if the same phases make
// them: it is then complete at the end of each.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_BUCKETS_H
#define DTCC_PASSES_SPMD_PARTITION_BUCKETS_H

#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "planner/parallelism/StateTable.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace dtcc::spmd {

using plan::StateRow;
using plan::stateRow;

/// `axes` if ranks share a state over them, else none.
inline Axes sharedAxes(bool shared, const Axes &axes) { return shared ? axes : Axes(); }

/// States start at multiples of this, in elements: 64 bytes of f32. Those with slots of codes start at whole blocks.
constexpr int64_t kBucketAlignment = 16;

/// Properties that all states of a bucket share.
struct BucketKey {
  /// In the order of the mesh.
  Axes sharded, partial, flat;
  /// Type that is stored, and type that readers see. If they differ, the first is the master's.
  mlir::Type elementType, computeType;
  bool isNarrow() const { return elementType != computeType; }
  /// Type in which gradients are kept and reduced.
  mlir::Type gradientType;
  /// The stage of the state table; 0 without flat axes.
  int64_t stage = 0;
  std::string unit;
  bool trainable = false;
  /// The optimizer that updates the states; null if none does.
  mlir::Attribute optimizer;
  /// Tensors that only the update touches are offloaded to the host.
  bool offloaded = false;
  graph::StateRole role = graph::StateRole::parameter;
  /// Ranks of a pipeline that hold copies, if several do.
  std::vector<int64_t> owners;
  /// Phases of a rank of a pipeline that make parts of the gradients, ascending, if these are shares.
  std::vector<int64_t> makers;
  /// The state, if others may not join it: one that several stages hold, which make its gradient in different phases.
  std::string alone;
  bool operator==(const BucketKey &) const = default;
};

struct Bucket {
  BucketKey key;
  /// "0", "1", ...: the part of the names after the dot.
  std::string number;
  /// Elements of the whole local bucket, padded.
  int64_t length = 0;
  llvm::SmallVector<graph::StateOp> states;
  /// `work`: where a micro-batch's whole gradients are made, if the gradients are shares.
  /// `copy`: what readers see, if it is kept beside the values.
  /// `average`: the average of the values over the steps, if there is one.
  /// `slots` end with the factors of an optimizer that has them.
  mlir::FlatSymbolRefAttr values, gradients, work, copy, average;
  llvm::SmallVector<mlir::Attribute> slots;
};

/// How many factors the optimizer keeps of the tensors of a bucket.
int64_t factorsIn(const Bucket &bucket, graph::OptimizerAttrInterface optimizer);

/// The gradient of a state as the step makes it.
struct GradientPlace {
  Layout layout;
  /// The phases of this rank that compute parts of the bucket.
  std::set<int64_t> phases;
};

struct StatePlace {
  size_t bucket;
  int64_t offset;
  mlir::RankedTensorType localType;
};

/// All buckets of a step.
class StageMap;

class Buckets {
public:
  /// Places all states of the module. `gradients` says where each trained state's gradient is made.
  /// `optimizer` is that of the step, or null. With `stages`, those alone that the stage `stage` holds.
  static mlir::FailureOr<Buckets> plan(mlir::ModuleOp module, const Mesh &mesh,
                                       const llvm::StringMap<GradientPlace> &gradients, mlir::Attribute optimizer,
                                       const StageMap *stages = nullptr, int64_t stage = 0);
  /// Adds the spmd.bucket ops, and to each state its bucket and offset.
  /// With `averages` parameters that train have an average over the steps. Besides the scalars of a step, the bucket of
  /// scalars has room for `predicted` cells.
  void emit(mlir::OpBuilder &builder, mlir::Location loc, bool averages, int64_t predicted);

  const StatePlace *find(llvm::StringRef state) const;
  /// The bucket that the gradient of a state in `bucket` is accumulated in.
  static mlir::FlatSymbolRefAttr accumulator(const Bucket &bucket) {
    return bucket.work ? bucket.work : bucket.gradients;
  }
  /// The value of a state: a view of its bucket, or of the gathered shares. One gather for
  /// each state: spmd-place-units makes one of those that can share it.
  mlir::Value read(mlir::OpBuilder &builder, mlir::Location loc, const StatePlace &place) const;
  /// Emits, at the end of `phase`, the reductions of the gradients that it accumulates in transient buckets.
  void emitShares(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &phase) const;
  /// Begins the gradient of a state with zeros, where nothing else is accumulated.
  void clearGradient(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef state) const;
  llvm::ArrayRef<Bucket> all() const { return buckets; }

  /// Offsets in the bucket of scalars.
  static constexpr int64_t kLossSum = 0, kCount = 1, kPrediction = 16;
  static constexpr llvm::StringLiteral kScalars = "scalars";

private:
  std::vector<Bucket> buckets;
  llvm::StringMap<StatePlace> places;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_BUCKETS_H
