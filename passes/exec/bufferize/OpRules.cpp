//===- OpRules.cpp - How each kind of op becomes commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc::exec;

const OpRule *dtcc::exec::findRule(Operation *op) {
  static const OpRules rules = [] {
    OpRules table;
    addMovementRules(table);
    addComputeRules(table);
    addProductRules(table);
    addAttentionRules(table);
    addLibraryRules(table);
    addExpertRules(table);
    addWindowRules(table);
    addRecurrenceRules(table);
    addCollectiveRules(table);
    addRowRules(table);
    addUpdateRules(table);
    addUnitRules(table);
    return table;
  }();
  static const OpRule collective = collectiveRule();
  auto found = rules.find(op->getName().getStringRef());
  if (found != rules.end())
    return &found->second;
  return isa<CommunicationOpInterface>(op) ? &collective : nullptr;
}

Place dtcc::exec::shareOf(Place whole, ArrayAttr axes, Bufferizer &b) {
  if (axes.empty())
    return whole;
  whole.sizes[0] /= b.mesh().product(spmd::toAxes(axes));
  whole.blockOf = b.communicators.over(axes).getAttr();
  whole.blockStride = whole.sizes[0];
  return whole;
}
