//===- ComputeTypes.cpp - In which type the readers of a state want it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cast rounds cells one by one, so it may stand before what moves them: the bits are the
// same. Gradients are left alone; they stay f32 from the product on.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/ComputeTypes.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/Work.h"
#include "passes/spmd/Passes.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDASSIGNCOMPUTETYPES
#include "passes/spmd/Passes.h.inc"

bool onlyMovesCells(Operation *op) { return op->getNumOperands() == 1 && flopsOf(op) == 0.0; }

/// Follows `value` to its readers; false if one of them wants another type than a narrow one.
static bool follow(Value value, unsigned width, NarrowReads &found) {
  for (Operation *user : value.getUsers()) {
    if (auto cast = dyn_cast<graph::CastOp>(user)) {
      auto type = dyn_cast<FloatType>(graph::elementOf(cast.getY()));
      if (!type || type.getWidth() >= width || (found.type && found.type != type))
        return false;
      found.type = type;
      found.casts.push_back(cast);
      continue;
    }
    auto reshard = dyn_cast<ReshardOp>(user);
    if (!(reshard && reshard.getType().getLayout().partial.empty()) && !onlyMovesCells(user))
      return false;
    found.moves.push_back(user);
    for (Value result : user->getResults())
      if (!follow(result, width, found))
        return false;
  }
  return true;
}

llvm::MapVector<StringRef, NarrowReads> findNarrowReads(ModuleOp module, func::FuncOp step) {
  llvm::MapVector<StringRef, NarrowReads> all;
  SymbolTable symbols(module);
  for (auto read : step.getOps<graph::ReadOp>())
    if (!read->use_empty())
      all[read.getState()].reads.push_back(read);
  all.remove_if([&](auto &entry) {
    auto state = symbols.lookup<graph::StateOp>(entry.first);
    auto type = state ? dyn_cast<FloatType>(cast<ShapedType>(state.getType()).getElementType()) : FloatType();
    if (!type || state.getRole() != graph::StateRole::parameter)
      return true;
    return !llvm::all_of(entry.second.reads, [&](graph::ReadOp read) {
      return graph::elementOf(read.getY()) == type && follow(read.getY(), type.getWidth(), entry.second);
    }) || !entry.second.type;
  });
  return all;
}

static void narrow(Value value, FloatType type) { value.setType(cast<ShapedType>(value.getType()).clone(type)); }

namespace {
struct AssignComputeTypes : impl::SpmdAssignComputeTypesBase<AssignComputeTypes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>("step");
    if (!step) {
      module.emitError("needs a distributed function @step: run spmd-apply-plan first");
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (auto &[name, found] : findNarrowReads(module, step)) {
      symbols.lookup(name)->setAttr(kComputeAttr, TypeAttr::get(found.type));
      for (graph::ReadOp read : found.reads)
        narrow(read.getY(), found.type);
      for (Operation *move : found.moves)
        for (Value result : move->getResults())
          narrow(result, found.type);
      for (graph::CastOp cast : found.casts) {
        cast.getY().replaceAllUsesWith(cast.getX());
        cast.erase();
      }
    }
  }
};
} // namespace
} // namespace dtcc::spmd
