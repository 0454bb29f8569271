//===- LossOps.td - Losses as (sum, count)
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss is the pair (sum over counted samples, number of them), never a mean: only sums can
// be added over micro-batches and ranks with unequal numbers of labels.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_LOSSOPS
#define DTCC_DIALECTS_GRAPH_LOSSOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

def Graph_CrossEntropyOp : Graph_DiffOp<"cross_entropy", [Graph_OwnPrecision,
                                                      DeclareOpInterfaceMethods<SequenceOpInterface, ["ignorePadding"]>]> {
  let summary = "sum and number of lse(logits) - logits[label] over rows whose label is not ignored";
  let description = [{
    logits [i.., v], labels [i..] of integers; sum and count are f32 scalars, lse [i..].
    `ignore_index` absent: all rows count. A label outside [0, v) that is not ignored is
    the loader's error. The classes are a decompose factor.

    Made by the importer and graph-recover-composites. Consumed by spmd-lower-to-program if the classes are sharded,
    else by exec-bufferize, which calls the runtime's library. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Graph_FloatScalar:$sum, Graph_FloatScalar:$count, Graph_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_CrossEntropyGradOp : Graph_PureOp<"cross_entropy_grad",
                                            [DeclareOpInterfaceMethods<SequenceOpInterface, ["ignorePadding"]>]> {
  let summary = "gradient of the sum: exp(logits - lse) - onehot(label), 0 in ignored rows";
  let description = [{
    On a shard `class_axes` names the axes that split the classes, and `classes` is their whole unpadded number.

    Made by graph-differentiate. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels, Graph_FloatTensor:$lse,
                       OptionalAttr<I64Attr>:$ignore_index, OptionalAttr<I64Attr>:$classes,
                       OptionalAttr<ArrayAttr>:$class_axes);
  let results = (outs Graph_FloatTensor:$dlogits);
  let assemblyFormat = "$logits `,` $labels `,` $lse attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// The local form of cross_entropy: see runtime/abi/LibraryOps.def. A partitioned
// loss is stats, all-reduce max of the row maxima, merge, all-reduce sum of the row
// sums and targets, loss.
def Graph_CrossEntropyStatsOp : Graph_PureOp<"cross_entropy_stats"> {
  let summary = "over this shard's valid classes: row maximum, sum of exp(logit - maximum), logit of the label or 0";
  let description = [{
    Made by graph-add-evaluation and spmd-lower-to-program. Consumed by exec-bufferize, which calls the runtime's
    library. None is left after exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels, I64Attr:$classes,
                       OptionalAttr<ArrayAttr>:$class_axes);
  let results = (outs Graph_FloatTensor:$maximum, Graph_FloatTensor:$sum, Graph_FloatTensor:$target);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_CrossEntropyMergeOp : Graph_PureOp<"cross_entropy_merge"> {
  let summary = "sum * exp(maximum - global maximum)";
  let description = [{
    Made by spmd-lower-to-program. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$maximum, Graph_FloatTensor:$global_maximum, Graph_FloatTensor:$sum);
  let results = (outs Graph_FloatTensor:$merged);
  let assemblyFormat = "$maximum `,` $global_maximum `,` $sum attr-dict `:` functional-type(operands, results)";
}
def Graph_CrossEntropyLossOp : Graph_PureOp<"cross_entropy_loss"> {
  let summary = "from whole row statistics: loss sum, count and lse = maximum + log(sum)";
  let description = [{
    Made by spmd-lower-to-program. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$maximum, Graph_FloatTensor:$sum, Graph_FloatTensor:$target,
                       Graph_IntTensor:$labels, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Graph_FloatScalar:$loss, Graph_FloatScalar:$count, Graph_FloatTensor:$lse);
  let assemblyFormat = "$maximum `,` $sum `,` $target `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_LOSSOPS
