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
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

/// Picks of `member`'s experts, as numbers of cells of `ids`: those that it has room for.
static std::vector<int64_t> keptPicks(ArrayRef<int64_t> ids, int64_t member, int64_t experts, int64_t room) {
  std::vector<int64_t> kept;
  for (auto [place, id] : llvm::enumerate(ids))
    if (id / experts == member && int64_t(kept.size()) < room)
      kept.push_back(place);
  return kept;
}

LogicalResult LockStep::packPicks(Operation *op) {
  Value allIds = op->getOperand(0), pickedIds = op->getResult(0), numbered = op->getResult(1);
  int64_t experts = op->getAttrOfType<IntegerAttr>("experts").getInt(),
          room = cast<ShapedType>(numbered.getType()).getShape()[0];
  Axes axes = toAxes(op->getAttrOfType<ArrayAttr>("axes"));
  Shards picked, places;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    ArrayRef<int64_t> ids = values.at(allIds)[rank].ints;
    int64_t me = mesh.index(rank, 0, axes);
    int64_t wanted = llvm::count_if(ids, [&](int64_t id) { return id / experts == me; });
    // The whole step, with which a program is compared, drops none.
    if (wanted > room)
      return op->emitError("rank ") << rank << " has room for " << room << " rows and would receive " << wanted
                                    << ": the rest would be dropped; give --moe-capacity at least "
                                    << llvm::formatv("{0:F2}", std::ceil(100.0 * double(wanted * mesh.product(axes)) /
                                                                         double(ids.size())) /
                                                                   100)
                                           .str()
                                    << " to verify the step";
    auto &cells =
        picked.emplace_back(ArrayRef<int64_t>{room, 1}, cast<ShapedType>(pickedIds.getType()).getElementType());
    auto &numbers = places.emplace_back(ArrayRef<int64_t>{room}, cast<ShapedType>(numbered.getType()).getElementType());
    std::fill(cells.ints.begin(), cells.ints.end(), -1);
    std::fill(numbers.ints.begin(), numbers.ints.end(), -1);
    for (auto [row, place] : llvm::enumerate(keptPicks(ids, me, experts, room))) {
      cells.ints[row] = ids[place];
      numbers.ints[row] = place;
    }
  }
  values[pickedIds] = std::move(picked);
  values[numbered] = std::move(places);
  return success();
}

Shards LockStep::exchangedRows(Operation *op, const Communication &exchange) const {
  const bool gathers = exchange.info().out == Extent::Whole;
  Axes axes = toAxes(exchange.axes);
  int64_t experts = op->getAttrOfType<IntegerAttr>("experts").getInt();
  auto room = op->getAttrOfType<IntegerAttr>("room");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t columns = type.getShape().back(), members = mesh.product(axes);
  const Shards &x = values.at(op->getOperand(0)), &ids = values.at(op->getOperand(1));
  Shards result;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<int64_t> group = mesh.group(rank, axes);
    const std::vector<int64_t> &picked = ids[rank].ints;
    int64_t me = mesh.index(rank, 0, axes), picks = ids[rank].shape.back();
    int64_t tokens = ids[rank].size() / picks / members;
    HostTensor y(type.getShape(), type.getElementType());
    auto add = [&](int64_t member, int64_t from, int64_t to) {
      for (int64_t c = 0; c < columns; ++c)
        y.floats[to * columns + c] += x[group[member]].floats[from * columns + c];
    };
    // A dispatch brings the rows that this rank keeps, a combine those that each rank keeps of this rank's tokens. Rows
    // of the member that keeps them are numbered by its kept picks if there is a bound, or else by the tokens of all.
    for (int64_t member = 0; member < members; ++member) {
      const int64_t keeper = gathers ? me : member, owner = gathers ? member : me;
      auto addKept = [&](int64_t kept, int64_t token) {
        gathers ? add(member, token, kept) : add(member, kept, token);
      };
      if (room) {
        for (auto [row, place] : llvm::enumerate(keptPicks(picked, keeper, experts, room.getInt())))
          if (place / picks / tokens == owner)
            addKept(static_cast<int64_t>(row), place / picks - owner * tokens);
        continue;
      }
      for (int64_t token = 0; token < tokens; ++token)
        if (int64_t row = owner * tokens + token; llvm::any_of(ArrayRef(picked).slice(row * picks, picks),
                                                               [&](int64_t id) { return id / experts == keeper; }))
          addKept(row, token);
    }
    result.push_back(std::move(y));
  }
  return result;
}

} // namespace dtcc::spmd
