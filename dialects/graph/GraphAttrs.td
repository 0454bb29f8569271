//===- GraphAttrs.td - Attributes of the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerations, attention masks, initial values and optimizers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_GRAPHATTRS
#define DTCC_DIALECTS_GRAPH_GRAPHATTRS

include "dialects/graph/Graph.td"
include "dialects/graph/OptimizerInterface.td"
include "dialects/interfaces/TableEnums.td"

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::dtcc::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Graph_Dialect, info, mnemonic>;

def Graph_ReductionAttr : DTCC_ReductionAttr<Graph_Dialect, "reduce_kind">;

def Graph_RecurrentCellAttr : AttrDef<Graph_Dialect, "RecurrentCell"> {
  let mnemonic = "recurrent_cell";
  let summary = "what a step of a recurrent layer computes";
  let parameters = (ins DTCC_RecurrentCell:$value);
  let assemblyFormat = "$value";
  let returnType = "::dtcc::RecurrentCell";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::dtcc::graph::RecurrentCellAttr::get($_builder.getContext(), $0)";
}

def Graph_Predicate : Graph_Enum<"Predicate", "comparison; on floats ordered, but ne", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Graph_PredicateAttr : Graph_EnumAttr<Graph_Predicate, "predicate">;

def Graph_GeluForm : Graph_Enum<"GeluForm", "exact (erf) or the tanh approximation", [
    I32EnumAttrCase<"exact", 0>, I32EnumAttrCase<"tanh", 1>]>;
def Graph_GeluFormAttr : Graph_EnumAttr<Graph_GeluForm, "gelu_form">;

def Graph_ExpertActivation : Graph_Enum<"ExpertActivation",
    "what an expert makes of its gate, or of its only product; clamped_swish limits gate and up to 7 and multiplies "
    "gate * logistic(1.702 gate) by up + 1, as GPT-OSS does", [
    I32EnumAttrCase<"silu", 0>, I32EnumAttrCase<"gelu", 1>, I32EnumAttrCase<"gelu_tanh", 2>,
    I32EnumAttrCase<"relu", 3>, I32EnumAttrCase<"relu_squared", 4>, I32EnumAttrCase<"clamped_swish", 5>]>;
def Graph_ExpertActivationAttr : Graph_EnumAttr<Graph_ExpertActivation, "expert_activation">;

def Graph_EmptyRow : Graph_Enum<"EmptyRow", "attention of a query that sees no key", [
    I32EnumAttrCase<"uniform", 0>, I32EnumAttrCase<"zero", 1>, I32EnumAttrCase<"nan", 2>]>;
def Graph_EmptyRowAttr : Graph_EnumAttr<Graph_EmptyRow, "empty_row">;

def Graph_StateRole : Graph_Enum<"StateRole", "what a state is for", [
    I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"buffer", 1>]>;
def Graph_StateRoleAttr : Graph_EnumAttr<Graph_StateRole, "role">;

def Graph_InitKind : Graph_Enum<"InitKind", "how a state without a value starts", [
    I32EnumAttrCase<"zero", 0>, I32EnumAttrCase<"constant", 1>, I32EnumAttrCase<"normal", 2>,
    I32EnumAttrCase<"uniform", 3>]>;

/// A number; see Real.h. Accessors give a double.
class Graph_Real<string default = ""> : AttrParameter<"::dtcc::graph::Real", "number", "double"> {
  let defaultValue = default;
}

class Graph_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Graph_Dialect, name, traits> { let mnemonic = mnem; }
class Graph_OptimizerAttr<string name, string mnem>
    : Graph_Attr<name, mnem, [DeclareAttrInterfaceMethods<OptimizerAttrInterface>]>;

def Graph_MaskAttr : Graph_Attr<"Mask", "mask"> {
  let summary = "which keys j a query i sees";
  let description = [{
    A conjunction of predicates, never a tensor:
    `causal`: j <= i + offset; `window_left`: i - j < window_left (0: none);
    `key`: an operand [b, s] of booleans, true for visible keys;
    `segment`: operands [b, t] and [b, s] of i64, equal where visible.
    Example: `#graph.mask<causal = true, offset = 0, key = true>`.
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$causal,
                        DefaultValuedParameter<"int64_t", "0">:$offset,
                        DefaultValuedParameter<"int64_t", "0">:$window_left,
                        DefaultValuedParameter<"bool", "false">:$key,
                        DefaultValuedParameter<"bool", "false">:$segment);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_InitAttr : Graph_Attr<"Init", "init"> {
  let summary = "initial value of a state: zero, constant a, normal(mean a, deviation b), uniform [a, b)";
  let parameters = (ins EnumParameter<Graph_InitKind>:$kind, Graph_Real<"0.0">:$a,
                        Graph_Real<"0.0">:$b);
  // The format is written by hand, because a declarative optional group drops b if a is 0.
  let hasCustomAssemblyFormat = 1;
}

def Graph_AdamAttr : Graph_OptimizerAttr<"Adam", "adam"> {
  let summary = "Adam and AdamW, as PyTorch defines them, and the variants of ONNX and ONNX Runtime";
  let description = [{
    With g the gradient of the mean loss: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g g;
    p -= lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps). `decoupled` (AdamW):
    p *= 1 - lr * weight_decay before; else weight_decay * p is added to g.
    Slots: m, v.

    The variants are off by default. `raw_eps`: eps is added to sqrt(v) before its
    correction. `decay_last`: decoupled decay multiplies the updated parameter.
    `post_decay`: at the end p *= 1 - post_decay. `start`: t is the step's number, from
    1, plus `start`; nothing is corrected while t is below 1.

    | optimizer | attributes |
    |---|---|
    | AdamW of PyTorch | decoupled |
    | AdamW of ONNX Runtime, adam_mode 1 | decoupled, decay_last, raw_eps |
    | Adam of ONNX, whose count T starts at 0 | raw_eps, post_decay, start = -1 |
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$beta1, Graph_Real<>:$beta2, Graph_Real<>:$eps,
                        Graph_Real<>:$weight_decay, "bool":$decoupled,
                        DefaultValuedParameter<"bool", "false">:$raw_eps,
                        DefaultValuedParameter<"bool", "false">:$decay_last, Graph_Real<"0.0">:$post_decay,
                        DefaultValuedParameter<"int64_t", "0">:$start);
  let builders = [AttrBuilder<(ins "double":$lr, "double":$beta1, "double":$beta2, "double":$eps,
                                   "double":$weightDecay, "bool":$decoupled), [{
    return $_get($_ctxt, lr, beta1, beta2, eps, weightDecay, decoupled, false, false, 0.0, 0);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_AdamW8bitAttr : Graph_Attr<"AdamW8bit", "adamw8bit", [DeclareAttrInterfaceMethods<OptimizerAttrInterface,
    ["optimizerOf", "getSlotCodes"]>]> {
  let summary = "AdamW with moments of 8 bits (Dettmers et al. 2022), as bitsandbytes has it";
  let description = [{
    The step is that of AdamW (#graph.adam with `decoupled`). Between steps the moments are 8-bit codes in blocks of 256
    cells: a moment is the value of its code times the scale of its block, the largest magnitude there. A tensor of less
    than `min_size` cells has f32 moments, those of #graph.adam. Slots: m, with signed codes, and v, with unsigned ones.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$beta1, Graph_Real<>:$beta2, Graph_Real<>:$eps,
                        Graph_Real<>:$weight_decay, "int64_t":$min_size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_SgdAttr : Graph_OptimizerAttr<"Sgd", "sgd"> {
  let summary = "stochastic gradient descent with momentum, as PyTorch defines it";
  let description = [{
    g += weight_decay * p; buf = momentum * buf + (first step ? 1 : 1 - dampening) * g;
    p -= lr * (nesterov ? g + momentum * buf : buf). Slot: buf, if momentum is not 0.
    `start`: steps taken before the first one here, which then is none.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$momentum, Graph_Real<>:$dampening,
                        Graph_Real<>:$weight_decay, "bool":$nesterov, DefaultValuedParameter<"int64_t", "0">:$start);
  let builders = [AttrBuilder<(ins "double":$lr, "double":$momentum, "double":$dampening, "double":$weightDecay,
                                   "bool":$nesterov), [{
    return $_get($_ctxt, lr, momentum, dampening, weightDecay, nesterov, 0);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_AdagradAttr : Graph_OptimizerAttr<"Adagrad", "adagrad"> {
  let summary = "Adagrad (Duchi et al. 2011), as PyTorch and ONNX define it";
  let description = [{
    g += weight_decay * p; sum += g g; p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum) + eps),
    where t is the step's number, from 1, plus `start`. Slot: sum.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$lr_decay, Graph_Real<>:$eps, Graph_Real<>:$weight_decay,
                        DefaultValuedParameter<"int64_t", "0">:$start);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LionAttr : Graph_OptimizerAttr<"Lion", "lion"> {
  let summary = "Lion (Chen et al. 2023, algorithm 2)";
  let description = [{
    p -= lr * (sign(b1 m + (1-b1) g) + weight_decay * p); then m = b2 m + (1-b2) g. Slot: m.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$beta1, Graph_Real<>:$beta2, Graph_Real<>:$weight_decay);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_MuonAttr : Graph_Attr<"Muon", "muon", [DeclareAttrInterfaceMethods<OptimizerAttrInterface,
    ["optimizerOf", "getTensorNeed", "getTensorParameters"]>]> {
  let summary = "Muon (Jordan et al. 2024) for matrices, as PyTorch defines it, and another optimizer for the rest";
  let description = [{
    buf += (1 - momentum) * (g - buf); u = nesterov ? g + momentum * (buf - g) : buf; O is u, orthogonalized by `steps`
    steps of Newton and Schulz in bf16, X = a X + (b X X^T + c (X X^T)^2) X, from X = u / max(norm(u), eps);
    p *= 1 - lr * weight_decay; p -= lr * r * O, where r is sqrt(max(1, rows / columns)) or, with `match_rms`,
    0.2 sqrt(max(rows, columns)). Slot: buf. `rest` updates tensors that are not matrices, and states with `by_element`.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$momentum, Graph_Real<>:$weight_decay, "bool":$nesterov,
                        "int64_t":$steps, Graph_Real<>:$a, Graph_Real<>:$b, Graph_Real<>:$c, Graph_Real<>:$eps,
                        "bool":$match_rms, "::mlir::Attribute":$rest);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LambAttr : Graph_Attr<"Lamb", "lamb", [DeclareAttrInterfaceMethods<OptimizerAttrInterface,
    ["getTensorNeed", "getTensorParameters"]>]> {
  let summary = "LAMB (You et al. 2020, algorithm 2), as timm and apex have it";
  let description = [{
    m = b1 m + (1-b1) g; v = b2 v + (1-b2) g g; u = (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps) + weight_decay * p;
    p -= lr * r * u with the trust ratio r = norm(p) / norm(u) of the tensor, which is 1 where either norm is 0 and,
    unless `always_adapt`, where the tensor does not decay. `trust_clip`: r is at most 1. Slots: m, v.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$beta1, Graph_Real<>:$beta2, Graph_Real<>:$eps,
                        Graph_Real<>:$weight_decay, "bool":$always_adapt, "bool":$trust_clip);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_AdafactorAttr : Graph_Attr<"Adafactor", "adafactor", [DeclareAttrInterfaceMethods<OptimizerAttrInterface,
    ["getTensorNeed", "getTensorParameters", "getFactors"]>]> {
  let summary = "Adafactor (Shazeer and Stern 2018) without momentum, as PyTorch defines it";
  let description = [{
    With w = t^beta2_decay: row = row + w (mean of g g over the row - row), col alike over the column; the estimate of a
    cell is row col / max(mean of row, eps1), and of tensors of less than two dimensions var + w (g g - var);
    u = g / sqrt(max(estimate, eps1^2)). p *= 1 - lr * weight_decay, then
    p -= max(eps2, rms(p)) * min(lr, 1 / sqrt(t)) / max(1, rms(u) / d) * u, with rms(p) before the decay.
    Factors: row_var and col_var, one for each matrix of the last two dimensions, or variance.
  }];
  let parameters = (ins Graph_Real<>:$lr, Graph_Real<>:$beta2_decay, Graph_Real<>:$eps1, Graph_Real<>:$eps2,
                        Graph_Real<>:$d, Graph_Real<>:$weight_decay);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LossScaleAttr : Graph_Attr<"LossScale", "loss_scale"> {
  let summary = "dynamic loss scaling as torch.amp.GradScaler does it";
  let description = [{
    The gradients are those of the loss sum times `unit` times the state `scale`. If
    one is not finite, nothing is updated and the scale is multiplied by `backoff`;
    after `interval` finite steps in a row by `growth`. `streak` counts these, `skipped`
    the steps that updated nothing: all three are states of one f32.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$scale, "::mlir::FlatSymbolRefAttr":$streak,
                        "::mlir::FlatSymbolRefAttr":$skipped, Graph_Real<>:$unit, Graph_Real<>:$growth,
                        Graph_Real<>:$backoff, "int64_t":$interval);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // DTCC_DIALECTS_GRAPH_GRAPHATTRS
