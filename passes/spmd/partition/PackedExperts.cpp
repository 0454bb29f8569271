//===- PackedExperts.cpp - Expert layers on as many rows as there is room for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without a bound an expert layer has a place for every pick of every token of the group, and leaves those of other
// ranks' experts empty. With one, spmd.pack_picks numbers the picks of this rank's experts, and the layer is the same
// op on these rows, with one pick each: [room, c] and [room, 1]. Rows without a pick have the id -1, which names no
// expert. Every value of the layer is then packed: rows, hidden and gradients. What a router reads and writes, the
// weights of picks and their gradients, is taken from and put back to the places of the picks.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/PackedExperts.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/spmd/layout/LocalForms.h"
#include "passes/spmd/partition/DispatchExperts.h"

using namespace mlir;

namespace dtcc::spmd {
namespace {

/// Numbers of the operands of an expert layer's op that hold one value per pick; -1: the op has no such operand.
struct PickOperands {
  StringLiteral op;
  int64_t ids, weights, weightGradient;
  /// Whether the results have rows. Otherwise they are gradients of matrices.
  bool givesRows;
};
constexpr PickOperands kLayerOps[] = {{"graph.experts", 1, 2, -1, true},
                                      {"graph.experts_grad", 1, 2, 1, true},
                                      {"graph.experts_weight_grad", 2, 3, -1, false}};

Type packedType(Value pattern, int64_t rows, ArrayRef<int64_t> rest) {
  return graph::withShape(pattern.getType(), graph::concat(rows, rest));
}

/// Cells at `places` of all cells of `weights`, as a column; some cell where there is no pick.
Value takeCells(graph::Build &b, Value weights, Value places) {
  auto type = cast<RankedTensorType>(weights.getType());
  int64_t room = graph::shapeOf(places)[0];
  Value column = graph::ReshapeOp::create(b.builder, b.loc, packedType(weights, type.getNumElements(), 1), weights);
  // Axes, though none: ids outside of the table are skipped.
  return graph::EmbeddingOp::create(b.builder, b.loc, packedType(weights, room, 1), column, places,
                                    /*padding_idx=*/-1, b.builder.getArrayAttr({}));
}

/// A tensor of `type` with `cells` at `places`, and zeros elsewhere.
Value putCells(graph::Build &b, Value cells, Value places, Type type) {
  auto whole = cast<RankedTensorType>(type);
  auto table = RankedTensorType::get({whole.getNumElements(), 1}, b.builder.getF32Type());
  Value sums = graph::ScatterAddOp::create(b.builder, b.loc, table, cells, places, /*padding_idx=*/-1,
                                           b.builder.getArrayAttr({}));
  Value back = graph::ReshapeOp::create(b.builder, b.loc, whole.clone(b.builder.getF32Type()), sums);
  return b.cast(back, whole.getElementType());
}

} // namespace

std::optional<SmallVector<Value>> emitPackedExperts(OpBuilder &builder, Operation *op, const FactorMap &map,
                                                    const Placement &placement, ArrayRef<Value> operands,
                                                    ArrayRef<Type> types) {
  const auto *layer =
      llvm::find_if(kLayerOps, [&](const PickOperands &row) { return row.op == op->getName().getStringRef(); });
  if (layer == std::end(kLayerOps))
    return std::nullopt;
  // Rows come first: of tokens, or of gradients.
  Operation *dispatch = asRowExchange(op->getOperand(0).getDefiningOp());
  if (!dispatch || !dispatch->hasAttr(kRoomAttr))
    return std::nullopt;
  int64_t room = dispatch->getAttrOfType<IntegerAttr>(kRoomAttr).getInt();
  graph::Build b(builder, op->getLoc());
  Value ids = operands[layer->ids];
  // Once in a step, and once in an evaluation, which the host counts apart.
  bool counts = op->getName().getStringRef() == "graph.experts" &&
                llvm::is_contained({graph::Phase::Forward, graph::Phase::Evaluation}, graph::getPhase(op));
  auto pack = PackPicksOp::create(
      builder, op->getLoc(), TypeRange{packedType(ids, room, 1), RankedTensorType::get(room, builder.getI64Type())},
      ids, dispatch->getAttrOfType<ArrayAttr>("axes"), dispatch->getAttrOfType<IntegerAttr>("experts"),
      counts ? builder.getUnitAttr() : UnitAttr());
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  mapping.map(op->getOperand(layer->ids), pack.getPicked());
  mapping.map(op->getOperand(layer->weights), takeCells(b, operands[layer->weights], pack.getPlaces()));
  Operation *local = builder.clone(*op, mapping);
  local->removeDiscardableAttr("origin_factors");
  setLocalForm(local, op, map, placement);
  int64_t tokens = graph::rankOf(ids) - 1;
  SmallVector<Value> results;
  for (auto [number, result] : llvm::enumerate(local->getResults())) {
    auto type = cast<RankedTensorType>(types[number]);
    if (layer->givesRows) {
      // y and dx [tokens.., c]; hidden [tokens.., k, 2, f]; gradients of weights [tokens.., k].
      SmallVector<int64_t> shape{room};
      if (int64_t(number) == layer->weightGradient)
        shape.push_back(1);
      else if (type.getRank() == tokens + 1)
        shape.push_back(type.getShape().back());
      else
        shape.append({1, type.getShape()[tokens + 1], type.getShape()[tokens + 2]});
      result.setType(type.clone(shape));
    } else {
      result.setType(type);
    }
    results.push_back(result);
  }
  if (layer->weightGradient >= 0)
    results[layer->weightGradient] =
        putCells(b, results[layer->weightGradient], pack.getPlaces(), types[layer->weightGradient]);
  return results;
}

} // namespace dtcc::spmd
