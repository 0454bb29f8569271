//===- NormOps.td - Layer and RMS normalisation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dims` (increasing, the last ones) are normalised together; scale and bias have
// their shape. The statistics are results: the backward ops read them. Scale, bias and
// statistics may be wider than x.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_NORMOPS
#define DTCC_DIALECTS_GRAPH_NORMOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

def Graph_LayerNormOp : Graph_DiffOp<"layer_norm", [Graph_OwnPrecision]> {
  let summary = "(x - mean) * rstd * scale + bias, rstd = 1 / sqrt(variance + eps), variance over N";
  let description = [{
    Made by the importer and graph-recover-composites. Consumed by exec-expand-composites, which rewrites the op to
    elementwise ops and reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias,
                       DenseI64ArrayAttr:$dims, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$y, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $scale `,` $bias $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_LayerNormGradOp : Graph_PureOp<"layer_norm_grad"> {
  let summary = "input gradient of layer_norm";
  let description = [{
    Made by graph-differentiate. Consumed by exec-expand-composites, which rewrites the op to elementwise ops and
    reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $scale `,` $mean `,` $rstd $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_LayerNormParamGradOp : Graph_PureOp<"layer_norm_param_grad"> {
  let summary = "dscale = sum of dy * (x - mean) * rstd, dbias = sum of dy, over all dimensions but dims";
  let description = [{
    Made by graph-differentiate. Consumed by exec-expand-composites, which rewrites the op to elementwise ops and
    reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$mean,
                       Graph_FloatTensor:$rstd, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_FloatTensor:$dscale, Graph_FloatTensor:$dbias);
  let assemblyFormat = "$dy `,` $x `,` $mean `,` $rstd $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormOp : Graph_DiffOp<"rms_norm", [Graph_OwnPrecision]> {
  let summary = "x * rstd * scale, rstd = 1 / sqrt(mean of x^2 + eps)";
  let description = [{
    Made by the importer and graph-recover-composites. Consumed by exec-expand-composites, which rewrites the op to
    elementwise ops and reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale, DenseI64ArrayAttr:$dims, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$y, Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $scale $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormGradOp : Graph_PureOp<"rms_norm_grad"> {
  let summary = "input gradient of rms_norm";
  let description = [{
    Made by graph-differentiate. Consumed by exec-expand-composites, which rewrites the op to elementwise ops and
    reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
                       Graph_FloatTensor:$rstd, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $scale `,` $rstd $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormParamGradOp : Graph_PureOp<"rms_norm_param_grad"> {
  let summary = "dscale = sum of dy * x * rstd over all dimensions but dims";
  let description = [{
    Made by graph-differentiate. Consumed by exec-expand-composites, which rewrites the op to elementwise ops and
    reductions. None is left after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_FloatTensor:$rstd, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_FloatTensor:$dscale);
  let assemblyFormat = "$dy `,` $x `,` $rstd $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_NORMOPS
