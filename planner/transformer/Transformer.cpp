//===- Transformer.cpp - The work of a transformer, from its dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/transformer/Transformer.h"
#include <algorithm>
#include <cmath>

namespace dtcc::cost {

/// Columns of a head that carry its position in latent attention (DeepSeek-V2, section 2.1.3).
static constexpr double kRotaryColumns = 64;

Transformer Transformer::dense() const {
  Transformer model = *this;
  model.experts = 0;
  return model;
}

double Transformer::expertLayers() const {
  return experts > 0 ? std::floor(std::max(0.0, layers - leadingDense) / expertEvery) : 0;
}

bool Transformer::isExpertLayer(int64_t layer) const {
  int64_t after = layer - int64_t(leadingDense), every = int64_t(expertEvery);
  return experts > 0 && after >= 0 && after % every == every - 1;
}

static double attentionParameters(const Transformer &model) {
  double size = model.headSize(), width = model.heads * size;
  if (model.latentRank <= 0)
    return model.hidden * size * (2 * model.heads + 2 * model.kvHeads);
  double queries = model.heads * (size + kRotaryColumns);
  double fromQueries = model.queryRank > 0 ? model.queryRank * (model.hidden + queries) : model.hidden * queries;
  return fromQueries + model.hidden * (model.latentRank + kRotaryColumns) + model.latentRank * 2 * width +
         width * model.hidden;
}

double Transformer::layerParameters() const {
  double matrices = (gated ? 3 : 2) * hidden, rest = attentionParameters(*this) + 4 * hidden;
  return rest + (experts > 0 ? matrices * sharedFfn + hidden * experts + routedParameters() : matrices * ffn);
}

double Transformer::parameters() const {
  double withExperts = expertLayers();
  return withExperts * layerParameters() + (layers - withExperts) * dense().layerParameters() +
         (tied ? 1 : 2) * vocabulary * hidden + 2 * hidden;
}

double Transformer::activeParameters() const {
  return experts > 0 ? parameters() - expertLayers() * routedParameters() * (1 - chosen / experts) : parameters();
}

double Transformer::flops() const {
  // The embedding is looked up; as the head it multiplies.
  double products = activeParameters() - (tied ? 0 : vocabulary * hidden);
  double attention = layers * 4 * heads * headSize() * sequence / 2;
  return kProductsInStep * sequence * (2 * products + attention);
}

void addProduct(Layer &layer, double m, double n, double k, Width width, double groups) {
  layer.forward.gemms.push_back({m, n, k, 1, width, groups});
  layer.inputGradient.gemms.push_back({m, k, n, 1, width, groups});
  layer.weightGradient.gemms.push_back({n * groups, k, m / groups, 1, width, groups});
  if (width == Width::F8 || width == Width::F4) {
    layer.forward.castValues += m * k;
    layer.inputGradient.castValues += m * n;
  }
}

void addTransfers(Layer &layer, const Transfer &transfer, int forward, int backward) {
  layer.forward.transfers.insert(layer.forward.transfers.end(), forward, transfer);
  layer.inputGradient.transfers.insert(layer.inputGradient.transfers.end(), backward, transfer);
}

Transfer tensorSum(double bytes, const Parallelism &plan, const RunSetting &run) {
  return {CollectiveKind::AllReduce, bytes, plan.tensorGroup(), run.tensorHidden * (1 - 1 / double(plan.tp))};
}

void moveToHost(Layer &layer, double keptBytes) {
  layer.forward.hostBytes = keptBytes;
  layer.inputGradient.hostBytes = keptBytes;
}

namespace {
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

/// Share of a layer's products, and of the ops between them, that torchtitan's selective recomputation repeats.
constexpr double kSelectiveOps = 0.45;

/// The whole forward pass; or, of a dense layer, all but the product at its end and the sum over tp of that, which
/// nothing in the backward pass reads. (What experts give is read: by the gradients of the weights of a token.)
Work repeated(const Layer &layer, const RunSetting &run, bool dense) {
  Work work = layer.forward;
  if (!run.stopsEarly || !dense)
    return work;
  work.gemms.pop_back();
  work.transfers.erase(std::find_if(work.transfers.begin(), work.transfers.end(), [](const Transfer &transfer) {
    return transfer.kind == CollectiveKind::AllReduce;
  }));
  return work;
}

void setRecompute(Layer &layer, const Parallelism &plan, const RunSetting &run, bool dense) {
  switch (plan.recompute) {
  case Recompute::None:
    return;
  case Recompute::Full:
    layer.recompute = repeated(layer, run, dense);
    return;
  case Recompute::Partial:
    layer.recompute = scaled(layer.forward, run.partial);
    return;
  case Recompute::Selective:
    if (run.selectiveOps) {
      layer.recompute = scaled(layer.forward, kSelectiveOps);
      layer.recompute.attentions.clear();
      // Results of reduce-scatters over tp are kept; results of all-gathers for products are not.
      std::erase_if(layer.recompute.transfers,
                    [](const Transfer &transfer) { return transfer.kind != CollectiveKind::AllReduce; });
      for (Transfer &transfer : layer.recompute.transfers)
        transfer = {CollectiveKind::AllGather, transfer.bytes / kSelectiveOps, transfer.group, transfer.hidden};
    } else if (run.attention == AttentionKernel::Plain) {
      layer.recompute.attentions = layer.forward.attentions;
    }
    return;
  }
}
} // namespace

/// Queries, keys and values, and what follows attention; returns the columns of a head in its products.
static double addProjections(Layer &layer, const Transformer &model, const Parallelism &plan, const RunSetting &run,
                             double tokens) {
  double tp = double(plan.tp), h = model.hidden, headSize = model.headSize();
  double heads = std::max(model.heads / tp, 1.0), kvHeads = std::max(model.kvHeads / tp, 1.0);
  double columns = headSize;
  if (model.latentRank > 0) {
    // The narrow vectors are made whole on every rank of tp.
    double queries = heads * (headSize + kRotaryColumns);
    addProduct(layer, tokens, model.queryRank + model.latentRank + kRotaryColumns, h, run.width);
    addProduct(layer, tokens, queries, model.queryRank > 0 ? model.queryRank : h, run.width);
    addProduct(layer, tokens, heads * 2 * headSize, model.latentRank, run.width);
    // Scores have the columns of positions too, sums of values do not.
    columns += kRotaryColumns / 2;
  } else {
    addProduct(layer, tokens, (heads + 2 * kvHeads) * headSize, h, run.width);
  }
  addProduct(layer, tokens, h, heads * headSize, run.width);
  return columns;
}

Layer makeBlock(const Transformer &model, const Parallelism &plan, const RunSetting &run) {
  Layer layer;
  double tp = double(plan.tp), cp = double(plan.cp);
  double tokens = run.samples * model.sequence / cp, h = model.hidden, f = model.ffn / tp;
  double heads = std::max(model.heads / tp, 1.0), kvHeads = std::max(model.kvHeads / tp, 1.0);
  double headSize = addProjections(layer, model, plan, run, tokens);

  Attention attention{run.samples * heads, model.sequence / cp, model.sequence, headSize, true, false, run.attention};
  layer.forward.attentions.push_back(attention);
  attention.backward = true;
  layer.inputGradient.attentions.push_back(attention);

  Transfer sum = tensorSum(2 * tokens * h, plan, run);
  if (model.experts > 0) {
    addExperts(layer, model, plan, run, tokens);
    f = (model.chosen * model.expertFfn + model.sharedFfn) / tp;
    addTransfers(layer, sum, 1, 1);
  } else {
    addProduct(layer, tokens, (model.gated ? 2 : 1) * f, h, run.width);
    addProduct(layer, tokens, h, f, run.width);
    addTransfers(layer, sum, 2, 2);
  }

  // Norms, residuals, dropouts and biases on whole rows, which sequence parallelism splits;
  // 4 values a head column and 2 (gated 3) a feed-forward column: written and read.
  double rows = 11 * h / (plan.sequenceParallel ? tp : 1), width = model.heads * model.headSize();
  layer.forward.streamBytes += 2 * tokens * (rows + 4 * width / tp + (model.gated ? 3 : 2) * f);
  // Constants.def scales the backward pass against this.
  layer.inputGradient.streamBytes = layer.forward.streamBytes;

  // Latent attention sends what keys and values are made of.
  double kvColumns = model.latentRank > 0 ? model.latentRank + kRotaryColumns : 2 * kvHeads * model.headSize();
  double kvBytes = 2 * run.samples * model.sequence * kvColumns;
  Transfer gather{CollectiveKind::AllGather, kvBytes, plan.contextGroup(), run.contextHidden};
  addTransfers(layer, gather, 1, 1);
  layer.inputGradient.transfers.push_back(
      {CollectiveKind::ReduceScatter, kvBytes, plan.contextGroup(), run.contextHidden});

  layer.expertParameters =
      model.experts > 0 ? model.routedParameters() / (plan.splitsExperts() ? tp : 1) / double(plan.ep) : 0;
  layer.parameters = (model.layerParameters() - (model.experts > 0 ? model.routedParameters() : 0)) / tp;
  setRecompute(layer, plan, run, /*dense=*/model.experts <= 0);
  return layer;
}

Layer makeEmbedding(const Transformer &model, const Parallelism &plan, const RunSetting &run) {
  Layer layer;
  double tokens = run.samples * model.sequence / double(plan.cp);
  layer.forward.streamBytes = 2 * 3 * tokens * model.hidden;
  layer.inputGradient.streamBytes = layer.forward.streamBytes;
  layer.parameters = model.vocabulary * model.hidden / double(plan.tp);
  layer.passes = 0;
  return layer;
}

Layer makeHead(const Transformer &model, const Parallelism &plan, const RunSetting &run) {
  Layer layer;
  double tokens = run.samples * model.sequence / double(plan.cp);
  double columns = model.vocabulary / double(plan.tp);
  if (run.paddedVocabulary)
    columns = std::ceil(columns / 128) * 128;
  addProduct(layer, tokens, columns, model.hidden, Width::B16);
  // The loss counts once, forward; its bytes are those of both passes.
  layer.forward.logits = tokens * columns;
  // Gradients of the rows are summed over the parts of the vocabulary.
  layer.inputGradient.transfers.push_back(tensorSum(2 * tokens * model.hidden, plan, run));
  if (!model.tied || plan.pp > 1)
    layer.parameters = model.vocabulary * model.hidden / double(plan.tp);
  layer.passes = 0;
  return layer;
}

double boundaryBytes(const Transformer &model, const Parallelism &plan, const RunSetting &run, bool scattered) {
  double bytes = 2 * run.samples * model.sequence * model.hidden / double(plan.cp);
  return scattered ? bytes / double(plan.tp) : bytes;
}

} // namespace dtcc::cost
