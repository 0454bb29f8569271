//===- Communicators.cpp - Groups of ranks that a program declares -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Communicators.h"
#include "dialects/spmd/Spmd.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

FlatSymbolRefAttr Communicators::declare(const Twine &name, ArrayAttr axes, DenseI64ArrayAttr members) {
  CommunicatorOp &op = known[name.str()];
  if (!op) {
    OpBuilder start = OpBuilder::atBlockBegin(&program.getBody().front());
    op = CommunicatorOp::create(start, program.getLoc(), start.getStringAttr(name), axes, members,
                                /*ofParameters=*/false);
  }
  return FlatSymbolRefAttr::get(op.getSymNameAttr());
}

FlatSymbolRefAttr Communicators::over(ArrayAttr axes, ArrayRef<int64_t> members) {
  std::string name = "over";
  for (const std::string &axis : spmd::toAxes(axes))
    name += "." + axis;
  for (int64_t member : members)
    name += "." + std::to_string(member);
  auto some = members.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(axes.getContext(), members);
  return declare(name, axes, some);
}

FlatSymbolRefAttr Communicators::channel(StringAttr axis, int64_t number) {
  return declare("channel." + axis.getValue() + "." + Twine(number), ArrayAttr::get(axis.getContext(), axis), nullptr);
}

Attribute Communicators::coordinate(std::optional<ArrayAttr> axes) {
  if (!axes || axes->empty())
    return UnitAttr::get(program.getContext());
  return over(*axes);
}
