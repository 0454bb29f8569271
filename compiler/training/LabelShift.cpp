//===- LabelShift.cpp - Labels of a stream of tokens
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/LabelShift.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/graph/Evaluation.h"
#include "llvm/ADT/SetVector.h"
#include <set>
#include <tuple>

using namespace mlir;
using namespace dtcc;

namespace {
/// Cell i + offset of dimension `dim` of `value` is what row i of the loss sees.
struct Place {
  Value value;
  int64_t dim, offset;
};

int64_t cellsAfter(ShapedType type, int64_t dim) {
  int64_t cells = 1;
  for (int64_t size : type.getShape().drop_front(dim + 1))
    cells *= size;
  return cells;
}

/// The places one op earlier. Empty where the dimension begins, or was made in a way that
/// keeps no positions.
SmallVector<Place> stepBack(const Place &place) {
  Operation *op = place.value.getDefiningOp();
  auto [value, dim, offset] = place;
  if (auto slice = dyn_cast<graph::SliceOp>(op))
    return slice.getStrides()[dim] == 1 ? SmallVector<Place>{{slice.getX(), dim, offset + slice.getOffsets()[dim]}}
                                        : SmallVector<Place>();
  if (auto pad = dyn_cast<graph::PadOp>(op))
    return {{pad.getX(), dim, offset - pad.getLow()[dim]}};
  if (auto shift = dyn_cast<graph::ShiftOp>(op))
    return {{shift.getX(), dim, shift.getDim() == uint64_t(dim) ? offset + int64_t(shift.getAmount()) : offset}};
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
    auto from = cast<ShapedType>(reshape.getX().getType()), to = cast<ShapedType>(value.getType());
    for (int64_t i = 0; i < from.getRank(); ++i)
      if (from.getDimSize(i) == to.getDimSize(dim) && cellsAfter(from, i) == cellsAfter(to, dim))
        return {{reshape.getX(), i, offset}};
    return {};
  }
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return {};
  FactorMap map = factored.getFactorMap();
  int64_t factor = map.results[cast<OpResult>(value).getResultNumber()][dim];
  SmallVector<Place> places;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), map.operands))
    for (auto [i, other] : llvm::enumerate(dims))
      if (factor != kNoFactor && other == factor)
        places.push_back({operand, int64_t(i), offset});
  return places;
}

/// The one offset at which a place leads to an input of that role.
std::optional<int64_t> findOffset(Place start, FunctionOpInterface step, StringRef role) {
  SmallVector<Place> work{start};
  std::set<std::tuple<void *, int64_t, int64_t>> seen;
  std::optional<int64_t> found;
  while (!work.empty()) {
    Place place = work.pop_back_val();
    if (!seen.insert({place.value.getAsOpaquePointer(), place.dim, place.offset}).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(place.value);
    if (!argument) {
      llvm::append_range(work, stepBack(place));
      continue;
    }
    auto is = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    // Positions are the last dimension of a sample.
    if (!is || is.getValue() != role || place.dim + 1 != cast<ShapedType>(argument.getType()).getRank())
      continue;
    if (found && *found != place.offset)
      return std::nullopt;
    found = place.offset;
  }
  return found;
}
} // namespace

std::optional<int64_t> dtcc::findShiftInside(ModuleOp module) {
  auto step = module.lookupSymbol<FunctionOpInterface>("step");
  if (!step)
    return std::nullopt;
  std::optional<int64_t> inside;
  bool agree = true;
  step.walk([&](graph::CrossEntropyOp loss) {
    int64_t dim = cast<ShapedType>(loss.getLabels().getType()).getRank() - 1;
    if (dim < 0)
      return void(agree = false);
    std::optional<int64_t> labels = findOffset({loss.getLabels(), dim, 0}, step, "labels");
    std::optional<int64_t> tokens = findOffset({loss.getLogits(), dim, 0}, step, "tokens");
    if (!labels || !tokens || (inside && *inside != *labels - *tokens))
      return void(agree = false);
    inside = *labels - *tokens;
  });
  return agree ? inside : std::nullopt;
}

/// Checks an attribute of the module that counts positions, which a text may hold with any number.
static LogicalResult checkPositions(ModuleOp module, StringRef name) {
  Attribute held = module->getAttr(name);
  auto number = dyn_cast_or_null<IntegerAttr>(held);
  if (!held ||
      (number && number.getType().isSignlessInteger(64) && number.getInt() >= 0 && number.getInt() <= int64_t(1) << 31))
    return success();
  return module.emitError() << name << " must be a 64-bit integer from 0 to 2^31, got: " << held;
}

LogicalResult dtcc::decideLabelShift(ModuleOp module) {
  for (StringRef name : {"graph.loss_shift", "dtcc.label_shift"})
    if (failed(checkPositions(module, name)))
      return failure();
  auto step = module.lookupSymbol<FunctionOpInterface>("step");
  if (!step || module->hasAttr("dtcc.label_shift") || graph::inputRank(step, "tokens") == 0)
    return success();
  // A label for a whole sample is no token.
  if (graph::inputRank(step, "labels") < graph::inputRank(step, "tokens"))
    return success();
  StringRef by = "as its export says";
  std::optional<int64_t> inside;
  if (auto said = module->getAttrOfType<IntegerAttr>("graph.loss_shift")) {
    inside = said.getInt();
  } else {
    inside = findShiftInside(module);
    by = inside ? "as its graph shows" : kLabelShiftIsAGuess;
  }
  // A model that looks further ahead than the next token has shifted all it needs.
  int64_t shift = std::max<int64_t>(0, 1 - inside.value_or(0));
  Builder builder(module.getContext());
  module->setAttr("dtcc.label_shift", builder.getI64IntegerAttr(shift));
  module->setAttr("dtcc.label_shift_by", builder.getStringAttr(by));
  return success();
}

static bool hasRole(BlockArgument argument, FunctionOpInterface step, StringRef role) {
  auto is = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
  return is && is.getValue() == role;
}

/// Whether a value is computed from an input of tokens.
static bool readsTokens(Value value, FunctionOpInterface step) {
  auto isTokens = [&](Value each) {
    auto argument = dyn_cast<BlockArgument>(each);
    return argument && hasRole(argument, step, "tokens");
  };
  SetVector<Operation *> slice;
  BackwardSliceOptions within;
  within.omitBlockArguments = true;
  within.inclusive = true;
  (void)getBackwardSlice(value, &slice, within);
  return isTokens(value) ||
         llvm::any_of(slice, [&](Operation *op) { return llvm::any_of(op->getOperands(), isTokens); });
}

void dtcc::tellOfSeenLabels(ModuleOp module) {
  auto step = module.lookupSymbol<FunctionOpInterface>("step");
  if (!step || !module->hasAttr("dtcc.label_shift"))
    return;
  WalkResult found = step.walk([&](graph::AttentionOp op) {
    // A bias may be a mask of any kind.
    const bool mayBeCausal = op.getMask().getCausal() || op.getBias();
    return !mayBeCausal && graph::getPhase(op) == graph::Phase::Forward && readsTokens(op.getK(), step)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  auto labels = llvm::find_if(step.getArguments(), [&](BlockArgument each) { return hasRole(each, step, "labels"); });
  if (!found.wasInterrupted() || labels == step.getArguments().end())
    return;
  auto name = step.getArgAttrOfType<StringAttr>(labels->getArgNumber(), "graph.name");
  module.emitRemark(
      "--tokens labels each token with the next one, and this model sees it, because its attention is not "
      "causal: give labels of your own by --data=")
      << (name ? name.getValue() : "NAME") << "=FILE.npy";
}

int64_t dtcc::labelShift(ModuleOp module) {
  auto attribute = module->getAttrOfType<IntegerAttr>("dtcc.label_shift");
  return attribute ? attribute.getInt() : 0;
}
