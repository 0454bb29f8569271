//===- Experts.cpp - The experts of a transformer's layer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GShard (Lepikhin 2020) without capacities: every expert gets as many rows as another, none
// is dropped. A row goes to the rank of each of its experts and back (two all-to-alls, two in
// the backward pass); the products of a rank's experts are one grouped kernel. Ranks of tp
// split the columns of experts as they do those of dense layers.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Transformer.h"

namespace dtcc::cost {

void addExperts(Layer &layer, const Transformer &model, const Parallel &plan, const RunSetting &run, double tokens) {
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
  Transfer exchange{CollectiveKind::AllToAll, 2 * sent * h, plan.expertGroup(), 0};
  addTransfers(layer, exchange, 2, 2);
  // Rows of all and sums of columns, or the tokens of all for what follows.
  double summed = parts > 1 ? rows : tokens;
  addTransfers(layer, {CollectiveKind::AllReduce, 2 * summed * h, plan.tensorGroup(), run.tensorHidden}, 1, 1);
  // Rows are put in the order of experts and back: read and written, twice.
  layer.forward.streamBytes += 2 * 4 * rows * h;
}

} // namespace dtcc::cost
