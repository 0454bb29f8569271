//===- MuonEmbeddings.cpp - Embeddings that Muon orthogonalizes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/training/OptimizerOption.h"
#include "dialects/graph/StateUpdate.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dtcc;

/// The state that a value is, perhaps transposed or of another type; null if it is computed.
static graph::StateOp stateOf(Value value, ModuleOp module) {
  Operation *op = value.getDefiningOp();
  while (op && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  auto read = dyn_cast_or_null<graph::ReadOp>(op);
  return read ? SymbolTable::lookupNearestSymbolFrom<graph::StateOp>(module, read.getStateAttr()) : nullptr;
}

void dtcc::tellOfEmbeddings(ModuleOp module, llvm::function_ref<bool(graph::StateOp)> isDecided) {
  auto optimizer = cast<graph::OptimizerAttrInterface>(module->getAttr(graph::kOptimizerAttr));
  if (!isa<graph::MuonAttr>(optimizer))
    return;
  llvm::SetVector<StringRef> names;
  module.walk([&](Operation *op) {
    auto gather = dyn_cast<graph::GatherOp>(op);
    if (!isa<graph::EmbeddingOp>(op) && (!gather || gather.getAxis() != 0))
      return;
    graph::StateOp state = stateOf(op->getOperand(0), module);
    if (state && state.getTrainable() && !isDecided(state) &&
        graph::orthogonalSteps(graph::updateOf(state, optimizer).optimizer))
      names.insert(state.getSavedName());
  });
  if (names.empty())
    return;
  InFlightDiagnostic note = module.emitRemark("muon updates embeddings too; its authors leave them to AdamW: add");
  for (StringRef name : names)
    note << " --group='" << name << ":muon=0'";
}
