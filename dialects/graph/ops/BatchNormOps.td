//===- BatchNormOps.td - Batch normalisation, its running statistics, sums of groups of samples
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dims` (increasing, the first is 0: the samples) are normalised together. The other
// dimensions are channels, whose shape scale and bias have. The samples are cut into `groups`
// equal runs, each with statistics of its own: 1 stands for the whole batch, and the number of
// micro-batches for what gradient accumulation trains. The statistics are results with one row
// a sample (the row of its group), so that their layout is that of the samples for any number
// of groups. See Rationale.md.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_BATCHNORMOPS
#define DTCC_DIALECTS_GRAPH_BATCHNORMOPS

include "dialects/graph/GraphAttrs.td"

def Graph_BatchNormOp : Graph_DiffOp<"batch_norm", [Graph_OwnPrecision]> {
  let summary = "(x - mean) / sqrt(variance + eps) * scale + bias, with each group's mean and variance (over N)";
  let description = [{
    x [n, c.., s..], scale and bias [c..], y like x, mean and variance [n, c..]. On ranks that share a group the
    statistics are merged (Chan, Golub and LeVeque 1979).

    Made by the importer. Consumed by spmd-lower-to-program, which writes the local form in elementwise ops, sums
    and all-reduces. None is left after spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
                       DenseI64ArrayAttr:$dims, F64Attr:$eps, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Graph_FloatTensor:$y, Graph_FloatTensor:$mean, Graph_FloatTensor:$variance);
  let assemblyFormat = "$x `,` $scale `,` $bias $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_BatchNormGradOp : Graph_PureOp<"batch_norm_grad"> {
  let summary = "input gradient of batch_norm; linear in dy";
  let description = [{
    With h = (x - mean) * rstd: dx = scale * rstd * (dy - m(dy) - h * m(dy * h)), m the mean over the group.

    Made by graph-differentiate. Consumed by spmd-lower-to-program, as `graph.batch_norm`. None is left after
    spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, DenseI64ArrayAttr:$dims, F64Attr:$eps,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $scale `,` $mean `,` $variance $dims attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_BatchNormParamGradOp : Graph_PureOp<"batch_norm_param_grad"> {
  let summary = "dscale = sum of dy * (x - mean) * rstd, dbias = sum of dy, over dims; linear in dy";
  let description = [{
    Made by graph-differentiate. Consumed by spmd-lower-to-program, as `graph.batch_norm`. None is left after
    spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$mean,
                       Graph_FloatTensor:$variance, DenseI64ArrayAttr:$dims, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$dscale, Graph_FloatTensor:$dbias);
  let assemblyFormat = "$dy `,` $x `,` $mean `,` $variance $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RunningStatisticsOp : Graph_PureOp<"running_statistics"> {
  let summary = "moves running statistics towards those of each group, in order";
  let description = [{
    For each group: running = (1 - momentum) * running + momentum * statistic. With
    `unbiased` the variance is that over N - 1 (PyTorch), else over N (ONNX); each
    variance is of N = `cells` cells. mean and variance, [n, c..], are those of batch_norm, or of
    each sample (an instance norm). Samples of a group may have different statistics, if ranks or
    samples are normalised by themselves; their average counts, so that all ranks hold equal
    values. The groups are the micro-batches, and each updates the result of the one before.

    Made by the importer. Consumed by spmd-lower-to-program, as `graph.batch_norm`. None is left after
    spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatTensor:$running_mean, Graph_FloatTensor:$running_variance, Graph_FloatTensor:$mean,
                       Graph_FloatTensor:$variance, F64Attr:$momentum, I64Attr:$cells, UnitAttr:$unbiased,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Graph_FloatTensor:$new_mean, Graph_FloatTensor:$new_variance);
  let assemblyFormat = "$running_mean `,` $running_variance `,` $mean `,` $variance attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_GroupSumOp : Graph_DiffOp<"group_sum", [Graph_OwnPrecision]> {
  let summary = "the sum of each group of samples, once for every sample of the group";
  let description = [{
    x and y [n, c..]: row i of y is the sum of the rows of x in i's group. A term of a loss that takes means over
    samples, and is no sum over them, is computed from such sums where each micro-batch stands for the batch.

    Made by graph-group-losses and graph-differentiate. Consumed by spmd-lower-to-program, as `graph.batch_norm`.
    None is left after spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatTensor:$x, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_BATCHNORMOPS
