//===- Padding.cpp - What padded cells hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/Padding.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Matchers.h"
#include "passes/spmd/layout/Projection.h"
#include "llvm/ADT/SmallSet.h"
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

/// The weakest content that covers both.
static PaddingContent join(PaddingContent a, PaddingContent b) {
  return a == b ? a : std::max({a, b, PaddingContent::Finite});
}

static PaddingContent contentOf(double cell) {
  return cell == 0              ? PaddingContent::Zero
         : !std::isfinite(cell) ? PaddingContent::Unknown
         : cell > 0             ? PaddingContent::Positive
                                : PaddingContent::Finite;
}

/// Calls `visit` for each dimension of the operands and results of an op, with the factor that it walks.
static void forEachDim(Operation *op, const FactorMap &map,
                       llvm::function_ref<void(Value, int64_t dim, int64_t factor)> visit) {
  auto each = [&](ValueRange values, ArrayRef<SmallVector<int64_t>> dimsOf) {
    for (auto [value, dims] : llvm::zip_equal(values, dimsOf))
      for (auto [dim, walked] : llvm::enumerate(dims))
        visit(value, int64_t(dim), walked);
  };
  each(op->getOperands(), map.operands);
  each(op->getResults(), map.results);
}

/// Content of the padding of a constant, as emitConstant makes it: a splat is resized, other cells get zeros behind.
static PaddingContent contentOf(ElementsAttr cells) {
  auto splat = dyn_cast<SplatElementsAttr>(cells);
  if (!splat)
    return PaddingContent::Zero;
  auto cell = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(cell))
    return contentOf(number.getValueAsDouble());
  return contentOf(double(cast<IntegerAttr>(cell).getValue().getSExtValue()));
}

bool PaddingAnalysis::isFactorPadded(Operation *op, const FactorMap &map, int64_t factor) const {
  bool any = false;
  forEachDim(op, map,
             [&](Value value, int64_t dim, int64_t walked) { any |= walked == factor && isPadded(value, dim); });
  return any;
}

PaddingContent PaddingAnalysis::of(Value value, int64_t dim) const {
  if (!isPadded(value, dim))
    return PaddingContent::Zero;
  auto at = contents.find({value, dim});
  return at == contents.end() ? PaddingContent::Unknown : at->second;
}

std::optional<PaddingContent> PaddingAnalysis::along(Operation *op, const FactorMap &map, unsigned operand,
                                                     int64_t factor) const {
  std::optional<PaddingContent> all;
  for (auto [dim, walked] : llvm::enumerate(map.operands[operand]))
    if (walked == factor) {
      PaddingContent content = of(op->getOperand(operand), dim);
      all = all ? join(*all, content) : content;
    }
  return all;
}

/// Evaluates a small instance of `op`, in which what walks `factor` holds `fillOf(operand)`,
/// truth values `truth` and all else `rest`, and says what the result `result` holds (-1: the worst of all). The
/// slice of a result at an index of a parallel factor depends on the slices there alone.
static PaddingContent evaluateSmall(Operation *op, const FactorMap &map, int64_t result, int64_t factor,
                                    llvm::function_ref<double(unsigned)> fillOf, double rest, bool truth) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return PaddingContent::Unknown;
  auto small = [&](Value value, ArrayRef<int64_t> dims) {
    auto type = cast<ShapedType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, walked] : llvm::enumerate(dims))
      if (walked != kNoFactor && map.factors[walked].kind != FactorKind::Replicate &&
          map.factors[walked].kind != FactorKind::Window)
        shape[dim] = walked == factor ? 1 : std::min<int64_t>(shape[dim], 2);
    return HostTensor(shape, type.getElementType());
  };
  SmallVector<HostTensor> operands, results;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    operands.push_back(small(op->getOperand(i), map.operands[i]));
    llvm::fill(operands.back().floats, llvm::is_contained(map.operands[i], factor) ? fillOf(i) : rest);
    llvm::fill(operands.back().ints, operands.back().elementType.isInteger(1) ? int64_t(truth) : 0);
  }
  for (auto [value, dims] : llvm::zip_equal(op->getResults(), map.results))
    results.push_back(small(value, dims));
  if (failed(reference.evaluate(operands, results, EvaluationContext())))
    return PaddingContent::Unknown;
  std::optional<PaddingContent> all;
  auto note = [&](PaddingContent content) { all = all ? join(*all, content) : content; };
  for (auto [r, tensor] : llvm::enumerate(results)) {
    if (result >= 0 && result != static_cast<int64_t>(r))
      continue;
    for (double cell : tensor.floats)
      note(contentOf(cell));
    for (int64_t cell : tensor.ints)
      note(contentOf(double(cell)));
  }
  return all.value_or(PaddingContent::Zero);
}

/// Content of the result if operands have the content of `heldBy` (finite numbers if it is empty). It is found by
/// evaluating a few numbers, which is enough to tell a product from a quotient or a root.
static PaddingContent evaluateContents(Operation *op, const FactorMap &map, int64_t result, int64_t factor,
                                       llvm::function_ref<std::optional<PaddingContent>(unsigned)> heldBy) {
  std::optional<PaddingContent> all;
  // A mask that hides everything is a case of its own, padded or not. What chooses between cells chooses either.
  const bool chooses =
      llvm::all_of(map.factors, [](const Factor &each) { return each.kind == FactorKind::Parallel; }) &&
      llvm::any_of(op->getOperands(), [](Value value) { return getElementTypeOrSelf(value).isInteger(1); });
  constexpr double kFills[] = {0.0, 1.0, -1.0, 3.0, 20.0, -20.0};
  // Operands hold the same number, and numbers that differ: the difference of equal ones is zero by chance. An operand
  // that stands twice holds one number.
  auto fillOf = [&](unsigned operand, size_t first, size_t step) {
    size_t i = size_t(llvm::find(op->getOperands(), op->getOperand(operand)) - op->operand_begin());
    double fill = kFills[(first + i * step) % std::size(kFills)];
    std::optional<PaddingContent> held = heldBy(operand);
    return held == PaddingContent::Zero ? 0 : held == PaddingContent::Positive ? std::max(std::abs(fill), 0.5) : fill;
  };
  for (bool truth : {true, false}) {
    if (!truth && !chooses)
      continue;
    for (size_t step = 0; step < std::min<size_t>(op->getNumOperands(), 2); ++step)
      for (size_t first = 0; first < std::size(kFills); ++first)
        for (double rest : {0.75, -1.5}) {
          PaddingContent content =
              evaluateSmall(op, map, result, factor, [&](unsigned i) { return fillOf(i, first, step); }, rest, truth);
          all = all ? join(*all, content) : content;
        }
  }
  return *all;
}

bool PaddingAnalysis::sumsZeros(Operation *op, const FactorMap &map, int64_t factor) const {
  // In some linear set every member is zero there; what it is combined with must be finite
  // and, where the op is not linear in it, keep the result finite.
  for (ArrayRef<unsigned> set : map.linear) {
    bool zero = !set.empty(), products = true;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      std::optional<PaddingContent> content = along(op, map, i, factor);
      if (llvm::is_contained(set, i)) {
        zero &= content == PaddingContent::Zero;
        continue;
      }
      zero &= content.value_or(PaddingContent::Finite) != PaddingContent::Unknown;
      products &= !content || llvm::any_of(map.linear, [&](ArrayRef<unsigned> s) { return llvm::is_contained(s, i); });
    }
    if (!zero)
      continue;
    if (products || evaluateContents(op, map, -1, factor, [&](unsigned i) { return along(op, map, i, factor); }) !=
                        PaddingContent::Unknown)
      return true;
  }
  // The square of a value is linear in nothing, and adds what it makes of zeros.
  bool zeros = isReduction(map.factors[factor]) && map.linear.empty();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    zeros &= along(op, map, i, factor).value_or(PaddingContent::Zero) == PaddingContent::Zero;
  return zeros && evaluateContents(op, map, -1, factor, [&](unsigned i) { return along(op, map, i, factor); }) ==
                      PaddingContent::Zero;
}

PaddingContent PaddingAnalysis::transfer(Operation *op, const FactorMap &map, unsigned result, int64_t factor) const {
  if (map.factors[factor].padding == PaddingNeed::Skipped || sumsZeros(op, map, factor))
    return PaddingContent::Zero;
  bool walked = false, unknown = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (std::optional<PaddingContent> content = along(op, map, i, factor)) {
      walked = true;
      unknown |= content == PaddingContent::Unknown;
    }
  if (ElementsAttr cells; matchPattern(op, m_Constant(&cells)))
    return contentOf(cells);
  // Copies of whole cells, or counted: a broadcast, iota.
  if (!walked)
    return PaddingContent::Finite;
  // Parts of both kinds are independent of each other.
  FactorKind kind = map.factors[factor].kind;
  if (unknown || (kind != FactorKind::Parallel && kind != FactorKind::Index))
    return PaddingContent::Unknown;
  return evaluateContents(op, map, result, factor, [&](unsigned i) { return along(op, map, i, factor); });
}

PaddingAnalysis::PaddingAnalysis(ArrayRef<Operation *> ops, IsPadded padded) : isPadded(std::move(padded)) {
  for (Operation *op : ops) {
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      for (int64_t dim = 0; dim < reshard.getType().getRank(); ++dim)
        contents[{reshard.getY(), dim}] = of(reshard.getX(), dim);
      continue;
    }
    if (readState(op)) {
      for (int64_t dim = 0; dim < cast<ShapedType>(op->getResult(0).getType()).getRank(); ++dim)
        contents[{op->getResult(0), dim}] = PaddingContent::Zero;
      continue;
    }
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!factored)
      continue;
    FactorMap map = factored.getFactorMap();
    for (auto [r, dims] : llvm::enumerate(map.results))
      for (auto [dim, factor] : llvm::enumerate(dims))
        if (factor != kNoFactor && isPadded(op->getResult(r), dim))
          contents[{op->getResult(r), dim}] = transfer(op, map, r, factor);
  }
}

static SmallVector<Operation *> opsIn(func::FuncOp step) {
  return llvm::map_to_vector(step.getBody().front(), [](Operation &op) { return &op; });
}

PaddingAnalysis::PaddingAnalysis(func::FuncOp step)
    : PaddingAnalysis(opsIn(step), [](Value value, int64_t dim) {
        auto type = cast<TensorType>(value.getType());
        return type.getPadded()[dim] != type.getShape()[dim];
      }) {}

std::optional<std::string> PaddingAnalysis::whyNotPadded(Operation *op) const {
  for (const StateAccess &access : stateAccesses(op)) {
    auto shape = cast<ShapedType>(access.value.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(shape))
      if (access.kind != StateAccessKind::Read && of(access.value, dim) != PaddingContent::Zero)
        return ((access.kind == StateAccessKind::Update ? "would train padding: the gradient of @"
                                                        : "would write padding: the new value of @") +
                access.state + " is not known to be zero past " + Twine(size) + " of dimension " + Twine(dim))
            .str();
  }
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return std::nullopt;
  FactorMap map = factored.getFactorMap();
  std::string why;
  forEachDim(op, map, [&](Value value, int64_t dim, int64_t walked) {
    if (walked == kNoFactor && isPadded(value, dim))
      why = "cannot work on a padded dimension: dimension " + std::to_string(dim) + " of size " +
            std::to_string(cast<ShapedType>(value.getType()).getDimSize(dim));
  });
  for (auto [f, factor] : llvm::enumerate(map.factors)) {
    if (factor.padding == PaddingNeed::Skipped || !why.empty() || !isFactorPadded(op, map, f))
      continue;
    std::string named;
    forEachDim(op, map, [&](Value, int64_t dim, int64_t walked) {
      if (walked == int64_t(f) && named.empty())
        named = "dimension " + std::to_string(dim) + " of size " + std::to_string(factor.size);
    });
    bool whole = factor.kind == FactorKind::Replicate || factor.kind == FactorKind::Window ||
                 factor.kind == FactorKind::Decompose;
    if (whole || (factor.padding == PaddingNeed::Neutral && !isReduction(factor)))
      why = "cannot work on a padded dimension: " + named;
    else if (factor.padding == PaddingNeed::Neutral && (factor.reduction != Reduction::Sum || !sumsZeros(op, map, f)))
      why = "sums over padded cells that are not known to be zero: " + named;
  }
  return why.empty() ? std::nullopt : std::optional(std::move(why));
}

PaddableClasses::PaddableClasses(func::FuncOp step, const FactorClasses &classes)
    : classes(classes), opsOf(classes.count()) {
  llvm::SmallSet<unsigned, 8> seen;
  auto see = [&](ValueRange values) {
    for (Value value : values)
      for (int64_t dim = 0, rank = cast<ShapedType>(value.getType()).getRank(); dim < rank; ++dim)
        seen.insert(this->classes.ofDim(value, dim));
  };
  for (Operation &op : step.getBody().front()) {
    seen.clear();
    see(op.getOperands());
    see(op.getResults());
    for (unsigned id : seen)
      opsOf[id].push_back(&op);
  }
}

const PaddableClasses::Obstacle *PaddableClasses::obstacleOf(unsigned id) const {
  std::lock_guard lock(asking);
  auto [at, isNew] = known.try_emplace(id);
  if (isNew) {
    PaddingAnalysis padding(opsOf[id], [&](Value value, int64_t dim) { return classes.ofDim(value, dim) == id; });
    for (Operation *op : opsOf[id])
      if (std::optional<std::string> why = padding.whyNotPadded(op)) {
        at->second = {op, std::move(*why)};
        break;
      }
  }
  return at->second ? &*at->second : nullptr;
}

/// Returns the name of an input for messages.
static std::string nameOfInput(func::FuncOp step, unsigned number) {
  auto name = step.getArgAttrOfType<StringAttr>(number, "graph.name");
  return name ? "'" + name.getValue().str() + "'" : std::to_string(number);
}

std::string describeOtherRows(func::FuncOp step) {
  auto rows = [&](unsigned number) { return cast<ShapedType>(step.getArgument(number).getType()).getShape(); };
  for (unsigned number = 1; number < step.getNumArguments(); ++number)
    if (!rows(0).empty() && !rows(number).empty() && rows(number)[0] != rows(0)[0])
      return "; input " + nameOfInput(step, number) + " has " + std::to_string(rows(number)[0]) +
             " rows a step, where " + nameOfInput(step, 0) + " has " + std::to_string(rows(0)[0]) +
             ": the first dimension of every input counts as samples, so make what is the same for all samples a "
             "constant of the model (a buffer of the module that is exported)";
  return "";
}

LogicalResult checkInputSamples(func::FuncOp step, int64_t parts) {
  for (BlockArgument argument : step.getArguments()) {
    auto type = cast<ShapedType>(argument.getType());
    if (type.getRank() == 0)
      return step.emitError("input ") << nameOfInput(step, argument.getArgNumber())
                                      << " is a scalar, and all inputs must have a dimension of samples: give each "
                                         "sample its number, or make it "
                                         "a constant of the model";
    if (type.getShape()[0] % parts)
      return step.emitError("batch must divide by micro-batches times data-parallel ranks, ")
             << parts << ", got: " << type.getShape()[0] << describeOtherRows(step);
  }
  return success();
}

} // namespace dtcc::spmd
