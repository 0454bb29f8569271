//===- ExpertOps.td - Routing of tokens and mixture of experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A router picks k of e experts a token by ordinary ops and `top_k`; `experts` applies
// them. Tokens stand in all leading dimensions [n..], "dropless": every token reaches
// every expert that it picked.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_EXPERTOPS
#define DTCC_DIALECTS_GRAPH_EXPERTOPS

include "dialects/graph/GraphAttrs.td"
include "dialects/graph/PrecisionInterface.td"

def Graph_TopKOp : Graph_DiffOp<"top_k"> {
  let summary = "the k largest of the last dimension, largest first, and where they stand";
  let description = [{
    x [n.., e]; values and indices (integers from 0) [n.., k]. Equal cells keep their
    order. The gradient of a value goes to the cell that it was taken from.

    Made by the importer. Consumed by exec-bufferize, which calls the runtime's library. None is left after
    exec-bufferize.
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$values, Graph_IntTensor:$indices);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_GroupedContractOp : Graph_DiffOp<"grouped_contract", [Graph_Precision<["canWidenResult"]>]> {
  let summary = "a grouped matmul: every row is multiplied by one of a stack of matrices";
  let description = [{
    Computes a `contract` in which one letter, the *group*, is no loop: `ids` gives the group
    of each row, and the letters `rows` are the dimensions of `ids`. The group is the first
    letter of rhs (every row is multiplied by the matrix of its group) or of the result (rows
    are summed by group, which is the gradient of the former):

      grouped_contract "ntc,efc->ntkf" rows "ntk" %x, %w, %ids  // y[n,t,k,f] = sum_c x[n,t,c] w[ids[n,t,k],f,c]
      grouped_contract "ntc,ntkf->efc" rows "ntk" %x, %dy, %ids // dw[e,f,c] = sum over rows whose id is e

    A shard of the groups gives 0 for rows of other groups; `group_axes` names the axes that
    split them. The op is linear in lhs and in rhs, which have one type. Sums are in f32 or
    wider, and the result may be wider than the operands.

    Made by graph-differentiate and exec-expand-composites. Consumed by exec-bufferize, which calls the runtime's
    library. None is left after exec-bufferize.
  }];
  let arguments = (ins StrAttr:$spec, StrAttr:$rows, Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs,
                       Graph_IntTensor:$ids, OptionalAttr<ArrayAttr>:$group_axes);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = [{
    $spec `rows` $rows $lhs `,` $rhs `,` $ids attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_ExpertsOp : Graph_DiffOp<"experts", [Graph_OwnPrecision]> {
  let summary = "mixture of experts: y = sum_k weights[k] * w_out[ids[k]] (activation(gate) * up) over the selected experts";
  let description = [{
    x [n.., c]; ids and weights [n.., k]; w_in [e, g, f, c], where g is 2, gate before up, or 1, an
    expert without a gate: w_out[ids[k]] activation(hidden); w_out [e, d, f];
    y [n.., d]; hidden [n.., k, g, f] holds gate and up of every selected expert for the
    backward ops. The experts are an index factor: a shard of the experts computes the rows
    that selected one of them, y is partial, and the other rows of hidden are zeros.
    `expert_axes` names the axes that split the experts. All but ids and weights have one
    type; weights may be wider.

    Made by graph-recover-composites. Consumed by exec-expand-composites, which makes grouped products. None is left
    after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_IntTensor:$ids, Graph_FloatTensor:$weights,
                       Graph_FloatTensor:$w_in, Graph_FloatTensor:$w_out, OptionalAttr<ArrayAttr>:$expert_axes,
                       DefaultValuedAttr<Graph_ExpertActivationAttr, "ExpertActivation::silu">:$activation);
  let results = (outs Graph_FloatTensor:$y, Graph_FloatTensor:$hidden);
  let assemblyFormat = "$x `,` $ids `,` $weights `,` $w_in `,` $w_out attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ExpertsGradOp : Graph_PureOp<"experts_grad"> {
  let summary = "gradients of experts to x, weights and hidden; linear in dy";
  let description = [{
    On a shard of the experts `hidden` holds the rows that selected one of them: see FactorMap::ownParts.

    Made by graph-differentiate. Consumed by exec-expand-composites, which makes grouped products. None is left
    after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_IntTensor:$ids, Graph_FloatTensor:$weights,
                       Graph_FloatTensor:$w_in, Graph_FloatTensor:$w_out, Graph_FloatTensor:$hidden,
                       OptionalAttr<ArrayAttr>:$expert_axes,
                       DefaultValuedAttr<Graph_ExpertActivationAttr, "ExpertActivation::silu">:$activation);
  let results = (outs Graph_FloatTensor:$dx, Graph_FloatTensor:$dweights, Graph_FloatTensor:$dhidden);
  let assemblyFormat = [{
    $dy `,` $ids `,` $weights `,` $w_in `,` $w_out `,` $hidden attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def Graph_ExpertsWeightGradOp : Graph_PureOp<"experts_weight_grad", [Graph_Precision<["canWidenResult"]>]> {
  let summary = "gradients of experts to w_in and w_out; linear in dy and dhidden together; tokens are summed over; may be wider than x";
  let description = [{
    Made by graph-differentiate. Consumed by exec-expand-composites, which makes grouped products. None is left
    after exec-expand-composites.
  }];
  let arguments = (ins Graph_FloatTensor:$dy, Graph_FloatTensor:$x, Graph_IntTensor:$ids, Graph_FloatTensor:$weights,
                       Graph_FloatTensor:$hidden, Graph_FloatTensor:$dhidden, OptionalAttr<ArrayAttr>:$expert_axes,
                       DefaultValuedAttr<Graph_ExpertActivationAttr, "ExpertActivation::silu">:$activation);
  let results = (outs Graph_FloatTensor:$dw_in, Graph_FloatTensor:$dw_out);
  let assemblyFormat = [{
    $dy `,` $x `,` $ids `,` $weights `,` $hidden `,` $dhidden attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_EXPERTOPS
