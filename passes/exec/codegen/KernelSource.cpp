//===- KernelSource.cpp - What a kernel is generated from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/codegen/KernelSource.h"
#include "dialects/spmd/Spmd.h"
#include "passes/exec/codegen/WidenHalves.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtcc::exec {

KernelSource::KernelSource(FuncOp func, const spmd::Mesh *mesh)
    : loc(func.getLoc()), name(func.getSymName()), body(func.getBody().front()), accumulate(func.getAccumulate()),
      mesh(mesh) {
  for (unsigned i = 0, e = body.getNumArguments(); i < e; ++i)
    inputs.push_back(func.getInputBuffer(i));
  for (unsigned i = 0, e = func.getYield()->getNumOperands(); i < e; ++i)
    outputs.push_back(func.getOutputBuffer(i));
  alignments.assign(inputs.size() + outputs.size(), kMostAligned);
  widenHalves(body);
}

/// The largest power of two that divides the address of the view in every slot and on every rank.
static int64_t alignmentOf(ViewOp view) {
  uint64_t alignment = llvm::MinAlign(kMostAligned, view.getOffset());
  alignment = llvm::MinAlign(alignment, view.getSlotStride().value_or(0));
  MemRefType type = view.getView().getType();
  if (std::optional<uint64_t> dim = view.getBlockDim())
    alignment = llvm::MinAlign(
        alignment, uint64_t(type.getDimSize(*dim) * getStrides(type)[*dim] * getElementBytes(type.getElementType())));
  return int64_t(alignment);
}

LogicalResult replaceFuncs(ModuleOp module,
                           llvm::function_ref<LogicalResult(OpBuilder &, const KernelSource &)> generate) {
  std::optional<spmd::Mesh> mesh;
  for (auto op : module.getOps<spmd::MeshOp>())
    mesh = spmd::toMesh(op);
  llvm::StringMap<SmallVector<int64_t>> alignments;
  module.walk([&](KernelOp op) {
    SmallVector<int64_t> &known = alignments[op.getFunction()];
    known.resize(op.getIns().size() + op.getOuts().size(), kMostAligned);
    for (auto [alignment, view] : llvm::zip_equal(known, llvm::concat<Value>(op.getIns(), op.getOuts())))
      alignment = std::min(alignment, alignmentOf(view.getDefiningOp<ViewOp>()));
  });
  for (FuncOp func : llvm::make_early_inc_range(module.getOps<FuncOp>())) {
    OpBuilder builder(func);
    KernelSource source(func, mesh ? &*mesh : nullptr);
    if (auto known = alignments.find(func.getSymName()); known != alignments.end())
      source.alignments = known->second;
    if (failed(generate(builder, source)))
      return failure();
    func.erase();
  }
  return success();
}

} // namespace dtcc::exec
