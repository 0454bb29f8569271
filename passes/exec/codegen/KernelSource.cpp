//===- KernelSource.cpp - What a kernel is generated from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/KernelSource.h"
#include "dialects/dist/Dist.h"
#include "passes/exec/codegen/WidenHalves.h"

using namespace mlir;

namespace dtcc::exec {

KernelSource::KernelSource(FuncOp func, const dist::Mesh *mesh)
    : loc(func.getLoc()), name(func.getSymName()), body(func.getBody().front()), accumulate(func.getAccumulate()),
      mesh(mesh) {
  for (unsigned i = 0, e = body.getNumArguments(); i < e; ++i)
    inputs.push_back(func.getInputBuffer(i));
  for (unsigned i = 0, e = func.getYield()->getNumOperands(); i < e; ++i)
    outputs.push_back(func.getOutputBuffer(i));
  widenHalves(body);
}

LogicalResult replaceFuncs(ModuleOp module,
                           llvm::function_ref<LogicalResult(OpBuilder &, const KernelSource &)> generate) {
  std::optional<dist::Mesh> mesh;
  for (auto op : module.getOps<dist::MeshOp>())
    mesh = dist::toMesh(op);
  for (FuncOp func : llvm::make_early_inc_range(module.getOps<FuncOp>())) {
    OpBuilder builder(func);
    KernelSource source(func, mesh ? &*mesh : nullptr);
    if (failed(generate(builder, source)))
      return failure();
    func.erase();
  }
  return success();
}

} // namespace dtcc::exec
