//===- GradientOps.td - What a model does to its gradients
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that compute nothing: each result is operand 0. graph-differentiate reads these ops and
// replaces them by operand 0. Composites are not recovered across them:
// x * stop_gradient(logistic(x)) has the values of silu and another gradient.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_GRADIENTOPS
#define DTCC_DIALECTS_GRAPH_GRADIENTOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

class Graph_GradientOp<string mnemonic> : Graph_PureOp<mnemonic, [
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["passesGradient", "getForwardValue"]>,
    SameOperandsAndResultType, Graph_OwnPrecision]>;

def Graph_StopGradientOp : Graph_GradientOp<"stop_gradient"> {
  let summary = "x, a constant to the gradient: PyTorch's detach()";
  let description = [{
    A state that the loss reaches through such ops alone has no gradient and is not
    updated, not even by decay, as in PyTorch.
    ```
    %y = graph.stop_gradient %x : tensor<2x3xf32>
    ```

    Made by the importer. Consumed by graph-differentiate, which replaces the op by operand 0. None is left after
    graph-differentiate.
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Graph_ReplaceGradientOp : Graph_GradientOp<"replace_gradient"> {
  let summary = "value, with the gradient of path";
  let description = [{
    The gradient of the result goes to `path` alone, and `value` counts as a constant. Uses
    are straight-through estimators, and backward passes that the model itself defines. After
    differentiation only the ops of `path` that the gradient reads are computed.
    ```
    %y = graph.replace_gradient %rounded, %x : tensor<2x3xf32>
    ```

    Made by the importer. Consumed by graph-differentiate, which replaces the op by operand 0. None is left after
    graph-differentiate.
  }];
  let arguments = (ins Graph_FloatTensor:$value, Graph_FloatTensor:$path);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$value `,` $path attr-dict `:` type($value)";
}

#endif // DTCC_DIALECTS_GRAPH_GRADIENTOPS
