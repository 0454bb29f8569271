//===- Emitter.h - Makes graph ops, or folds them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary in which the rules of ops/*.cpp are written: numpy's semantics on
// top, the graph dialect's strict ops below. Each function first tries what is known
// of its operands (Known.h) and makes an op only if it must. Everything that is made of
// several such steps stands in families of its own: Dimensions.h, Logic.h, Products.h,
// Reductions.h, Folds.h, Indexing.h, Scatter.h.
// A null operand gives a null result; errors are emitted where they are found.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H
#define DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H

#include "dialects/graph/Graph.h"
#include "frontends/onnx/emit/Budget.h"
#include "frontends/onnx/emit/Known.h"
#include "mlir/IR/Builders.h"

namespace dtcc::onnx {

class Emitter;

/// Whether a tensor may have so many cells; if not, the error is out.
bool fits(mlir::Location loc, mlir::RankedTensorType type);
/// Broadcasts all to their common shape. False: they do not fit (the error is out) or one is null.
bool broadcastTogether(Emitter &emit, llvm::ArrayRef<Tensor *> xs);
/// Whether both have one element type. Emits an error if not: the types that a file gives are not checked elsewhere,
/// and folding would read the cells of one type where those of the other lie.
bool haveOneElement(Emitter &emit, const Tensor &x, const Tensor &y);

class Emitter {
public:
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

  /// The SSA value, made now if there is none.
  mlir::Value value(const Tensor &x);

  // Movement.
  Tensor reshape(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);
  /// numpy's broadcast_to: aligned right, sizes equal or 1.
  Tensor broadcastTo(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor slice(const Tensor &x, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> strides);
  Tensor concat(llvm::ArrayRef<Tensor> xs, int64_t dim);
  Tensor cast(const Tensor &x, mlir::Type element);
  /// Makes a cast of the model's own to a half, which rounds even where a kernel keeps the value, and rounds constants.
  Tensor roundTo(const Tensor &x, mlir::FloatType half);
  // Arithmetic, with numpy's broadcasting.
  Tensor add(const Tensor &x, const Tensor &y);
  Tensor sub(const Tensor &x, const Tensor &y);
  Tensor mul(const Tensor &x, const Tensor &y);
  Tensor div(const Tensor &x, const Tensor &y);
  Tensor compare(graph::Predicate predicate, const Tensor &x, const Tensor &y);
  Tensor select(const Tensor &condition, const Tensor &x, const Tensor &y);
  template <typename OpTy> Tensor binary(const Tensor &x, const Tensor &y) {
    Tensor a = x, b = y;
    if (!broadcastTogether(*this, {&a, &b}) || !haveOneElement(*this, a, b))
      return nullptr;
    mlir::RankedTensorType type = a->type;
    return finish(OpTy::create(builder, loc, type, value(a), value(b)), {a, b});
  }
  template <typename OpTy, typename... Args> Tensor unary(const Tensor &x, Args... args) {
    if (!x)
      return nullptr;
    return finish(OpTy::create(builder, loc, x->type, value(x), args...), {x});
  }

  /// Wraps result 0 of a new op, or folds it when all operands are known and the result is small.
  Tensor finish(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

private:
  Budget budget;
  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_EMITTER_H
