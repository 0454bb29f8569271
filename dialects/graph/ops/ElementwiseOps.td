//===- ElementwiseOps.td - One value in, one value out, cell by cell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All operands and the result have one shape. The scalar meaning of each op is
// given twice: as reference (f64) and as the body of a generated kernel.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_ELEMENTWISEOPS
#define DTCC_DIALECTS_GRAPH_ELEMENTWISEOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"
include "dialects/graph/ElementwiseInterface.td"

class Graph_ElementwiseOp<string mnemonic, list<Trait> traits = []> : Graph_DiffOp<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<ElementwiseOpInterface>, DeclareOpInterfaceMethods<CellOpInterface>,
    SameOperandsAndResultShape], traits)> {
  let description = [{
    Made by the importer, graph-differentiate, exec-expand-composites, and passes that need the op. Consumed by
    exec-fuse, which moves the op into an `exec.fused`. None is left after exec-generate-kernels or
    exec-generate-gpu-kernels.
  }];
}

class Graph_UnaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = what;
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
/// Base of unary ops on numbers of any type, integers included.
class Graph_NumberOp<string mnemonic, string what> : Graph_ElementwiseOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = what;
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
class Graph_BinaryOp<string mnemonic, string what, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultElementType], traits)> {
  let summary = what;
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs),
                            [{ build($_builder, $_state, lhs.getType(), lhs, rhs); }]>];
}

def Graph_NegOp : Graph_NumberOp<"neg", "-x">;
def Graph_AbsOp : Graph_NumberOp<"abs", "absolute value; gradient sign(x)">;
def Graph_ExpOp : Graph_UnaryOp<"exp", "exponential", [Graph_OwnPrecision]>;
def Graph_LogOp : Graph_UnaryOp<"log", "natural logarithm", [Graph_OwnPrecision]>;
def Graph_Log1pOp : Graph_UnaryOp<"log1p", "log(1 + x), to all digits however small x is", [Graph_OwnPrecision]>;
def Graph_Expm1Op : Graph_UnaryOp<"expm1", "exp(x) - 1, to all digits however small x is", [Graph_OwnPrecision]>;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "square root", [Graph_OwnPrecision]>;
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", "1 / sqrt(x)", [Graph_OwnPrecision]>;
def Graph_SinOp : Graph_UnaryOp<"sin", "sine">;
def Graph_CosOp : Graph_UnaryOp<"cos", "cosine">;
def Graph_TanhOp : Graph_UnaryOp<"tanh", "hyperbolic tangent">;
def Graph_ErfOp : Graph_UnaryOp<"erf", "error function">;
def Graph_LogisticOp : Graph_UnaryOp<"logistic", "1 / (1 + exp(-x))">;
def Graph_FloorOp : Graph_UnaryOp<"floor", "largest integer not above; gradient 0">;
def Graph_SignOp : Graph_NumberOp<"sign", "-1, 0 or 1; gradient 0">;
def Graph_ReluOp : Graph_UnaryOp<"relu", "max(x, 0); gradient 0 at 0, as PyTorch">;
def Graph_SiluOp : Graph_UnaryOp<"silu", "x * logistic(x)">;
def Graph_GeluOp : Graph_UnaryOp<"gelu", "x * Phi(x), exact or by tanh"> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_GeluFormAttr:$form);
}

// Their gradients as single ops: what fusion and recompute see.
class Graph_ActivationGradOp<string mnemonic, string what>
    : Graph_PureOp<mnemonic, [DeclareOpInterfaceMethods<ElementwiseOpInterface>, SameOperandsAndResultType]> {
  let summary = what;
  let description = [{
    Made by graph-differentiate. Consumed by exec-fuse, which moves the op into an `exec.fused`. None is left after
    exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}
def Graph_ReluGradOp : Graph_ActivationGradOp<"relu_grad", "dy where x > 0, else 0, for the operand of relu or its result; linear in dy">;
def Graph_SiluGradOp : Graph_ActivationGradOp<"silu_grad", "gradient of silu at x, times dy; linear in dy">;
def Graph_GeluGradOp : Graph_ActivationGradOp<"gelu_grad", "gradient of gelu at x, times dy; linear in dy"> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, Graph_GeluFormAttr:$form);
}

def Graph_AddOp : Graph_BinaryOp<"add", "x + y; linear in both together", [Commutative]>;
def Graph_SubOp : Graph_BinaryOp<"sub", "x - y; linear in both together">;
def Graph_MulOp : Graph_BinaryOp<"mul", "x * y; linear in each">;
def Graph_DivOp : Graph_BinaryOp<"div", "x / y (integers: towards zero, and 0 where y is 0); linear in x">;
def Graph_PowOp : Graph_BinaryOp<"pow", "x to the power y; no gradient to a constant y", [Graph_OwnPrecision]>;
def Graph_MaxOp : Graph_BinaryOp<"max", "larger value; the gradient of ties goes half to each">;
def Graph_MinOp : Graph_BinaryOp<"min", "smaller value; the gradient of ties goes half to each">;
def Graph_RemOp : Graph_BinaryOp<"rem", "remainder with the sign of y (ONNX Mod, fmod = 0); of integers 0 where y is 0">;
def Graph_AndOp : Graph_BinaryOp<"and", "logical and of booleans, bitwise of integers", [Commutative]>;
def Graph_OrOp : Graph_BinaryOp<"or", "logical or of booleans, bitwise of integers", [Commutative]>;
def Graph_XorOp : Graph_BinaryOp<"xor", "exclusive or", [Commutative]>;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", "x times 2 to the power y, of integers; 0 where y is not below their bits">;
def Graph_ShiftRightOp : Graph_BinaryOp<"shift_right", "x / 2 to the power y rounded down, of integers, whatever y at least 0">;

def Graph_NotOp : Graph_ElementwiseOp<"not", [SameOperandsAndResultType]> {
  let summary = "logical negation of booleans, of integers that of all bits";
  let arguments = (ins Graph_IntTensor:$x);
  let results = (outs Graph_IntTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_IsNanOp : Graph_ElementwiseOp<"is_nan"> {
  let summary = "true where x is not a number";
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Graph_CompareOp : Graph_ElementwiseOp<"compare"> {
  let summary = "compares cell by cell";
  let arguments = (ins Graph_PredicateAttr:$predicate, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$y);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_SelectOp : Graph_ElementwiseOp<"select"> {
  let summary = "x where the condition holds, else y; linear in x and y together";
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$x, Graph_Tensor:$y);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$condition `,` $x `,` $y attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_CastOp : Graph_ElementwiseOp<"cast"> {
  let summary = "converts the element type; floats to nearest even, to integers towards zero; linear between floats";
  let description = [{
    Kernels compute with halves in f32, and round what they store. A cast that `rounds`, from a float to a half, is one of
    the model's own: a kernel rounds here even if it keeps the value, and the cast is not linear. Interpreters in f64 do
    not round.

    Made by the importer, graph-lower-precision, graph-differentiate, and passes that need the op. Consumed by exec-fuse,
    which moves the op into an `exec.fused`. None is left after exec-generate-kernels or exec-generate-gpu-kernels.
  }];
  let arguments = (ins Graph_Tensor:$x, UnitAttr:$rounds);
  let results = (outs Graph_Tensor:$y);
  let hasVerifier = 1;
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

#endif // DTCC_DIALECTS_GRAPH_ELEMENTWISEOPS
