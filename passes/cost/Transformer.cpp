//===- Transformer.cpp - The work of a transformer, from its dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/cost/Transformer.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

double Transformer::layerParameters() const {
  double attention = hidden * headSize() * (2 * heads + 2 * kvHeads);
  return attention + (gated ? 3 : 2) * hidden * ffn + 4 * hidden;
}

double Transformer::parameters() const {
  return layers * layerParameters() + (tied ? 1 : 2) * vocabulary * hidden + 2 * hidden;
}

namespace {
/// y = x w: one product forward, one for each gradient.
void addProduct(Layer &layer, double m, double n, double k, Width width) {
  layer.forward.gemms.push_back({m, n, k, 1, width});
  layer.inputGradient.gemms.push_back({m, k, n, 1, width});
  layer.weightGradient.gemms.push_back({n, k, m, 1, width});
  if (width == Width::F8 || width == Width::F4) {
    layer.forward.castValues += m * k;
    layer.inputGradient.castValues += m * n;
  }
}

void addTransfers(Layer &layer, const Transfer &transfer, int forward, int backward) {
  layer.forward.transfers.insert(layer.forward.transfers.end(), forward, transfer);
  layer.inputGradient.transfers.insert(layer.inputGradient.transfers.end(), backward, transfer);
}

Work scaled(Work work, double factor) {
  for (Gemm &gemm : work.gemms)
    gemm.count *= factor;
  for (Attention &attention : work.attentions)
    attention.heads *= factor;
  for (Transfer &transfer : work.transfers)
    transfer.bytes *= factor;
  work.streamBytes *= factor;
  work.castValues *= factor;
  work.logits *= factor;
  return work;
}

void setRecompute(Layer &layer, const Parallel &plan, const RunSetting &run) {
  switch (plan.recompute) {
  case Recomputation::None:
    return;
  case Recomputation::Full:
    layer.recompute = layer.forward;
    return;
  case Recomputation::Partial:
    layer.recompute = scaled(layer.forward, run.partial);
    return;
  case Recomputation::Selective:
    if (run.selectiveOps) {
      layer.recompute = scaled(layer.forward, 0.45);
      layer.recompute.attentions.clear();
      layer.recompute.transfers.clear();
    } else if (run.attention == AttentionKernel::Plain) {
      layer.recompute.attentions = layer.forward.attentions;
    }
    return;
  }
}
} // namespace

Layer makeBlock(const Transformer &model, const Parallel &plan, const RunSetting &run) {
  Layer layer;
  double tp = double(plan.tp), cp = double(plan.cp);
  double tokens = run.examples * model.sequence / cp, h = model.hidden, f = model.ffn / tp;
  double heads = std::max(model.heads / tp, 1.0), kvHeads = std::max(model.kvHeads / tp, 1.0);
  double headSize = model.headSize(), width = heads * headSize;
  addProduct(layer, tokens, width + 2 * kvHeads * headSize, h, run.width);
  addProduct(layer, tokens, h, width, run.width);
  addProduct(layer, tokens, (model.gated ? 2 : 1) * f, h, run.width);
  addProduct(layer, tokens, h, f, run.width);

  Attention attention{run.examples * heads, model.sequence / cp, model.sequence, headSize, true, false, run.attention};
  layer.forward.attentions.push_back(attention);
  attention.backward = true;
  layer.inputGradient.attentions.push_back(attention);

  // Norms, residuals, dropouts and biases on whole rows, which sequence parallelism splits;
  // 4 values a head column and 2 (gated 3) a feed-forward column: written and read.
  double rows = 11 * h / (plan.sequenceParallel ? tp : 1);
  layer.forward.streamBytes = 2 * tokens * (rows + 4 * h / tp + (model.gated ? 3 : 2) * f);
  // Constants.def scales the backward pass against this.
  layer.inputGradient.streamBytes = layer.forward.streamBytes;

  Transfer sum{CollectiveKind::AllReduce, 2 * tokens * h, plan.tensorGroup(), run.tensorHidden};
  addTransfers(layer, sum, 2, 2);
  double kvBytes = 2 * 2 * run.examples * model.sequence * kvHeads * headSize;
  Transfer gather{CollectiveKind::AllGather, kvBytes, plan.contextGroup(), run.contextHidden};
  addTransfers(layer, gather, 1, 1);
  layer.inputGradient.transfers.push_back(
      {CollectiveKind::ReduceScatter, kvBytes, plan.contextGroup(), run.contextHidden});

  layer.parameters = model.layerParameters() / tp;
  setRecompute(layer, plan, run);
  return layer;
}

Layer makeEmbedding(const Transformer &model, const Parallel &plan, const RunSetting &run) {
  Layer layer;
  double tokens = run.examples * model.sequence / double(plan.cp);
  layer.forward.streamBytes = 2 * 3 * tokens * model.hidden;
  layer.inputGradient.streamBytes = layer.forward.streamBytes;
  layer.parameters = model.vocabulary * model.hidden / double(plan.tp);
  layer.passes = 0;
  return layer;
}

Layer makeHead(const Transformer &model, const Parallel &plan, const RunSetting &run) {
  Layer layer;
  double tokens = run.examples * model.sequence / double(plan.cp);
  double columns = model.vocabulary / double(plan.tp);
  if (run.paddedVocabulary)
    columns = std::ceil(columns / 128) * 128;
  addProduct(layer, tokens, columns, model.hidden, Width::B16);
  // The loss counts once, forward; its bytes are those of both passes.
  layer.forward.logits = tokens * columns;
  // Gradients of the rows are summed over the parts of the vocabulary.
  layer.inputGradient.transfers.push_back(
      {CollectiveKind::AllReduce, 2 * tokens * model.hidden, plan.tensorGroup(), run.tensorHidden});
  if (!model.tied || plan.pp > 1)
    layer.parameters = model.vocabulary * model.hidden / double(plan.tp);
  layer.passes = 0;
  return layer;
}

double boundaryBytes(const Transformer &model, const Parallel &plan, const RunSetting &run, bool scattered) {
  double bytes = 2 * run.examples * model.sequence * model.hidden / double(plan.cp);
  return scattered ? bytes / double(plan.tp) : bytes;
}

} // namespace dtcc::cost
