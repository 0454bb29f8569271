//===- Experts.cpp - The experts of a transformer's layer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GShard (Lepikhin 2020) without capacities: every expert gets as many rows as another, none
// is dropped. A row goes to the rank of each of its experts and back (two all-to-alls, two in
// the backward pass); the products of a rank's experts run at once, each a kernel of its own.
// Ranks of tp split the columns of experts as they do those of dense layers.
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/Transformer.h"

namespace dtcc::cost {

/// Kernels that the host issues in a pass of a dense layer; for the router, both permutations and both dispatches
/// besides; and of each expert: counted in Megatron-Core, rounded.
static constexpr double kLayerKernels = 30, kRoutingKernels = 45, kExpertKernels = 2;
/// Values of a routed row that are read or written: by the permutation for the ranks, by the one for the experts of
/// a rank, and by both on the way back (Megatron-Core's all-to-all dispatcher).
static constexpr double kPermutedValues = 8;

void addExperts(Layer &layer, const Transformer &model, const Parallelism &plan, const RunSetting &run, double tokens) {
  double tp = double(plan.tp), h = model.hidden, parts = plan.splitsExperts() ? tp : 1;
  // Each rank of tp dispatches its part of the tokens; where it has columns of experts, it works on the rows of all.
  double sent = tokens * model.chosen / tp, rows = sent * parts;
  double matrices = model.gated ? 2 : 1, local = model.experts / double(plan.ep);
  addProduct(layer, tokens, model.experts, h, Width::B16);
  addProduct(layer, rows, matrices * model.expertFfn / parts, h, run.width, local);
  addProduct(layer, rows, h, model.expertFfn / parts, run.width, local);
  if (model.sharedFfn > 0) {
    addProduct(layer, tokens, matrices * model.sharedFfn / tp, h, run.width);
    addProduct(layer, tokens, h, model.sharedFfn / tp, run.width);
  }
  Transfer exchange{CollectiveKind::AllToAll, 2 * sent * h, plan.expertGroup()};
  exchange.copies = run.dispatchesOnceANode ? model.chosen : 1;
  addTransfers(layer, exchange, 2, 2);
  // Rows of all and sums of columns, or the tokens of all for what follows.
  double summed = parts > 1 ? rows : tokens;
  addTransfers(layer, tensorSum(2 * summed * h, plan, run), 1, 1);
  layer.passes = 1 + (kRoutingKernels + kExpertKernels * local) / kLayerKernels;
  layer.forward.streamBytes += 2 * kPermutedValues * rows * h;
}

} // namespace dtcc::cost
