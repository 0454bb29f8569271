//===- Graph.td - The graph dialect: what a training step computes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, its type constraints and the base classes of its ops. Ops stand by
// family in ElementwiseOps.td, RandomOps.td, MovementOps.td, ContractionOps.td,
// NormOps.td, BatchNormOps.td, WindowOps.td, AttentionOps.td, ExpertOps.td, LossOps.td,
// RecurrenceOps.td, GradientOps.td and TrainingOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_GRAPH
#define DTCC_DIALECTS_GRAPH_GRAPH

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/interfaces/OpInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::dtcc::graph";
  let summary = "The training step on whole tensors";
  let description = [{
    A model is a module of `graph.state` symbols and one function of the model's
    inputs. At import the function returns the loss as a pair (sum, count); after
    differentiation it ends in one `graph.update`. Values are whole tensors in their
    finest dimensions ("one dimension, one factor"): a fused `qkv` projection yields
    `tensor<8x128x3x12x64xf32>`, not `tensor<1024x2304xf32>`. Dimensions of size 1
    do not exist after factoring.

    All ops are pure but `read`, `write` and `update`. Shapes are static. Elementwise
    ops take equal shapes: `graph.broadcast` says how a smaller one is repeated.
    Every op implements FactorOpInterface, by which its shapes are verified,
    ReferenceOpInterface, its executable meaning, and WorkOpInterface.
    Operands may also be `!spmd.tensor`, the same ops partitioned.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

/// tensor<...> or !spmd.tensor<...>, of static shape.
class Graph_TensorOf<string elements, string pred> : Type<
    And<[CPred<"::dtcc::graph::isTensorLike($_self)">, CPred<pred>]>, elements # " tensor", "::mlir::ShapedType">;
def Graph_Tensor : Graph_TensorOf<"static", "true">;
def Graph_FloatTensor : Graph_TensorOf<"float",
    "::llvm::isa<::mlir::FloatType>(::llvm::cast<::mlir::ShapedType>($_self).getElementType())">;
def Graph_IntTensor : Graph_TensorOf<"integer",
    "::llvm::cast<::mlir::ShapedType>($_self).getElementType().isIntOrIndex()">;
def Graph_BoolTensor : Graph_TensorOf<"boolean",
    "::llvm::cast<::mlir::ShapedType>($_self).getElementType().isInteger(1)">;
def Graph_FloatScalar : Graph_TensorOf<"float scalar",
    "::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0 && "
    "::llvm::isa<::mlir::FloatType>(::llvm::cast<::mlir::ShapedType>($_self).getElementType())">;

/// Every op of the dialect that computes.
class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, !listconcat([
    DeclareOpInterfaceMethods<FactorOpInterface>,
    DeclareOpInterfaceMethods<ReferenceOpInterface>,
    DeclareOpInterfaceMethods<WorkOpInterface>], traits)>;

/// ... and has no effects.
class Graph_PureOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat([Pure], traits)>;

/// ... and a gradient. A backward op needs none: dtcc differentiates once.
class Graph_DiffOp<string mnemonic, list<Trait> traits = []> : Graph_PureOp<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<DifferentiableOpInterface>], traits)>;

#endif // DTCC_DIALECTS_GRAPH_GRAPH
