//===- Spmd.td - The spmd dialect: where a training step lives
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, attributes that ops share, and its one type. Ops stand by family in
// LayoutOps.td, CollectiveOps.td, ProgramOps.td and UpdateOps.td; PlanAttrs.td has the plan.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_SPMD
#define DTCC_DIALECTS_SPMD_SPMD

include "dialects/interfaces/OpInterfaces.td"
include "dialects/interfaces/TableEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::dtcc::spmd";
  let summary = "Layouts on a mesh, collectives, state and phases";
  let description = [{
    Two forms, one after the other. First a function of the same graph ops on
    `!spmd.tensor`: whole tensors with their layout in the type, one `spmd.reshard`
    where a producer and a consumer differ. Then an `spmd.program`: the same ops on
    the local tensors of a rank, with explicit collectives, in phases.

    A module whose plan is applied holds the plan as `spmd.plan`, a `#spmd.plan`.

    Discardable attributes of a `graph.state`:
    - `spmd.layout`: a TypeAttr of its `!spmd.tensor`.
    - `spmd.flat`: the axes over which ZeRO shards it.
    - `spmd.zero`: the ZeRO stage, 1 to 3.
    - `spmd.unit`: the name of the group of states that are reduced and gathered together.
    - `spmd.compute`: the narrower type in which it is read, if it is read in no other.
    - `spmd.gradient`: the narrower type in which its gradient is kept and reduced, if the plan names one.
    - `spmd.offload`: state that only the update uses is kept in host memory.
    - `spmd.bucket` and `spmd.offset` (in elements), in the second form. They are lists if
      several stages of a pipeline hold a copy.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// In SpmdTypes.cpp, which alone sees the storage of types.
    void registerTypes();
  }];
}

class Spmd_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtcc::spmd";
  let genSpecializedAttr = 0;
}
class Spmd_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Spmd_Dialect, info, mnemonic>;

def Spmd_AxisKind : Spmd_Enum<"AxisKind", "what the coordinates of an axis number", [
    I32EnumAttrCase<"Rank", 0, "rank">, I32EnumAttrCase<"Time", 1, "time">]>;
def Spmd_ReductionAttr : DTCC_ReductionAttr<Spmd_Dialect, "reduction">;
def Spmd_BucketRole : Spmd_Enum<"BucketRole", "what a bucket stores", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Buffer", 1, "buffer">,
    I32EnumAttrCase<"Gradient", 2, "gradient">, I32EnumAttrCase<"Slot", 3, "slot">,
    I32EnumAttrCase<"Scalar", 4, "scalar">, I32EnumAttrCase<"Transient", 5, "transient">,
    I32EnumAttrCase<"Compute", 6, "compute">, I32EnumAttrCase<"Factors", 7, "factors">]>;
def Spmd_BucketRoleAttr : Spmd_EnumAttr<Spmd_BucketRole, "bucket_role">;

def Spmd_AxisAttr : AttrDef<Spmd_Dialect, "Axis"> {
  let mnemonic = "axis";
  let summary = "an axis of a mesh";
  let description = [{
    Rank axes number the ranks row-major, outermost first; the coordinate of a time
    axis is the micro-batch. Example: `#spmd.axis<"dp", 2, rank>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, EnumParameter<Spmd_AxisKind>:$kind);
  let assemblyFormat = "`<` $name `,` $size `,` $kind `>`";
  let genVerifyDecl = 1;
}
def Spmd_AxesArray : TypedArrayAttrBase<Spmd_AxisAttr, "mesh axes">;

/// Runs of phases, in order: [forward 0, backward 0].
def Spmd_PhaseRuns : ArrayRefParameter<"::dtcc::PhaseRun", "phases, each with a micro-batch"> {
  let parser = "::dtcc::parsePhaseRuns($_parser)";
  let printer = "::dtcc::printPhaseRuns($_printer, $_self)";
}
def Spmd_RunsAttr : AttrDef<Spmd_Dialect, "Runs"> {
  let mnemonic = "runs";
  let summary = "what the ranks of a stage run in a step, in order: phases, each for a micro-batch";
  let description = "Programs of both levels have it as `actions [forward 0, backward 0, update 0]`.";
  let parameters = (ins Spmd_PhaseRuns:$runs);
  let assemblyFormat = "`` $runs";
}

def Spmd_TensorType : TypeDef<Spmd_Dialect, "Tensor", [ShapedTypeInterface]> {
  let mnemonic = "tensor";
  let summary = "a whole tensor and its layout on a mesh";
  let description = [{
    `!spmd.tensor<8x128x768xf32, @mesh, [{mb,dp},{},{tp} ], partial(sum {cp}), pad [8,128,768]>`

    The shape is that of the whole tensor. Dimension i is split evenly over the axes of
    `axes[i]`, outermost first, after padding its end to `padded[i]` cells (by default:
    not at all). Over the axes of `partial` the value is the sum (maximum, minimum) of
    what the ranks hold; over all other axes the ranks hold equal values. An axis
    stands at most once. Implements ShapedType by the whole shape.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::mlir::FlatSymbolRefAttr":$mesh, ArrayRefParameter<"::mlir::ArrayAttr">:$axes,
                        "::mlir::ArrayAttr":$partial, "::dtcc::Reduction":$reduction,
                        ArrayRefParameter<"int64_t">:$padded);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                        "::mlir::FlatSymbolRefAttr":$mesh, "const ::dtcc::spmd::Layout &":$layout)>,
  ];
  let extraClassDeclaration = [{
    bool hasRank() const { return true; }
    /// A new element type; a new shape drops padding and needs the same rank.
    ::mlir::ShapedType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape, ::mlir::Type elementType) const;
    /// The layout as a plain value.
    ::dtcc::spmd::Layout getLayout() const;
    /// This tensor type with another layout.
    TensorType withLayout(const ::dtcc::spmd::Layout &layout) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class Spmd_Op<string mnemonic, list<Trait> traits = []> : Op<Spmd_Dialect, mnemonic, traits>;

/// tensor<...> of static shape: a local value.
def Spmd_Local : StaticShapeTensorOf<[AnyType]>;
def Spmd_FloatScalar : 0DTensorOf<[AnyFloat]>;
def Spmd_AxisNames : ConfinedAttr<StrArrayAttr, [ArrayMinCount<1>]>;

#endif // DTCC_DIALECTS_SPMD_SPMD
