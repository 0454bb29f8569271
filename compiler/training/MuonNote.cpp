//===- MuonNote.cpp - Embeddings and classifiers that Muon would update -*- C++ -*-===//
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

/// The products whose results make logits cell by cell: with a bias, a temperature or a soft cap.
static SmallVector<graph::ContractOp> productsOf(Value logits) {
  SmallVector<graph::ContractOp> products;
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
  };
  add(logits);
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (auto product = dyn_cast<graph::ContractOp>(op))
      products.push_back(product);
    else if (op->getNumOperands() == 1 || isa<graph::ElementwiseOpInterface>(op))
      llvm::for_each(op->getOperands(), add);
  }
  return products;
}

void dtcc::noteWhatMuonUpdates(ModuleOp module, llvm::function_ref<bool(graph::StateOp)> isDecided) {
  auto optimizer = cast<graph::OptimizerAttrInterface>(module->getAttr(graph::kOptimizerAttr));
  if (!isa<graph::MuonAttr>(optimizer))
    return;
  llvm::SetVector<StringRef> embeddings, classifiers;
  auto add = [&](Value value, llvm::SetVector<StringRef> &names) {
    graph::StateOp state = stateOf(value, module);
    if (state && state.getTrainable() && !isDecided(state) &&
        graph::orthogonalSteps(graph::updateOf(state, optimizer).optimizer))
      names.insert(state.getSavedName());
  };
  module.walk([&](Operation *op) {
    auto gather = dyn_cast<graph::GatherOp>(op);
    if (isa<graph::EmbeddingOp>(op) || (gather && gather.getAxis() == 0))
      add(op->getOperand(0), embeddings);
    if (auto loss = dyn_cast<graph::CrossEntropyOp>(op))
      for (graph::ContractOp product : productsOf(loss.getLogits()))
        for (Value operand : product->getOperands())
          add(operand, classifiers);
  });
  if (embeddings.empty() && classifiers.empty())
    return;
  const bool isOne = embeddings.empty() && classifiers.size() == 1;
  InFlightDiagnostic note = module.emitRemark("muon updates ")
                            << (classifiers.empty()  ? "embeddings"
                                : embeddings.empty() ? "the classifier"
                                                     : "embeddings and the classifier")
                            << " too; its authors leave " << (isOne ? "it" : "them") << " to AdamW: add";
  embeddings.insert(classifiers.begin(), classifiers.end());
  for (StringRef name : embeddings)
    note << " --group='" << name << ":muon=0'";
}
