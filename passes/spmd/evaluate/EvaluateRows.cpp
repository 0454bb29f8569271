//===- EvaluateRows.cpp - Tokens to experts and back, in the evaluator
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reference of the row exchanges, by their definition: a row goes to the ranks of its picks, and comes back from those
// only.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/evaluate/LockStep.h"

using namespace mlir;

namespace dtcc::spmd {

Shards LockStep::exchangedRows(Operation *op, const Communication &exchange) const {
  bool gathers = exchange.info().out == Extent::Whole;
  Axes axes = toAxes(exchange.axes);
  int64_t experts = op->getAttrOfType<IntegerAttr>("experts").getInt();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t columns = type.getShape().back(), members = mesh.product(axes);
  const Shards &x = values.at(op->getOperand(0)), &ids = values.at(op->getOperand(1));
  Shards result;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<int64_t> group = mesh.group(rank, axes);
    int64_t me = mesh.index(rank, 0, axes), picks = ids[rank].shape.back();
    int64_t tokens = ids[rank].size() / picks / members;
    auto picked = [&](int64_t token, int64_t member) {
      return llvm::any_of(ArrayRef(ids[rank].ints).slice(token * picks, picks),
                          [&](int64_t id) { return id / experts == member; });
    };
    HostTensor y(type.getShape(), type.getElementType());
    for (int64_t member = 0; member < members; ++member)
      for (int64_t token = 0; token < tokens; ++token) {
        int64_t from = gathers ? token : me * tokens + token, to = gathers ? member * tokens + token : token;
        if (!picked(gathers ? to : from, gathers ? me : member))
          continue;
        for (int64_t c = 0; c < columns; ++c)
          y.floats[to * columns + c] += x[group[member]].floats[from * columns + c];
      }
    result.push_back(std::move(y));
  }
  return result;
}

} // namespace dtcc::spmd
