//===- RecurrenceOps.td - Recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All steps of a layer are one op, so a layer of thousands of steps is compiled as fast as one of ten. Products that
// need no loop stand outside: those of the inputs with their weights, and the gradient of the recurrent weights.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_RECURRENCEOPS
#define DTCC_DIALECTS_GRAPH_RECURRENCEOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

/// The compute type of a program in 16 bits, by which its products may round their factors.
def Graph_ProductType : TypeAttrOf<AnyTypeOf<[F16, BF16]>>;

def Graph_RecurrenceOp : Graph_DiffOp<"recurrence", [
    Graph_Precision<["getOperandPrecision", "getResultPrecision", "setComputeType"]>]> {
  let summary = "a recurrent layer of one direction: the state h after each of t steps";
  let description = [{
    projected [t, b, g, h]: the inputs times their weights, plus all biases; weight [g, h, h], the last dimension summed;
    start [b, h]: h before the first step; `other`: of lstm its c before the first step [b, h], of gru_reset_after the
    bias of the product that is reset [h], of other cells absent. With `reverse` the steps go from the last to the first.
    h [t, b, h]; c [t, b, h] of an lstm, else absent; gates [t, b, s, h] for the backward op, without a gradient of their
    own. runtime/abi/RecurrentCells.def defines the cells, g and s. Samples b are a parallel factor; steps, gates and units
    stay whole.

    `product_type` is set by graph-lower-precision, while all tensors stay f32. The factors of a step's products may then
    be rounded, to no fewer bits of mantissa than this type has; a GPU multiplies in TF32. The gradient of the weights is
    a product of factors in this type.

    Made by the importer. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_RecurrentCellAttr:$cell, Graph_FloatTensor:$projected, Graph_FloatTensor:$weight,
                       Graph_FloatTensor:$start, Optional<Graph_FloatTensor>:$other, UnitAttr:$reverse,
                       OptionalAttr<Graph_ProductType>:$product_type);
  let results = (outs Graph_FloatTensor:$h, Optional<Graph_FloatTensor>:$c, Graph_FloatTensor:$gates);
  let assemblyFormat = [{
    $cell $projected `,` $weight `,` $start (`,` $other^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_RecurrenceGradOp : Graph_PureOp<"recurrence_grad"> {
  let summary = "gradients of recurrence to projected, start and other; linear in dh and dc together";
  let description = [{
    `memory` is empty but of an lstm: c, its state before the first step and, if something flows back to c, dc.
    `dother` [b, h] is an lstm's gradient to c before the first step. Of gru_reset_after it is the gradient
    [t, b, g, h] to the products of h with the weights, which dprojected is of other cells. `product_type` is that of
    recurrence.

    Made by graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_RecurrentCellAttr:$cell, Graph_FloatTensor:$dh, Graph_FloatTensor:$weight,
                       Graph_FloatTensor:$h, Graph_FloatTensor:$start, Graph_FloatTensor:$gates,
                       Variadic<Graph_FloatTensor>:$memory, UnitAttr:$reverse,
                       OptionalAttr<Graph_ProductType>:$product_type);
  let results = (outs Graph_FloatTensor:$dprojected, Graph_FloatTensor:$dstart, Optional<Graph_FloatTensor>:$dother);
  let assemblyFormat = [{
    $cell $dh `,` $weight `,` $h `,` $start `,` $gates (`memory` `(` $memory^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_RECURRENCEOPS
