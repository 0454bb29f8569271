//===- Dist.td - The dist dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, its attributes and its one type. Ops stand by family in
// LayoutOps.td, CollectiveOps.td, ProgramOps.td and UpdateOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_DIST_DIST
#define DTCC_DIALECTS_DIST_DIST

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::dtcc::dist";
  let summary = "Layouts on a mesh, collectives, state and phases";
  let description = [{
    Two forms, one after the other. First a function of the same graph ops on
    `!dist.tensor`: whole tensors with their layout in the type, one `dist.reshard`
    where a producer and a consumer differ. Then a `dist.program`: the same ops on
    the local tensors of a rank, with explicit collectives, in phases.

    Discardable attributes: a `graph.state` carries `dist.layout` (a TypeAttr of its
    `!dist.tensor`) and, if ranks hold shares of it, `dist.flat` (the axes that share
    it), `dist.zero` (what is shared: the stage, 1 to 3) and `dist.unit` (the name of
    the group of states that are reduced and gathered together), `dist.compute` (the
    narrower type in which it is read, if it is read in no other) and `dist.offload` (what only
    its update touches lies with the host); in the second form also `dist.bucket` and `dist.offset`
    (elements), which are lists where several stages of a pipeline hold a copy.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// In DistTypes.cpp, which alone sees the storage of types.
    void registerTypes();
  }];
}

class Dist_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtcc::dist";
  let genSpecializedAttr = 0;
}
class Dist_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Dist_Dialect, info, mnemonic>;

def Dist_AxisKind : Dist_Enum<"AxisKind", "what the coordinates of an axis number", [
    I32EnumAttrCase<"Rank", 0, "rank">, I32EnumAttrCase<"Time", 1, "time">]>;
def Dist_Reduction : Dist_Enum<"Reduction", "how partial values combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;
def Dist_ReductionAttr : Dist_EnumAttr<Dist_Reduction, "reduction">;
def Dist_BucketRole : Dist_Enum<"BucketRole", "what a bucket stores", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Buffer", 1, "buffer">,
    I32EnumAttrCase<"Gradient", 2, "gradient">, I32EnumAttrCase<"Slot", 3, "slot">,
    I32EnumAttrCase<"Scalar", 4, "scalar">, I32EnumAttrCase<"Transient", 5, "transient">,
    I32EnumAttrCase<"Compute", 6, "compute">]>;
def Dist_BucketRoleAttr : Dist_EnumAttr<Dist_BucketRole, "bucket_role">;

def Dist_AxisAttr : AttrDef<Dist_Dialect, "Axis"> {
  let mnemonic = "axis";
  let summary = "an axis of a mesh";
  let description = [{
    Rank axes number the ranks row-major, outermost first; the coordinate of a time
    axis is the micro-batch. Example: `#dist.axis<"dp", 2, rank>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, EnumParameter<Dist_AxisKind>:$kind);
  let assemblyFormat = "`<` $name `,` $size `,` $kind `>`";
  let genVerifyDecl = 1;
}
def Dist_AxesArray : TypedArrayAttrBase<Dist_AxisAttr, "mesh axes">;

def Dist_TensorType : TypeDef<Dist_Dialect, "Tensor", [ShapedTypeInterface]> {
  let mnemonic = "tensor";
  let summary = "a whole tensor and how it lies on a mesh";
  let description = [{
    `!dist.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp} ], partial(sum {cp}), pad [8,128,768]>`

    The shape is that of the whole tensor. Dimension i is split evenly over the axes of
    `axes[i]`, outermost first, after padding its end to `padded[i]` cells (by default:
    not at all). Over the axes of `partial` the value is the sum (maximum, minimum) of
    what the ranks hold; over all other axes the ranks hold equal values. An axis
    stands at most once. Implements ShapedType by the whole shape.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::mlir::FlatSymbolRefAttr":$mesh, ArrayRefParameter<"::mlir::ArrayAttr">:$axes,
                        "::mlir::ArrayAttr":$partial, "::dtcc::dist::Reduction":$reduction,
                        ArrayRefParameter<"int64_t">:$padded);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                        "::mlir::FlatSymbolRefAttr":$mesh, "const ::dtcc::dist::Layout &":$layout)>,
  ];
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    /// A new element type; a new shape drops padding and needs the same rank.
    ::mlir::ShapedType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape, ::mlir::Type elementType) const;
    /// The layout as a plain value.
    ::dtcc::dist::Layout getLayout() const;
    /// The same tensor in another layout.
    TensorType withLayout(const ::dtcc::dist::Layout &layout) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

/// tensor<...> of static shape: a local value.
def Dist_Local : StaticShapeTensorOf<[AnyType]>;
def Dist_FloatScalar : 0DTensorOf<[AnyFloat]>;
def Dist_AxisNames : ConfinedAttr<StrArrayAttr, [ArrayMinCount<1>]>;

#endif // DTCC_DIALECTS_DIST_DIST
