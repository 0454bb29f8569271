//===- Differentiate.cpp - A loss becomes a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse mode over one block. How to differentiate an op is the op's own knowledge;
// here is only who needs a gradient, how gradients of one value add up, and what every
// backward op is tagged with.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/Source.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/OriginFactors.h"
#include "passes/graph/Passes.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHDIFFERENTIATE
#include "passes/graph/Passes.h.inc"
#include "llvm/ADT/MapVector.h"

namespace {

/// Notes the ops that are built while it lives.
class Recorder : public OpBuilder::Listener {
public:
  explicit Recorder(OpBuilder &builder) : builder(builder) { builder.setListener(this); }
  ~Recorder() override { builder.setListener(nullptr); }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { ops.push_back(op); }
  SmallVector<Operation *> ops;

private:
  OpBuilder &builder;
};

/// The value that an op of no computation stands for, or null.
Value forwardValueOf(Operation *op) {
  auto known = dyn_cast_or_null<DifferentiableOpInterface>(op);
  return known ? known.getForwardValue() : nullptr;
}

class Differentiation {
public:
  Differentiation(func::FuncOp function, Attribute optimizer, double clip, double lossScale)
      : function(function), optimizer(optimizer), clip(clip), lossScale(lossScale), builder(function.getContext()) {}

  LogicalResult run();

private:
  void tagForward();
  void findDependences();
  /// Whether a gradient flows to the operand.
  bool isActive(OpOperand &use);
  /// Replaces ops that are there for their gradient alone by the values that they stand for.
  void foldGradientOps();
  LogicalResult differentiate(Operation *op);
  void addGradient(Operation *user, unsigned operand, Value gradient, Phase phase);
  /// The factor map of the op whose gradients are added: made once an op, however many operands it has.
  const FactorMap &factorsOf(Operation *user);
  void markPhases(Operation *op, ArrayRef<Operation *> built, ArrayRef<Value> gradients);
  void buildUpdate();
  /// Adds the states of a dynamic loss scale and what the update does with them.
  void addLossScale(Value count);
  Value buildSeed(Value loss);

  func::FuncOp function;
  Attribute optimizer;
  double clip;
  /// Initial value of the dynamic loss scale; 0 if there is none.
  double lossScale;
  LossScaleAttr scaling;
  OpBuilder builder;
  Operation *mapped = nullptr;
  FactorMap factors; /* of `mapped` */
  int64_t originCount = 0;
  /// Values on a differentiable path from a trainable state.
  llvm::DenseSet<Value> active;
  /// Values that depend on states and constants alone: their gradients are weight gradients.
  llvm::DenseSet<Value> parameters;
  llvm::DenseMap<Value, Value> gradients;
};

void Differentiation::tagForward() {
  for (Operation &op : function.front().without_terminator())
    setOrigin(&op, originCount++, Phase::Forward);
}

bool Differentiation::isActive(OpOperand &use) {
  auto op = dyn_cast<DifferentiableOpInterface>(use.getOwner());
  return active.contains(use.get()) && (!op || op.passesGradient(use.getOperandNumber()));
}

void Differentiation::foldGradientOps() {
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (Value forward = forwardValueOf(&op)) {
      op.getResult(0).replaceAllUsesWith(forward);
      op.erase();
    }
}

void Differentiation::findDependences() {
  SymbolTableCollection symbols;
  for (Operation &op : function.front().without_terminator()) {
    // An op without a gradient is on the path too: it must be reported, not passed over.
    bool trainable = false;
    if (auto read = dyn_cast<ReadOp>(op))
      trainable = symbols.lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr()).getTrainable();
    else
      trainable = llvm::any_of(op.getOpOperands(), [&](OpOperand &use) { return isActive(use); });
    bool parameter = llvm::all_of(op.getOperands(), [&](Value value) { return parameters.contains(value); });
    for (Value result : op.getResults()) {
      if (trainable && isFloat(result))
        active.insert(result);
      if (parameter)
        parameters.insert(result);
    }
  }
}

const FactorMap &Differentiation::factorsOf(Operation *user) {
  if (mapped != user)
    factors = cast<FactorOpInterface>(mapped = user).getFactorMap();
  return factors;
}

/// Adds to what other users of the operand gave.
void Differentiation::addGradient(Operation *user, unsigned operand, Value gradient, Phase phase) {
  Value &sum = gradients[user->getOperand(operand)];
  if (!sum) {
    sum = gradient;
    return;
  }
  auto tag = [&](Operation *op) {
    if (!forwardValueOf(user)) {
      setOrigin(op, *getOrigin(user), phase);
      setOriginFactors(op, factorsOf(user).operands[operand]);
      return;
    }
    // The user does not outlive differentiation, so the sum belongs to what makes the operand.
    Value value = user->getOperand(operand);
    while (Value forward = forwardValueOf(value.getDefiningOp()))
      value = forward;
    auto result = cast<OpResult>(value);
    setOrigin(op, *getOrigin(result.getOwner()), phase);
    auto factored = dyn_cast<FactorOpInterface>(result.getOwner());
    // A read has no factors to inherit.
    setOriginFactors(op, factored ? factored.getFactorMap().results[result.getResultNumber()]
                                  : SmallVector<int64_t>(rankOf(value), kNoFactor));
  };
  // Terms of the gradient of a half-precision parameter may have different types: cast to the wider one.
  for (Value *term : {&sum, &gradient})
    if (Value other = term == &sum ? gradient : sum; isHalf(*term) && !isHalf(other)) {
      *term = Build(builder, ofGradient(user->getLoc())).cast(*term, elementOf(other));
      tag(term->getDefiningOp());
    }
  auto add = AddOp::create(builder, ofGradient(user->getLoc()), sum, gradient);
  tag(add);
  sum = add;
}

/// Ops that an activation's gradient needs are of phase I; ops that only parameters' gradients need are of phase W.
void Differentiation::markPhases(Operation *op, ArrayRef<Operation *> built, ArrayRef<Value> operandGrads) {
  llvm::SmallPtrSet<Operation *, 8> input;
  SmallVector<Operation *> worklist;
  auto visit = [&](Value value) {
    Operation *definer = value ? value.getDefiningOp() : nullptr;
    if (definer && llvm::is_contained(built, definer) && input.insert(definer).second)
      worklist.push_back(definer);
  };
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGrads))
    if (!parameters.contains(operand))
      visit(gradient);
  while (!worklist.empty())
    for (Value operand : worklist.pop_back_val()->getOperands())
      visit(operand);
  for (Operation *created : built) {
    setOrigin(created, *getOrigin(op), input.contains(created) ? Phase::InputGradient : Phase::WeightGradient);
    created->setLoc(ofGradient(created->getLoc()));
  }
}

static bool hasWiderGradient(Operation *op, ArrayRef<Value> grads) {
  return llvm::any_of(llvm::zip_equal(grads, op->getResults()), [](auto pair) {
    auto [grad, result] = pair;
    return grad && elementOf(grad) != elementOf(result);
  });
}

static bool areValid(ArrayRef<Operation *> ops) {
  ScopedDiagnosticHandler quiet(ops.empty() ? nullptr : ops.front()->getContext(),
                                [](Diagnostic &) { return success(); });
  return llvm::all_of(ops, [](Operation *op) { return succeeded(verify(op)); });
}

LogicalResult Differentiation::differentiate(Operation *op) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value grad) { return static_cast<bool>(grad); }))
    return success();
  SmallVector<bool> wanted;
  for (OpOperand &use : op->getOpOperands())
    wanted.push_back(isActive(use));
  if (!llvm::is_contained(wanted, true))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitOpError("has no gradient");
  SmallVector<Value> operandGrads(op->getNumOperands());
  SmallVector<Operation *> built;
  auto build = [&](ArrayRef<Value> grads) {
    Recorder recorder(builder);
    LogicalResult done = differentiable.buildGradient(builder, grads, wanted, operandGrads);
    built = std::move(recorder.ops);
    return done;
  };
  if (failed(build(resultGrads)))
    return failure();
  // Ops that move cells take the f32 gradient of a half too. An op that multiplies it by halves needs it as a half.
  if (hasWiderGradient(op, resultGrads) && !areValid(built)) {
    for (Operation *made : llvm::reverse(built))
      made->erase();
    operandGrads.assign(op->getNumOperands(), Value());
    Recorder recorder(builder);
    SmallVector<Value> grads = resultGrads;
    for (auto [grad, result] : llvm::zip_equal(grads, op->getResults()))
      if (grad && elementOf(grad) != elementOf(result))
        grad = Build(builder, op->getLoc()).cast(grad, elementOf(result));
    if (failed(differentiable.buildGradient(builder, grads, wanted, operandGrads)))
      return failure();
    built = std::move(recorder.ops);
  }
  // Gradients of parameters add up in f32 even where the parameter is a half.
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGrads)) {
    if (!gradient || !parameters.contains(operand) || !isHalf(operand) || !gradient.use_empty() ||
        !llvm::is_contained(built, gradient.getDefiningOp()))
      continue;
    auto rounded = gradient.getDefiningOp<CastOp>();
    if (rounded && elementOf(rounded.getX()).isF32())
      gradient = rounded.getX();
    else
      widenInPlace(gradient);
  }
  markPhases(op, built, operandGrads);
  trackOriginFactors(op, resultGrads, operandGrads, built);
  for (unsigned i = 0; i < operandGrads.size(); ++i)
    if (wanted[i] && operandGrads[i])
      addGradient(op, i, operandGrads[i],
                  parameters.contains(op->getOperand(i)) ? Phase::WeightGradient : Phase::InputGradient);
  return success();
}

/// Number of terms of the loss sum at most, from its count: a constant, the labels of a cross entropy, or cells of a
/// mask.
static double termsOf(Value count) {
  if (auto number = splatValue(count))
    return std::max(1.0, *number);
  if (auto loss = count.getDefiningOp<CrossEntropyOp>())
    return product(shapeOf(loss.getLabels()));
  if (auto mask = count.getDefiningOp<ReduceOp>())
    return std::max<double>(1, product(shapeOf(mask.getX())) / product(shapeOf(mask.getY())));
  return 1;
}

void Differentiation::addLossScale(Value count) {
  auto module = function->getParentOfType<ModuleOp>();
  MLIRContext *context = module.getContext();
  OpBuilder states = OpBuilder::atBlockBegin(module.getBody());
  auto add = [&](StringRef name, double start) {
    auto type = RankedTensorType::get({}, states.getF32Type());
    StateOp::create(states, function.getLoc(), name, type, StateRole::buffer, /*trainable=*/false, /*decay=*/false,
                    name, ArrayRef<int64_t>{}, ElementsAttr(), InitAttr::get(context, InitKind::constant, start, 0.0),
                    ArrayAttr(), FloatAttr(), FloatAttr());
    return FlatSymbolRefAttr::get(context, name);
  };
  // Gradients are those of the sum. PyTorch scales a mean: a power of two near 1 / terms makes its scales ours.
  double unit = std::exp2(-std::ceil(std::log2(termsOf(count))));
  auto scale = add("loss_scale.scale", lossScale), streak = add("loss_scale.streak", 0);
  scaling = LossScaleAttr::get(context, scale, streak, add("loss_scale.skipped", 0), unit, /*growth=*/2.0,
                               /*backoff=*/0.5, /*interval=*/2000);
}

Value Differentiation::buildSeed(Value loss) {
  Build b(builder, loss.getLoc());
  if (!scaling)
    return b.splat(loss, 1);
  Value scale = ReadOp::create(builder, b.loc, loss.getType(), scaling.getScale());
  return b.mul(scale, scaling.getUnit());
}

void Differentiation::buildUpdate() {
  // In the order of the states; several reads of one state add up.
  auto module = function->getParentOfType<ModuleOp>();
  Operation *end = function.front().getTerminator();
  builder.setInsertionPoint(end);
  llvm::MapVector<StringAttr, Value> sums;
  for (StateOp state : module.getOps<StateOp>())
    sums[state.getSymNameAttr()] = Value();
  for (ReadOp read : function.getOps<ReadOp>()) {
    Value gradient = gradients.lookup(read.getY());
    if (!gradient)
      continue;
    Value &sum = sums[read.getStateAttr().getAttr()];
    if (sum) {
      auto add = AddOp::create(builder, read.getLoc(), sum, gradient);
      setOrigin(add, *getOrigin(read), Phase::WeightGradient);
      // A read has no factors to inherit.
      setOriginFactors(add, SmallVector<int64_t>(rankOf(gradient), kNoFactor));
      sum = add;
    } else {
      sum = gradient;
    }
  }
  SmallVector<Value> operands;
  SmallVector<Attribute> states;
  for (auto &[name, gradient] : sums)
    if (gradient) {
      operands.push_back(gradient);
      states.push_back(FlatSymbolRefAttr::get(name));
    }
  Value sum = end->getOperand(0), count = end->getOperand(1);
  auto average = module->getAttrOfType<FloatAttr>(kAverageAttr);
  auto update =
      UpdateOp::create(builder, function.getLoc(), count.getType(), count, operands, builder.getArrayAttr(states),
                       optimizer, llvm::APFloat(clip), scaling,
                       llvm::APFloat(average ? average.getValueAsDouble() : 0.0), module->hasAttr(kEarlyAttr));
  setOrigin(update, originCount++, Phase::Update);
  end->setOperands({sum, count, update.getNorm()});
  function.setName("step");
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
}

LogicalResult Differentiation::run() {
  Operation *end = function.front().getTerminator();
  auto isScalar = [](Value value) { return isTensorLike(value.getType()) && rankOf(value) == 0 && isFloat(value); };
  if (end->getNumOperands() != 2 || !isScalar(end->getOperand(0)) || !isScalar(end->getOperand(1)))
    return function.emitOpError("must return the loss as a pair of float scalars (sum, count)");
  tagForward();
  findDependences();
  Value loss = end->getOperand(0);
  if (!active.contains(loss))
    return emitError(function.getLoc()) << "the loss depends on no parameter that trains: name one by --trainable, or "
                                           "another loss by --loss-output or --loss";
  SmallVector<Operation *> forward;
  for (Operation &op : function.front().without_terminator())
    forward.push_back(&op);
  builder.setInsertionPoint(end);
  if (lossScale > 0)
    addLossScale(end->getOperand(1));
  {
    Recorder recorder(builder);
    gradients[loss] = buildSeed(loss);
    for (Operation *op : recorder.ops) {
      setOrigin(op, *getOrigin(loss.getDefiningOp()), Phase::InputGradient);
      setOriginFactors(op, {});
    }
  }
  for (Operation *op : llvm::reverse(forward))
    if (failed(differentiate(op)))
      return failure();
  buildUpdate();
  foldGradientOps();
  // Erase the ops that the formulas built and nothing reads. A forward op whose value was replaced keeps its place
  // while a backward op belongs to it: the plan has the layouts of both.
  SmallVector<Operation *> built;
  for (Operation &op : function.front())
    built.push_back(&op);
  llvm::DenseSet<int64_t> origins;
  for (Operation *op : llvm::reverse(built)) {
    std::optional<int64_t> origin = getOrigin(op);
    bool forward = origin && getPhase(op) == Phase::Forward;
    if (isOpTriviallyDead(op) && !(forward && origins.contains(*origin)))
      op->erase();
    else if (origin && !forward)
      origins.insert(*origin);
  }
  return success();
}

struct Differentiate : impl::GraphDifferentiateBase<Differentiate> {
  using GraphDifferentiateBase::GraphDifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function = findLoss(module);
    if (!function)
      return signalPassFailure();
    Attribute attr = module->getAttr(kOptimizerAttr);
    if (!optimizer.empty())
      attr = parseAttribute(optimizer, &getContext());
    else if (!attr) // PyTorch's defaults of AdamW.
      attr = AdamAttr::get(&getContext(), 1e-3, 0.9, 0.999, 1e-8, 0.01, true);
    if (!isa_and_nonnull<OptimizerAttrInterface>(attr)) {
      module.emitError()
          << "optimizer must be #graph.adam<..>, #graph.sgd<..> or another optimizer of the dialect, got: "
          << optimizer.getValue();
      return signalPassFailure();
    }
    if (clip < 0) {
      module.emitError() << "clip must not be negative, got: " << clip.getValue();
      return signalPassFailure();
    }
    if (lossScale < 0) {
      module.emitError() << "loss scale must not be negative, got: " << lossScale.getValue();
      return signalPassFailure();
    }
    double limit = clip;
    if (auto own = module->getAttrOfType<FloatAttr>(kClipAttr); own && limit == 0)
      limit = own.getValueAsDouble();
    if (failed(Differentiation(function, attr, limit, lossScale).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtcc::graph
