//===- WindowOps.td - Convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window of cells slides over the last dimensions of an image. `strides`, `dilations`
// and `low` have one entry a spatial dimension: cell i of the result reads, at kernel
// cell j, cell i * stride + j * dilation - low of the image. Cells outside the image are
// 0 in a convolution and absent in a maximum. How far a window reaches past the end
// follows from the result's size. Spatial dimensions are never split.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_WINDOWOPS
#define DTCC_DIALECTS_GRAPH_WINDOWOPS

include "dialects/graph/GraphAttrs.td"

def Graph_ConvolutionOp : Graph_DiffOp<"convolution", [Graph_Precision<[]>]> {
  let summary = "y[n, g, o, i..] = sum over c and j of x[n, g, c, i * stride + j * dilation - low] * kernel[g, o, c, j..]";
  let description = [{
    x [n, g, c, s..], kernel [g, o, c, k..], y [n, g, o, s'..]; the groups g are either in
    all three or absent. Samples, groups and output channels are parallel factors, input
    channels a reduction. The op is linear in each operand.

    Made by the importer. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x `,` $kernel attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ConvolutionInputGradOp : Graph_PureOp<"convolution_input_grad"> {
  let summary = "dx of convolution: every dy[n, g, o, i..] times the kernel, added to the cells it was read from";
  let description = [{
    Made by graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $kernel attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ConvolutionKernelGradOp : Graph_PureOp<"convolution_kernel_grad", [Graph_Precision<["canWidenResult"]>]> {
  let summary = "dkernel of convolution: the sum over samples and cells of dy times the cells that were read";
  let description = [{
    Made by graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low);
  let results = (outs Graph_FloatTensor:$dkernel);
  let assemblyFormat = "$dy `,` $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_MaxPoolOp : Graph_DiffOp<"max_pool", [Graph_OwnPrecision]> {
  let summary = "the largest cell of each window over the last dimensions; NaN if there is one";
  let description = [{
    x [.., s..], y [.., s'..]; every window holds a cell of x. The first of equal cells (row-major) counts
    as the largest: it alone receives the gradient, as in PyTorch.

    Made by the importer. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$x, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_MaxPoolGradOp : Graph_PureOp<"max_pool_grad"> {
  let summary = "dx of max_pool: each dy is added to the first largest cell of its window; linear in dy";
  let description = [{
    Made by graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_WINDOWOPS
