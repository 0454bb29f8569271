//===- AttentionReference.h - The meaning of attention, for any keys and queries
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reference of attention, shared by attention on whole sequences, on a shard of the queries, and
// on a part of the keys.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_REFERENCE_ATTENTIONREFERENCE_H
#define DTCC_DIALECTS_GRAPH_REFERENCE_ATTENTIONREFERENCE_H

#include "dialects/graph/Graph.h"

namespace dtcc::graph {

struct AttentionCase {
  const HostTensor &q, &k, &v;
  llvm::ArrayRef<HostTensor> maskOperands;
  MaskAttr mask;
  double scale, softcap;
  EmptyRow emptyRow;
  /// In the whole sequence, a row each; -1: padding, which is left alone.
  std::vector<int64_t> queryPositions, keyPositions;
  /// Keys that the parts before had, and those of all parts.
  double keysBefore, keysInAll;
};

/// Adds to `out` and `lse`, which are zero, the attention to these keys; merged with (ontoOut,
/// ontoLse), the attention to other keys, if given.
void evaluateAttention(const AttentionCase &in, const HostTensor *bias, const HostTensor *ontoOut,
                       const HostTensor *ontoLse, HostTensor &out, HostTensor &lse);

/// Adds to dq, dk and dv. `out` and `lse` are those of all keys.
void evaluateAttentionGrad(const AttentionCase &in, const HostTensor &out, const HostTensor &lse,
                           const HostTensor &dout, llvm::MutableArrayRef<HostTensor> gradients);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_REFERENCE_ATTENTIONREFERENCE_H
