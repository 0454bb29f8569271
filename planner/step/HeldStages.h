//===- HeldStages.h - Stages of a pipeline as nodes of the model are held to them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An annotated model says of its nodes in which stage they run; the search cuts between
// blocks of the step. A block is in the stage of most of its nodes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_HELDSTAGES_H
#define DTCC_PLANNER_STEP_HELDSTAGES_H

#include "planner/step/StepBlocks.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::spmd {

/// The first block of each stage, by the stages of nodes of the model; empty if no cut between blocks gives each stage
/// one, in ascending order. Blocks without a node that is named belong to the stage before.
std::vector<uint32_t> blocksOfStages(const StepBlocks &blocks, const llvm::StringMap<int64_t> &nodeStages);

/// First block of each stage, from the origins at which stages begin. A cut inside a block counts as one before it.
std::vector<uint32_t> blocksOfCuts(const StepBlocks &blocks, llvm::ArrayRef<int64_t> cuts);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_HELDSTAGES_H
