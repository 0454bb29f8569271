//===- Shards.h - The parts of a tensor that all ranks hold, in one process
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of a layout, executable: `scatter` makes the local parts of a whole tensor,
// `gather` is the whole that local parts stand for, defined only if replicas agree.
// Every distributed op must commute with these. Collectives are functions on lists of
// tensors. Time axes count like others: a *position* is a pair of slot and rank, numbered
// slot * ranks + rank.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_EVALUATE_SHARDS_H
#define DTCC_PASSES_SPMD_EVALUATE_SHARDS_H

#include "dialects/interfaces/HostTensor.h"
#include "dialects/spmd/Layout.h"
#include "passes/spmd/reshard/ReshardPlanner.h"
#include "llvm/Support/Error.h"

namespace dtcc::spmd {

/// Local tensors, one a position (or one a rank, where there is one slot).
using Shards = std::vector<HostTensor>;

/// The parts of `whole` at all `slots` x ranks positions. What is partial is split into uneven terms of
/// both signs that depend on `seed`; padded cells hold `padding`.
Shards scatter(const HostTensor &whole, const Layout &layout, const Mesh &mesh, double padding, uint64_t seed);

/// The tensor of `shape` that the parts stand for. Fails, with the cell, if replicas differ
/// by more than `tolerance` times their size.
llvm::Expected<HostTensor> gather(const Shards &parts, const Layout &layout, const Mesh &mesh,
                                  llvm::ArrayRef<int64_t> shape, double tolerance = 0);

/// One move on the parts at all positions, or, with `slot` >= 0, on the ranks' parts in that slot.
Shards moveShards(const Shards &parts, const Move &move, const Mesh &mesh, int64_t slot = -1);

/// The part `index` of `count` along a dimension.
HostTensor sliceDim(const HostTensor &x, int64_t dim, int64_t index, int64_t count);
/// Joins along a dimension.
HostTensor concatDim(llvm::ArrayRef<const HostTensor *> parts, int64_t dim);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_SHARDS_H
