//===- FoldDimensions.cpp - Views of as few dimensions as they have
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors stand in their finest dimensions: an image of 224 x 224 that is pooled six times
// has fourteen. Their cells lie as before, so neighbouring dimensions are one box in memory.
// A row of the command table has room for DTCC_MAX_RANK dimensions, and commands that walk
// boxes cell by cell walk fewer loops if dimensions are folded.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_FOLDDIMENSIONS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc::exec;

namespace {
/// The views of one command that are walked together. They have one shape, before and after folding.
class FoldedViews {
public:
  explicit FoldedViews(ArrayRef<ViewOp> views) : views(views) {
    for (ViewOp view : views)
      strides.push_back(getStrides(view.getView().getType()));
    ArrayRef<int64_t> shape = cast<MemRefType>(views.front()->getResult(0).getType()).getShape();
    for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
      if (shape[dim] == 1 && !isBlock(dim))
        continue;
      if (!dims.empty() && continues(dim, shape[dim])) {
        sizes.back() *= shape[dim];
        dims.back() = dim;
        continue;
      }
      if (isBlock(dim))
        blockDims[dim] = int64_t(sizes.size());
      sizes.push_back(shape[dim]);
      dims.push_back(dim);
    }
  }

  /// The view number `index` with these dimensions, beside the one that it is made of.
  Value make(size_t index) {
    ViewOp view = views[index];
    MemRefType type = view.getView().getType();
    SmallVector<int64_t> steps;
    for (int64_t dim : dims)
      steps.push_back(strides[index][dim]);
    auto folded = MemRefType::get(sizes, type.getElementType(), StridedLayoutAttr::get(type.getContext(), 0, steps));
    // The extent of a block stays, of one cell too, though the stride of such a dimension says nothing of its cells.
    auto dense = MemRefType::get(sizes, type.getElementType());
    std::optional<int64_t> blockDim;
    if (view.getBlockDim())
      blockDim = blockDims.lookup(int64_t(*view.getBlockDim()));
    if (isDense(folded) && (!blockDim || getStrides(dense)[*blockDim] == steps[*blockDim]))
      folded = dense;
    OpBuilder builder(view);
    auto made = cast<ViewOp>(builder.clone(*view));
    made.getView().setType(folded);
    if (blockDim)
      made.setBlockDim(*blockDim);
    return made;
  }

private:
  bool isBlock(int64_t dim) const {
    return llvm::any_of(views, [&](ViewOp view) {
      std::optional<uint64_t> block = view.getBlockDim();
      return block && int64_t(*block) == dim;
    });
  }
  /// Whether a step of the dimension before spans the whole of this one, in all views. A block starts at a multiple of
  /// its own extent, not of what is around it.
  bool continues(int64_t dim, int64_t size) const {
    return !isBlock(dim) &&
           llvm::all_of(strides, [&](ArrayRef<int64_t> of) { return of[dims.back()] == size * of[dim]; });
  }

  ArrayRef<ViewOp> views;
  SmallVector<SmallVector<int64_t>, 2> strides;
  /// For each folded dimension, its size, and the innermost of the dimensions that it combines.
  SmallVector<int64_t> sizes, dims;
  /// The folded dimension of each one along which blocks follow each other in some view: two views may differ in it.
  llvm::SmallDenseMap<int64_t, int64_t> blockDims;
};

struct FoldDimensions : dtcc::exec::impl::FoldDimensionsBase<FoldDimensions> {
  void runOnOperation() override {
    SmallVector<CommandOpInterface> commands;
    getOperation()->walk([&](CommandOpInterface command) { commands.push_back(command); });
    for (CommandOpInterface command : commands) {
      // Each library op gives the dimensions of its views a meaning, so they stay.
      if (isa<LibraryOp>(command))
        continue;
      if (auto collective = dyn_cast<CollectiveOp>(command.getOperation()); collective && collective.getExperts())
        continue;
      SmallVector<OpOperand *> operands;
      for (OpOperand &operand : command->getOpOperands())
        if (operand.get().getDefiningOp<ViewOp>())
          operands.push_back(&operand);
      if (isa<CopyOp>(command))
        fold(operands);
      else
        for (OpOperand *operand : operands)
          fold(operand);
    }
    getOperation()->walk([](ViewOp view) {
      if (view->use_empty())
        view.erase();
    });
  }

  void fold(ArrayRef<OpOperand *> operands) {
    SmallVector<ViewOp> views;
    for (OpOperand *operand : operands)
      views.push_back(operand->get().getDefiningOp<ViewOp>());
    FoldedViews folded(views);
    for (auto [index, operand] : llvm::enumerate(operands))
      operand->set(folded.make(index));
  }
};
} // namespace
