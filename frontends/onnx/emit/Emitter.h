//===- Emitter.h - Makes graph ops, or folds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary in which the rules of ops/*.cpp are written: numpy's semantics on
// top, the graph dialect's strict ops below. Each function first tries what is known
// of its operands (constants, positions, splats) and makes an op only if it must.
// A null operand gives a null result; errors are emitted where they are found.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H
#define DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H

#include "dialects/graph/Graph.h"
#include "frontends/onnx/emit/Budget.h"
#include "frontends/onnx/file/Tensor.h"
#include "mlir/IR/Builders.h"

namespace dtcc::onnx {

/// How a written cell is combined with the cell that was there.
enum class ScatterKind { replace, add, mul, max, min };

class Emitter {
public:
  /// Makes one cell of two; associative.
  using Combine = llvm::function_ref<Tensor(const Tensor &, const Tensor &)>;

  Emitter(mlir::MLIRContext *context) : builder(context, &budget), loc(mlir::UnknownLoc::get(context)) {}
  Emitter(const Emitter &) = delete;
  Emitter &operator=(const Emitter &) = delete;

  void setLoc(mlir::Location newLoc) { loc = newLoc; }
  mlir::Location getLoc() const { return loc; }
  mlir::OpBuilder &getBuilder() { return builder; }
  Budget &getBudget() { return budget; }
  /// Emits an error here; converts to a null Tensor.
  Tensor error(const llvm::Twine &message);

  // Sources.
  Tensor fromValue(mlir::Value value);
  Tensor constant(HostTensor cells);
  Tensor scalar(double value, mlir::Type element);
  Tensor integers(llvm::ArrayRef<int64_t> values);
  Tensor affine(mlir::RankedTensorType type, Affine affine);
  Tensor splat(mlir::RankedTensorType type, double value);

  // Values that are known at import.
  /// All cells, if they are known and few.
  std::shared_ptr<const HostTensor> known(const Tensor &x);
  std::optional<Affine> knownAffine(const Tensor &x);
  /// The one value of all cells.
  std::optional<double> knownSplat(const Tensor &x);
  /// Whether all cells are 0 or 1: a boolean cast to integers.
  bool isFlag(const Tensor &x);
  /// The SSA value, made now if there is none.
  mlir::Value value(const Tensor &x);

  // Movement.
  Tensor reshape(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);
  /// numpy's broadcast_to: aligned right, sizes equal or 1.
  Tensor broadcastTo(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor slice(const Tensor &x, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> strides);
  /// Dimension `dim` from its end to its start.
  Tensor reversed(const Tensor &x, int64_t dim);
  Tensor pad(const Tensor &x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value);
  Tensor concat(llvm::ArrayRef<Tensor> xs, int64_t dim);
  /// y[a.., i.., c..] = x[a.., indices[i..], c..]; indices count from 0.
  Tensor gather(const Tensor &x, const Tensor &indices, int64_t axis);
  /// y[i.., c..] = x[coordinates[0][i..], coordinates[1][i..], .., c..].
  Tensor gatherPoints(const Tensor &x, llvm::ArrayRef<Tensor> coordinates);
  Tensor cast(const Tensor &x, mlir::Type element);
  /// x with updates[i.., c..] written to x[coordinates[0][i..], coordinates[1][i..], .., c..], one after the other: of
  /// several updates to a cell the last stays, or all are combined with it. A box of cells at a known place is joined
  /// to what lies around it. Elsewhere every point is compared with every row: at most kMostPairs.
  Tensor scatterPoints(const Tensor &x, llvm::ArrayRef<Tensor> coordinates, const Tensor &updates, ScatterKind kind);
  /// Flags whose new dimension `dim` has `size` cells: whether a cell's place there is the index.
  Tensor oneHot(const Tensor &indices, int64_t size, int64_t dim);
  /// y[.., k, ..] = x[.., indices[.., k, ..], ..]: the cells that indices, which only the data tell, pick along `axis`.
  Tensor pick(const Tensor &x, const Tensor &indices, int64_t axis);
  /// The inverse: x with updates[.., k, ..] written to cell indices[.., k, ..] of `axis`, as scatterPoints writes.
  Tensor place(const Tensor &x, const Tensor &indices, const Tensor &updates, int64_t axis, ScatterKind kind);
  /// Running sums along `dim`, from the end if `reverse`, without the cell itself if `exclusive`.
  Tensor cumsum(const Tensor &x, int64_t dim, bool exclusive, bool reverse);
  /// Running products, likewise.
  Tensor cumprod(const Tensor &x, int64_t dim, bool exclusive, bool reverse);
  /// All cells along `dim` combined, pair by pair; the dimension stays with size 1. For what no reduction computes.
  Tensor fold(const Tensor &x, int64_t dim, Combine combine);
  /// Products over `dims`, which vanish, or stay with size 1.
  Tensor product(const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
  /// `count` cells of dimension `dim`, from `first` on.
  Tensor cut(const Tensor &x, int64_t dim, int64_t first, int64_t count);
  /// Drops dimension `dim` of size 1; adds one at `dim`.
  Tensor squeeze(const Tensor &x, int64_t dim);
  Tensor unsqueeze(const Tensor &x, int64_t dim);

  // Arithmetic, with numpy's broadcasting.
  Tensor add(const Tensor &x, const Tensor &y);
  Tensor sub(const Tensor &x, const Tensor &y);
  Tensor mul(const Tensor &x, const Tensor &y);
  Tensor div(const Tensor &x, const Tensor &y);
  Tensor compare(graph::Predicate predicate, const Tensor &x, const Tensor &y);
  Tensor logicalAnd(const Tensor &x, const Tensor &y);
  Tensor logicalOr(const Tensor &x, const Tensor &y);
  Tensor logicalNot(const Tensor &x);
  Tensor select(const Tensor &condition, const Tensor &x, const Tensor &y);
  template <typename OpTy> Tensor binary(const Tensor &x, const Tensor &y) {
    Tensor a = x, b = y;
    if (!broadcastTogether({&a, &b}))
      return nullptr;
    mlir::RankedTensorType type = a->type;
    return finish(OpTy::create(builder, loc, type, value(a), value(b)), {a, b});
  }
  template <typename OpTy, typename... Args> Tensor unary(const Tensor &x, Args... args) {
    if (!x)
      return nullptr;
    return finish(OpTy::create(builder, loc, x->type, value(x), args...), {x});
  }

  // Products and reductions.
  /// numpy's matmul.
  Tensor matmul(const Tensor &x, const Tensor &y);
  Tensor contract(llvm::StringRef spec, const Tensor &x, const Tensor &y);
  /// `dims` in any order; they vanish, or stay with size 1.
  Tensor reduce(Reduction kind, const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
  Tensor mean(const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
  Tensor softmax(const Tensor &x, llvm::ArrayRef<int64_t> dims, bool log);
  /// x [n, c, ..] times scale [c], plus bias [c]. Null, ones and zeros, which exporters write for none, make no op.
  Tensor affineChannels(const Tensor &x, const Tensor &scale, const Tensor &bias);

  /// Wraps result 0 of a new op, or folds it when all operands are known and the result is small.
  Tensor finish(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);
  mlir::RankedTensorType typeLike(const Tensor &x, llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, elementOf(x));
  }
  /// Whether a tensor may have so many cells; if not, the error is out.
  bool fits(mlir::RankedTensorType type);
  /// Broadcasts all to their common shape. False: they do not fit (the error is out) or one is null.
  bool broadcastTogether(llvm::ArrayRef<Tensor *> xs);

private:
  Tensor runningFold(const Tensor &x, int64_t dim, bool exclusive, bool reverse, double neutral, Combine combine);
  /// x [.., a, ..] with updates [.., p, 1, ..] written to where hits [.., p, a, ..] hold; p is dimension `axis`.
  Tensor placeHits(const Tensor &x, const Tensor &hits, const Tensor &updates, int64_t axis, ScatterKind kind);
  std::optional<llvm::SmallVector<int64_t>> commonShape(llvm::ArrayRef<Tensor *> xs);

  Budget budget;
  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H
