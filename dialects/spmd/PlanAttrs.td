//===- PlanAttrs.td - The plan that a module carries out
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys are those of plan files (docs/plan-format.md), and mean the same.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_PLANATTRS
#define DTCC_DIALECTS_SPMD_PLANATTRS

include "dialects/spmd/Spmd.td"

/// A part of a plan: its parameters by name, those without a value left out.
class Spmd_PlanPart<string name, string mnem> : AttrDef<Spmd_Dialect, name> {
  let mnemonic = mnem;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
/// Attributes of one kind in brackets. Empty: it is left out.
class Spmd_ListParameter<string element> : OptionalArrayRefParameter<element> {
  let parser = "parseList<" # element # ">($_parser)";
  let printer = "printList($_printer, $_self)";
}
/// Names of mesh axes, outermost first, as an array of strings.
def Spmd_AxesParameter : AttrParameter<"::mlir::ArrayAttr", "names of mesh axes">;

def Spmd_RecomputeMode : Spmd_Enum<"RecomputeMode", "the activations that the backward pass recomputes", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Selective", 1, "selective">,
    I32EnumAttrCase<"Full", 2, "full">]>;
def Spmd_PositionOrder : Spmd_Enum<"PositionOrder", "the order of positions over the ranks that split them", [
    I32EnumAttrCase<"Contiguous", 0, "contiguous">, I32EnumAttrCase<"ZigZag", 1, "zigzag">]>;
/// The numbers are the letters of the enumeration in planner/schedule/Schedule.h.
def Spmd_ActionKind : Spmd_Enum<"ActionKind", "the work of an action of a schedule", [
    I32EnumAttrCase<"Forward", 70, "F">, I32EnumAttrCase<"InputGradient", 73, "I">,
    I32EnumAttrCase<"WeightGradient", 87, "W">, I32EnumAttrCase<"Backward", 66, "B">]>;

def Spmd_ActionAttr : AttrDef<Spmd_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "work of a rank on a micro-batch of a stage";
  let description = "Example: `#spmd.action<1 F 0>`, the forward pass of stage 1 for micro-batch 0.";
  let parameters = (ins "int64_t":$stage, EnumParameter<Spmd_ActionKind>:$kind, "int64_t":$microbatch);
  let assemblyFormat = "`<` $stage $kind $microbatch `>`";
  let genVerifyDecl = 1;
}

def Spmd_PipelineAttr : Spmd_PlanPart<"Pipeline", "pipeline"> {
  let summary = "the cut of a step into stages, and what each stage runs when";
  let description = [{
    The stages lie over the rank axis `axis`. Stage i begins at the forward op whose origin is `cuts[i - 1]`.
    `schedule` names a schedule; a plan that lists its actions has `actions` instead, an array of `#spmd.action` for
    each rank of the axis. `devices` are the kinds of devices of the ranks, if these differ.

    Example: `#spmd.pipeline<axis = "pp", schedule = "1f1b", cuts = [12]>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, OptionalParameter<"::mlir::StringAttr">:$schedule,
                        OptionalParameter<"::mlir::ArrayAttr">:$actions, "::mlir::DenseI64ArrayAttr":$cuts,
                        OptionalParameter<"::mlir::ArrayAttr">:$devices);
}

def Spmd_SplitAttr : AttrDef<Spmd_Dialect, "Split"> {
  let mnemonic = "split";
  let summary = "the axes that split a factor of an op";
  let description = "Example: `#spmd.split<0 over [\"mb\", \"dp\"]>`.";
  let parameters = (ins "int64_t":$factor, Spmd_AxesParameter:$axes);
  let assemblyFormat = "`<` $factor `over` $axes `>`";
  let genVerifyDecl = 1;
}

def Spmd_OpPlanAttr : Spmd_PlanPart<"OpPlan", "op_plan"> {
  let summary = "the placement of a forward op";
  let description = [{
    `origin` is the number of the op, `op` its name. `partial` are the axes over which its first linear operands may
    arrive as partial sums.

    Example: `#spmd.op_plan<origin = 3, op = "graph.contract", factors = [<0 over ["dp"]>], recompute = true>`.
  }];
  let parameters = (ins "int64_t":$origin, "::mlir::StringAttr":$op, Spmd_ListParameter<"SplitAttr">:$factors,
                        OptionalParameter<"::mlir::ArrayAttr">:$partial, OptionalParameter<"::mlir::BoolAttr">:$recompute,
                        DefaultValuedParameter<"bool", "false">:$ring, OptionalParameter<"::mlir::BoolAttr">:$dispatch,
                        OptionalParameter<"::mlir::FloatAttr">:$capacity,
                        DefaultValuedParameter<"bool", "false">:$on_host);
}

def Spmd_StatePlanAttr : Spmd_PlanPart<"StatePlan", "state_plan"> {
  let summary = "the placement of a state, where it does not follow from its readers";
  let description = [{
    Example: `#spmd.state_plan<name = "wte", layout = [[], ["tp"]], zero = 1>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, OptionalParameter<"::mlir::ArrayAttr">:$layout,
                        OptionalParameter<"std::optional<int64_t>">:$zero);
}

def Spmd_PlanAttr : Spmd_PlanPart<"Plan", "plan"> {
  let summary = "the plan that a module carries out";
  let description = [{
    spmd-apply-plan leaves it on the module as `spmd.plan`. The passes behind read the pipeline from it; the image of
    the program records all of it, and `--info` shows it. The layouts that follow from the plan are in the types. All
    axes that it names are axes of `mesh`. `gradients` is the type in which gradients are kept and reduced, if it is not
    that of the states.

    Example: `#spmd.plan<mesh = @mesh, batch_axes = ["mb", "dp"], zero = 1, flat_axes = ["dp"], recompute = none>`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh, Spmd_AxesParameter:$batch_axes,
                        OptionalParameter<"::mlir::ArrayAttr">:$sequence_axes,
                        DefaultValuedParameter<"::dtcc::spmd::PositionOrder", "PositionOrder::Contiguous">:$sequence_order,
                        DefaultValuedParameter<"bool", "false">:$sequence_parallel,
                        DefaultValuedParameter<"bool", "false">:$stationary_weights, "int64_t":$zero,
                        Spmd_AxesParameter:$flat_axes, EnumParameter<Spmd_RecomputeMode>:$recompute,
                        DefaultValuedParameter<"bool", "false">:$offload_optimizer,
                        DefaultValuedParameter<"bool", "false">:$offload_activations,
                        OptionalParameter<"::mlir::TypeAttr">:$gradients,
                        OptionalParameter<"PipelineAttr">:$pipeline, Spmd_ListParameter<"OpPlanAttr">:$ops,
                        Spmd_ListParameter<"StatePlanAttr">:$states);
}

#endif // DTCC_DIALECTS_SPMD_PLANATTRS
