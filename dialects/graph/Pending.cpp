//===- Pending.cpp - Interface methods that the next commit brings
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// References, gradients and kernel bodies arrive by op family; until then they say so.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

LogicalResult NegOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult NegOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value NegOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult AbsOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult AbsOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value AbsOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult ExpOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ExpOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value ExpOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult LogOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult LogOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value LogOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SqrtOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SqrtOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SqrtOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult RsqrtOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RsqrtOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value RsqrtOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SinOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SinOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SinOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult CosOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CosOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value CosOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult TanhOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult TanhOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value TanhOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult ErfOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ErfOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value ErfOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult LogisticOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult LogisticOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value LogisticOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult FloorOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult FloorOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value FloorOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SignOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SignOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SignOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult ReluOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ReluOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value ReluOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SiluOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SiluOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SiluOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult GeluOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult GeluOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value GeluOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult ReluGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
Value ReluGradOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SiluGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
Value SiluGradOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult GeluGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
Value GeluGradOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult AddOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult AddOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value AddOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SubOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SubOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SubOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult MulOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult MulOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value MulOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult DivOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult DivOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value DivOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult PowOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult PowOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value PowOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult MaxOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult MaxOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value MaxOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult MinOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult MinOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value MinOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult RemOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RemOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value RemOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult AndOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult AndOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value AndOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult OrOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult OrOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value OrOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult XorOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult XorOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value XorOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult NotOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult NotOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value NotOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult IsNanOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult IsNanOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value IsNanOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult CompareOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CompareOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value CompareOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult SelectOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SelectOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value SelectOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult CastOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CastOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
Value CastOp::buildCell(OpBuilder &, Location, ValueRange) { return nullptr; }
LogicalResult DropoutOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult DropoutOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult ConstantOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult IotaOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ReshapeOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult TransposeOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult BroadcastOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult BroadcastOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult SliceOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SliceOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult PadOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult PadOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult ShiftOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ConcatOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult StackOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult StackOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult UnstackOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult UnstackOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult GatherOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult GatherOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult ContractOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ContractOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult ReduceOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult ReduceOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult SoftmaxOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult SoftmaxOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult CumsumOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult EmbeddingOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult EmbeddingOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult EmbeddingGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult LayerNormOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult LayerNormOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult LayerNormGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult LayerNormParamGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RmsNormOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RmsNormOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult RmsNormGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RmsNormParamGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult AttentionOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult AttentionGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RotaryOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult RotaryOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult CrossEntropyOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CrossEntropyOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no gradient yet"); }
LogicalResult CrossEntropyGradOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CrossEntropyStatsOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CrossEntropyMergeOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
LogicalResult CrossEntropyLossOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor>, const EvaluationContext &) { return emitOpError("has no reference yet"); }
