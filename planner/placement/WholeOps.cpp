//===- WholeOps.cpp - Ops that no plan can split over a mesh
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/placement/WholeOps.h"
#include "dialects/graph/Origin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/Padding.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/step/Pins.h"

using namespace mlir;

namespace dtcc::spmd {

/// Ops that the note names beside the first.
static constexpr size_t kNamed = 3;

/// The user's name for an op: its node's, else that of the operation.
static std::string nameOf(Operation *op) {
  StringRef node = nodeOf(op);
  return (node.empty() ? op->getName().stripDialect() : node).str();
}

void noteWholeOps(ModuleOp module, const plan::Plan &plan) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  const MeshAxis *axis = plan.mesh.find(kModelAxis.str());
  if (!step || !axis || axis->size == 1)
    return;
  FactorClasses classes(step);
  PaddableClasses paddable(step, classes);
  InputClasses inputs(step, classes);
  // Values that inputs reach; what is computed of parameters and constants alone is small, and the same for all
  // samples.
  llvm::DenseSet<Value> reached(step.getArguments().begin(), step.getArguments().end());
  SmallVector<Operation *> whole;
  std::string why;
  for (Operation &op : step.getBody().front()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); }))
      continue;
    reached.insert(op.result_begin(), op.result_end());
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!factored || !graph::getOrigin(&op) || graph::getPhase(&op) != graph::Phase::Forward)
      continue;
    FactorMap map = factored.getFactorMap();
    bool divides = false;
    std::string reason;
    for (auto [f, factor] : llvm::enumerate(map.factors)) {
      unsigned id = classes.ofFactor(&op, f);
      if (factor.size == 1 || inputs.batch.contains(id) || inputs.others.contains(id) || whyNotAssignable(&op, map, f))
        continue;
      const PaddableClasses::Obstacle *obstacle = factor.size % axis->size ? paddable.obstacleOf(id) : nullptr;
      divides |= !obstacle;
      if (obstacle && reason.empty())
        reason = std::to_string(factor.size) + " does not divide, and padding of it is not known to be harmless in " +
                 nameOf(obstacle->op);
    }
    if (divides || reason.empty())
      continue;
    if (whole.empty())
      why = reason;
    whole.push_back(&op);
  }
  if (whole.empty())
    return;
  InFlightDiagnostic note = whole.front()->emitRemark("every rank of ")
                            << kModelAxis << "=" << axis->size << " computes it whole: " << why;
  SmallVector<std::string> others;
  for (Operation *op : whole)
    if (std::string name = nameOf(op); name != nameOf(whole.front()) && !llvm::is_contained(others, name))
      others.push_back(std::move(name));
  for (size_t i = 0; i < std::min(others.size(), kNamed); ++i)
    note << (i ? ", " : "; whole too: ") << others[i];
  if (others.size() > kNamed)
    note << " and " << others.size() - kNamed << " more";
}

} // namespace dtcc::spmd
