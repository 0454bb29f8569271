//===- HeldStages.cpp - Stages of a pipeline as nodes of the model are held to them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/HeldStages.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/step/Pins.h"
#include <algorithm>
#include <map>

using namespace mlir;

namespace dtcc::spmd {

std::vector<uint32_t> blocksOfStages(const StepBlocks &blocks, const llvm::StringMap<int64_t> &nodeStages) {
  if (nodeStages.empty())
    return {};
  std::vector<std::map<int64_t, size_t>> votes(blocks.blocks().size());
  llvm::StringMap<uint32_t> first;
  func::FuncOp step = blocks.step();
  for (Operation &op : step.front()) {
    std::optional<uint32_t> block = blocks.blockOf(&op);
    if (!block || graph::getPhase(&op) != graph::Phase::Forward)
      continue;
    // Ops of a node may lie on both sides of a cut: the stage is that of the first of them.
    StringRef node = nodeOf(&op);
    auto stage = nodeStages.find(node);
    if (stage != nodeStages.end() && first.try_emplace(node, *block).first->second == *block)
      ++votes[*block][stage->second];
  }
  std::vector<uint32_t> begins;
  int64_t last = -1;
  for (auto [block, stages] : llvm::enumerate(votes)) {
    // On a tie the earlier stage wins.
    auto most = std::max_element(stages.begin(), stages.end(),
                                 [](const auto &a, const auto &b) { return a.second < b.second; });
    int64_t stage = most == stages.end() ? std::max<int64_t>(last, 0) : most->first;
    if (stage != last && stage != last + 1)
      return {};
    if (stage != last)
      begins.push_back(uint32_t(block));
    last = stage;
  }
  return begins;
}

std::vector<uint32_t> blocksOfCuts(const StepBlocks &blocks, llvm::ArrayRef<int64_t> cuts) {
  std::vector<uint32_t> begins{0};
  for (int64_t cut : cuts) {
    auto behind = llvm::find_if(blocks.blocks(), [&](const StepBlocks::Block &block) { return block.origin > cut; });
    auto block = uint32_t(std::max<ptrdiff_t>(behind - blocks.blocks().begin(), 1) - 1);
    if (block <= begins.back())
      return {};
    begins.push_back(block);
  }
  return begins;
}

} // namespace dtcc::spmd
