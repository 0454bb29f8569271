//===- Evaluator.cpp - Runs a graph function on whole tensors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Evaluator.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/StateUpdate.h"
#include "dialects/interfaces/Philox.h"
#include <cmath>

using namespace mlir;

namespace dtcc::graph {

static HostTensor emptyOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  return HostTensor(shaped.getShape(), shaped.getElementType());
}

FailureOr<SmallVector<HostTensor>> evaluateOp(Operation *op, ArrayRef<HostTensor> operands,
                                              const EvaluationContext &context, bool round) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return op->emitOpError("has no reference");
  SmallVector<HostTensor> results;
  for (Type type : op->getResultTypes())
    results.push_back(emptyOf(type));
  if (failed(reference.evaluate(operands, results, context)))
    return failure();
  if (round)
    for (HostTensor &result : results)
      result.round();
  return results;
}

LogicalResult Evaluator::initialize() {
  int64_t number = 0;
  for (StateOp state : module.getOps<StateOp>()) {
    ++number;
    HostTensor tensor = emptyOf(state.getType());
    if (auto value = state.getValue()) {
      FailureOr<HostTensor> read = HostTensor::fromAttribute(*value);
      if (failed(read))
        return state.emitOpError("value must be dense or a resource with its bytes");
      tensor = std::move(*read);
      // The model's file may store a narrower or wider type.
      tensor.elementType = cast<ShapedType>(state.getType()).getElementType();
      tensor.round();
    } else {
      InitAttr init = *state.getInit();
      for (int64_t i = 0; i < static_cast<int64_t>(tensor.floats.size()); ++i) {
        // Two numbers a cell, from the counters 2i and 2i + 1.
        double u = philoxUniform(seed, number, 2 * i, 0), w = philoxUniform(seed, number, 2 * i + 1, 0);
        switch (init.getKind()) {
        case InitKind::zero:
          break;
        case InitKind::constant:
          tensor.floats[i] = init.getA();
          break;
        case InitKind::normal: // Box-Muller.
          tensor.floats[i] = init.getA() + init.getB() * std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * w);
          break;
        case InitKind::uniform:
          tensor.floats[i] = init.getA() + (init.getB() - init.getA()) * u;
          break;
        }
      }
      for (int64_t &cell : tensor.ints)
        cell = init.getKind() == InitKind::constant ? static_cast<int64_t>(init.getA()) : 0;
    }
    if (rounds)
      tensor.round();
    states[state.getSymName()] = std::move(tensor);
  }
  return success();
}

FailureOr<SmallVector<HostTensor>> Evaluator::run(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError() << "needs " << function.getNumArguments() << " arguments, got: " << arguments.size();
  llvm::DenseMap<Value, HostTensor> values;
  for (auto [argument, tensor] : llvm::zip_equal(function.getArguments(), arguments)) {
    auto type = cast<ShapedType>(argument.getType());
    if (type.getShape() != ArrayRef<int64_t>(tensor.shape))
      return function.emitOpError() << "argument " << argument.getArgNumber() << " must be " << type;
    values[argument] = tensor;
  }
  EvaluationContext context;
  context.seed = seed;
  context.step = step;
  llvm::StringMap<HostTensor> written;
  bool updated = false;
  for (Operation &op : function.front()) {
    SmallVector<HostTensor> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    if (isa<func::ReturnOp>(op)) {
      for (auto &entry : written)
        states[entry.getKey()] = entry.getValue();
      step += updated;
      return operands;
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      // Writes end the step, and an evaluation follows it.
      auto &from = isEvaluation(&op) && written.contains(read.getState()) ? written : states;
      auto state = from.find(read.getState());
      if (state == from.end())
        return op.emitOpError() << "needs state @" << read.getState();
      results.push_back(state->second);
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      written[write.getState()] = operands[0];
    } else if (auto optimizer = dyn_cast<UpdateOp>(op)) {
      FailureOr<HostTensor> norm = update(optimizer, operands);
      if (failed(norm))
        return failure();
      results.push_back(std::move(*norm));
      updated = true;
    } else {
      FailureOr<SmallVector<HostTensor>> evaluated = evaluateOp(&op, operands, context, rounds);
      if (failed(evaluated))
        return failure();
      results = std::move(*evaluated);
    }
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results))
      values[result] = std::move(tensor);
  }
  return function.emitOpError("must end in a return");
}

void LossScaleState::adjust(bool finite, double growth, double backoff, int64_t interval) {
  if (!finite) {
    scale *= backoff;
    streak = 0;
    ++skipped;
    return;
  }
  if (++streak < static_cast<double>(interval))
    return;
  scale *= growth;
  streak = 0;
}

FailureOr<HostTensor> Evaluator::update(UpdateOp op, ArrayRef<HostTensor> operands) {
  auto optimizer = cast<OptimizerAttrInterface>(op.getOptimizer());
  double count = operands[0].floats[0], square = 0;
  // Without a sample there is nothing to learn.
  double scale = count == 0 ? 0 : 1 / count;
  int64_t number = step;
  std::optional<LossScaleAttr> scaling = op.getLossScale();
  auto cellOf = [&](FlatSymbolRefAttr state) -> double & { return states[state.getValue()].floats[0]; };
  if (scaling) {
    scale /= cellOf(scaling->getScale()) * scaling->getUnit();
    number -= static_cast<int64_t>(cellOf(scaling->getSkipped()));
  }
  for (const HostTensor &gradient : operands.drop_front())
    for (double g : gradient.floats)
      square += g * scale * g * scale;
  HostTensor norm({}, operands[0].elementType);
  norm.floats[0] = std::sqrt(square);
  if (scaling) {
    LossScaleState state{cellOf(scaling->getScale()), cellOf(scaling->getStreak()), cellOf(scaling->getSkipped())};
    bool finite = std::isfinite(square);
    state.adjust(finite, scaling->getGrowth(), scaling->getBackoff(), scaling->getInterval());
    if (!finite)
      return norm;
  }
  double clip = op.getClip().convertToDouble();
  if (clip > 0)
    scale *= std::min(1.0, clip / (norm.floats[0] + 1e-6));
  for (auto [name, gradient] : llvm::zip_equal(op.getStates(), operands.drop_front())) {
    StringRef symbol = cast<FlatSymbolRefAttr>(name).getValue();
    auto state = module.lookupSymbol<StateOp>(symbol);
    Type element = gradient.elementType;
    auto rounded = [&](double value) {
      if (!rounds)
        return value;
      HostTensor cell({}, element);
      cell.floats[0] = value;
      cell.round();
      return cell.floats[0];
    };
    HostTensor &parameter = states[symbol];
    SmallVector<HostTensor> &memory = slots[symbol];
    ArrayAttr start = state.getSlotsAttr();
    if (memory.empty() && start)
      for (Attribute value : start) {
        FailureOr<HostTensor> slot = HostTensor::fromAttribute(cast<ElementsAttr>(value));
        if (failed(slot))
          return state.emitOpError("slots must be dense or resources with their bytes");
        memory.push_back(std::move(*slot));
      }
    StateUpdate update = updateOf(state, optimizer);
    if (update.optimizer.getTensorNeed() != TensorNeed::None)
      return op.emitError("the interpreter has no optimizer that needs whole tensors, got: ") << update.optimizer;
    memory.resize(update.optimizer.getSlotNames().size(), HostTensor(parameter.shape, parameter.elementType));
    for (size_t i = 0; i < gradient.floats.size(); ++i) {
      SmallVector<double *> cells;
      for (HostTensor &slot : memory)
        cells.push_back(&slot.floats[i]);
      update.optimizer.updateCell(gradient.floats[i] * scale, update.rate, update.decay, number, parameter.floats[i],
                                  cells, rounded);
    }
  }
  if (rounds)
    norm.round();
  return norm;
}

} // namespace dtcc::graph
