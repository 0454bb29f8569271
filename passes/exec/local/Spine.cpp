//===- Spine.cpp - Dependences that one chain of a block proves -- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/Spine.h"

using namespace mlir;

namespace dtcc::exec {

Spine::Spine(Block &block, llvm::function_ref<void(Operation *, Handle)> forSources) {
  /// The longest chain that ends at an op, and the op before it there.
  llvm::DenseMap<Operation *, std::pair<unsigned, Operation *>> chains;
  Operation *end = nullptr;
  for (Operation &op : block) {
    std::pair<unsigned, Operation *> longest{0, nullptr};
    forSources(&op, [&](Operation *source) {
      if (unsigned length = chains.lookup(source).first + 1; length > longest.first)
        longest = {length, source};
    });
    chains[&op] = longest;
    if (!end || longest.first > chains.lookup(end).first)
      end = &op;
  }
  for (Operation *op = end; op; op = chains.lookup(op).second)
    above[op] = below[op] = chains.lookup(op).first;
  for (Operation &op : block)
    forSources(&op, [&](Operation *source) {
      if (auto known = above.find(source); known != above.end()) {
        unsigned place = known->second;
        auto [own, isNew] = above.try_emplace(&op, place);
        own->second = std::max(own->second, place);
      }
    });
  for (Operation &op : llvm::reverse(block))
    if (auto known = below.find(&op); known != below.end())
      forSources(&op, [&, place = known->second](Operation *source) {
        auto [own, isNew] = below.try_emplace(source, place);
        own->second = std::min(own->second, place);
      });
}

} // namespace dtcc::exec
