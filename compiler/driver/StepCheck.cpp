//===- StepCheck.cpp - Does the partitioned step train the same model?
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/driver/StepCheck.h"
#include "compiler/planning/LowerPlan.h"
#include "dialects/interfaces/Work.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/Evaluator.h"
#include "passes/spmd/evaluate/StepEvaluator.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace dtcc;

namespace {

/// Largest relative difference between the two runs. This is over a thousand times the rounding of some steps in f64,
/// because Adam divides noise in gradients that are zero by its epsilon.
constexpr double kMostDifference = 1e-6;
/// Below this, cells are compared absolutely.
constexpr double kLeastScale = 1e-3;
/// Limits for the interpreters, which keep all values in f64: the work of a minute or two, and the memory of all
/// values.
constexpr double kMostFlops = 2e10, kMostBytes = 4.0 * (1u << 30);

/// Cost of interpreting some ops.
struct Cost {
  double flops = 0, bytes = 0;

  void add(Operation &op, double times, double copies) {
    for (Type type : op.getResultTypes())
      if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasStaticShape()) {
        bytes += copies * 8 * double(shaped.getNumElements());
        flops += times * copies * double(shaped.getNumElements());
      }
    flops += times * copies * flopsOf(&op).value_or(0);
  }
};

/// Numbers for the inputs of a step: integers in their bounds, a fifth of the labels ignored.
class RandomInputs {
public:
  std::vector<HostTensor> draw(func::FuncOp step) {
    std::vector<HostTensor> inputs;
    for (BlockArgument argument : step.getArguments()) {
      auto type = cast<ShapedType>(argument.getType());
      unsigned number = argument.getArgNumber();
      HostTensor tensor(type.getShape(), type.getElementType());
      for (double &cell : tensor.floats)
        cell = double(random() % 4096) / 1024 - 2;
      auto bounds = step.getArgAttrOfType<DenseI64ArrayAttr>(number, "graph.bounds");
      auto role = step.getArgAttrOfType<StringAttr>(number, "graph.role");
      // Without bounds nothing is indexed by it: a mask.
      int64_t lower = bounds ? bounds[0] : 0, upper = bounds ? bounds[1] : 2;
      for (int64_t &cell : tensor.ints)
        cell = bounds && role && role.getValue() == "labels" && random() % 5 == 0
                   ? bounds[2]
                   : lower + int64_t(random() % uint64_t(std::max<int64_t>(1, upper - lower)));
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

private:
  std::mt19937_64 random{1};
};

/// The worst that was seen.
struct Worst {
  double difference = 0;
  std::string what = "nothing differs";

  void note(double value, const Twine &where) {
    if (value > difference) {
      difference = value;
      what = where.str();
    }
  }
};

/// The greatest difference of two tensors, relative to the greatest number in either.
double differenceOf(const HostTensor &value, const HostTensor &expected) {
  if (value.ints != expected.ints || value.floats.size() != expected.floats.size())
    return INFINITY;
  double difference = 0, scale = kLeastScale;
  for (auto [a, b] : llvm::zip_equal(value.floats, expected.floats)) {
    if (std::isnan(a) != std::isnan(b))
      return INFINITY;
    // Equal infinities, and not-a-numbers, are the same.
    difference = std::max(difference, a == b || std::isnan(a) ? 0 : std::abs(a - b));
    scale = std::max({scale, std::abs(a), std::abs(b)});
  }
  return difference / scale;
}

LogicalResult checkCost(func::FuncOp step, ModuleOp distributed, const spmd::Mesh &mesh, int64_t steps) {
  Cost cost;
  for (Operation &op : step.front())
    cost.add(op, 1, 1);
  distributed.walk([&](spmd::PhaseOp phase) {
    auto program = phase->getParentOfType<spmd::ProgramOp>();
    // In a pipeline, the ranks of the stage; and what it keeps of every micro-batch.
    double ranks = double(mesh.ranks());
    if (auto axis = program.getAxis())
      ranks /= double(mesh.product({axis->str()}));
    for (Operation &op : phase.getBody().front())
      cost.add(op, double(phase.getRepeat()), ranks);
    if (program.getActions())
      cost.add(*phase, 0, ranks * double(phase.getRepeat()));
  });
  cost.flops *= double(steps);
  auto refuse = [&](double needed, double most, StringRef unit) {
    return step.emitError() << "--verify can interpret at most " << llvm::formatv("{0:f1} {1}", most, unit).str()
                            << ", needs " << llvm::formatv("{0:f1}", needed).str()
                            << ": bind a smaller batch and sequence, or take a smaller model of the same form";
  };
  if (cost.flops > kMostFlops)
    return refuse(cost.flops * 1e-9, kMostFlops * 1e-9, "Gflop");
  if (cost.bytes > kMostBytes)
    return refuse(cost.bytes / double(1 << 30), kMostBytes / double(1 << 30), "GiB of values");
  return success();
}
} // namespace

StepCheck::StepCheck(ModuleOp module) : whole(module.clone()) {}

void StepCheck::addEvaluation(const Options &options, const plan::Plan &plan) {
  dtcc::addEvaluation(whole->lookupSymbol<func::FuncOp>("step"), options, plan);
}

LogicalResult StepCheck::run(ModuleOp distributed, int64_t steps, raw_ostream &stream) {
  auto step = whole->lookupSymbol<func::FuncOp>("step");
  if (!step || distributed.getOps<spmd::ProgramOp>().empty())
    return distributed.emitError("--verify needs a whole step and its partitioned program");
  spmd::Mesh mesh = spmd::toMesh(*distributed.getOps<spmd::MeshOp>().begin());
  if (failed(checkCost(step, distributed, mesh, steps)))
    return failure();
  graph::Evaluator reference(*whole);
  spmd::StepEvaluator ranks(distributed);
  if (failed(reference.initialize()) || failed(ranks.initialize(reference.states)))
    return failure();
  RandomInputs random;
  Worst worst;
  for (int64_t number = 1; number <= steps; ++number) {
    std::vector<HostTensor> inputs = random.draw(step);
    llvm::StringMap<HostTensor> named;
    for (auto [n, tensor] : llvm::enumerate(inputs))
      named[step.getArgAttrOfType<StringAttr>(n, "graph.name").getValue()] = tensor;
    auto expected = reference.run(step, inputs);
    if (failed(expected))
      return failure();
    auto report = ranks.run(named);
    if (failed(report))
      return failure();
    SmallVector<std::tuple<StringRef, double, int>> reported{{"loss", report->lossSum, 0},
                                                             {"number of counted labels", report->count, 1},
                                                             {"norm of the gradients", report->gradNorm, 2}};
    if (expected->size() > 4) {
      reported.push_back({"loss of an evaluation", report->evaluatedSum, 3});
      reported.push_back({"number of labels of an evaluation", report->evaluatedCount, 4});
    }
    for (auto [what, value, at] : reported) {
      HostTensor one({}, (*expected)[at].elementType);
      one.floats[0] = value;
      double difference = differenceOf(one, (*expected)[at]);
      if (difference > kMostDifference)
        return step.emitError("the partitioned step is not the step: in step ")
               << number << " the " << what << " must be " << (*expected)[at].floats[0] << ", got: " << value;
      worst.note(difference, what + " of step " + Twine(number));
    }
    for (auto [n, value] : llvm::enumerate(report->prediction)) {
      double wanted = (*expected)[5].floats[n], difference = std::abs(value - wanted) / std::max(1.0, std::abs(wanted));
      if (difference > kMostDifference)
        return step.emitError("the partitioned step is not the step: behind step ")
               << number << " cell " << n << " of the prediction of an evaluation must be " << wanted
               << ", got: " << value;
      worst.note(difference, "prediction behind step " + Twine(number));
    }
    auto states = ranks.states();
    if (failed(states))
      return failure();
    for (auto state : whole->getOps<graph::StateOp>()) {
      double difference = differenceOf((*states)[state.getSymName()], reference.states[state.getSymName()]);
      if (difference > kMostDifference)
        return state.emitError("the partitioned step is not the step: after step ")
               << number << " this state differs by " << llvm::formatv("{0:e1}", difference).str()
               << " of its greatest number: " << state.getSavedName();
      worst.note(difference, state.getSavedName() + " after step " + Twine(number));
    }
  }
  stream << llvm::formatv("verified: {0} steps on {1} {2} equal the whole step; the worst relative difference is "
                          "{3:e1} ({4})\n",
                          steps, mesh.ranks(), mesh.ranks() == 1 ? "rank" : "ranks", worst.difference, worst.what);
  return success();
}
