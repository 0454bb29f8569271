//===- Transformer.h - The work of a transformer, from its dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes what Work.h describes for a decoder, so that published runs can be priced by the
// same code as compiled graphs. Layers are dense, or have experts (Experts.cpp): as many
// tokens for each, none dropped. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_TRANSFORMER_H
#define DTCC_PLANNER_TRANSFORMER_TRANSFORMER_H

#include "planner/cost/Step.h"
#include <optional>

namespace dtcc::cost {

struct Transformer {
  double layers = 0, hidden = 0, heads = 0, kvHeads = 0, ffn = 0, vocabulary = 0;
  double sequence = 0;
  /// Three matrices in the feed-forward part rather than two.
  bool gated = false;
  /// The embedding is the head.
  bool tied = false;

  /// Columns of a head where they are not hidden / heads.
  double headColumns = 0;
  /// Layers with experts have `experts` of `expertFfn`, of which a token goes to `chosen`, and what all
  /// tokens go through. `ffn` is that of the dense layers: the first `leadingDense`, and of the others all
  /// but every `expertEvery`-th.
  double experts = 0, chosen = 1, expertFfn = 0, sharedFfn = 0, leadingDense = 0, expertEvery = 1;
  /// Queries, and keys and values, come from vectors of these widths (multi-head latent attention,
  /// DeepSeek-V2 2024); 0: from the whole.
  double queryRank = 0, latentRank = 0;

  double headSize() const { return headColumns > 0 ? headColumns : hidden / heads; }
  /// The model whose layers are all as its dense ones are.
  Transformer dense() const;
  double expertLayers() const;
  bool isExpertLayer(int64_t layer) const;
  /// Parameters of all experts that a layer chooses from.
  double routedParameters() const { return experts * (gated ? 3 : 2) * hidden * expertFfn; }
  /// Parameters of a layer. In a model with experts this is a layer with all its experts.
  double layerParameters() const;
  double parameters() const;
  /// Parameters that one token uses: those of the experts that it selects, and all others.
  double activeParameters() const;
  /// Floating-point operations of a sample's forward and backward pass: of products and attention, each once, of which
  /// the masked half of attention does not count.
  double flops() const;
};

/// The model of Transformers.def of that name, or of the longest that `name` begins with if `prefix`.
std::optional<Transformer> findTransformer(std::string_view name, bool prefix = false);

/// A model of Transformers.def by its name, or "layers=32,hidden=4096,heads=32,..": those three
/// must be given, kv-heads, ffn, vocabulary, sequence, gated=1, tied=1, head-columns, experts, chosen, expert-ffn,
/// shared-ffn, leading-dense, expert-every, query-rank and latent-rank may be. Empty, and
/// `error` says why, otherwise.
std::optional<Transformer> parseTransformer(std::string_view text, std::string &error);

/// `model` with the sizes of "sequence=8192,vocabulary=32000": those that parseTransformer takes.
std::optional<Transformer> replaceSizes(const Transformer &model, std::string_view sizes, std::string &error);

/// Settings of a run beside the model and the plan.
struct RunSetting {
  /// Samples of a micro-batch on a rank.
  double samples = 1;
  /// Type width of the products of layers. Products of the head are in 16 bits.
  Width width = Width::B16;
  AttentionKernel attention = AttentionKernel::Flash;
  /// Shares that run beside computation: of sums over tp, beyond their first piece, and of gathers over cp.
  double tensorHidden = 0, contextHidden = 0;
  /// A token whose experts share a node is sent there once.
  bool dispatchesOnceANode = false;
  /// The vocabulary is padded to whole multiples of 128 on each rank of tp.
  bool paddedVocabulary = true;
  /// The share of a forward pass that Recompute::Partial repeats.
  double partial = 0.4;
  /// Selective recomputation as torchtitan's (0.45 of products and the rest) rather than
  /// Megatron's (the core of attention).
  bool selectiveOps = false;
  /// Full recomputation ends with the last value that the backward pass reads.
  bool stopsEarly = false;
};

/// A layer of the model as one rank of the plan runs it: with experts if the model has them.
Layer makeBlock(const Transformer &model, const Parallelism &plan, const RunSetting &run);
/// The embedding of the first stage: its parameters, and what they move.
Layer makeEmbedding(const Transformer &model, const Parallelism &plan, const RunSetting &run);
/// The final norm, logits and loss of the last stage.
Layer makeHead(const Transformer &model, const Parallelism &plan, const RunSetting &run);

/// Bytes of activations that a rank sends to the next stage for a micro-batch: its part, if the
/// ranks of tp share it out, or the whole.
double boundaryBytes(const Transformer &model, const Parallelism &plan, const RunSetting &run, bool scattered);

/// Adds the copies of a layer's offloaded activations: to the host in the forward pass, back in the backward pass.
void moveToHost(Layer &layer, double keptBytes);

/// Parts of makeBlock (Experts.cpp): the routed and the shared experts of a layer on `tokens` of a rank.
void addExperts(Layer &layer, const Transformer &model, const Parallelism &plan, const RunSetting &run, double tokens);
/// y = x w of [m, k] by [k, n], or by `groups` of them: one product forward, one for each gradient.
void addProduct(Layer &layer, double m, double n, double k, Width width, double groups = 1);
/// A sum over the ranks of tp. Software that runs it beside a product does so piece by piece, a piece a rank
/// (decomposed collectives, Wang 2023): the first piece stands alone.
Transfer tensorSum(double bytes, const Parallelism &plan, const RunSetting &run);
void addTransfers(Layer &layer, const Transfer &transfer, int forward, int backward);

/// The whole step: layers spread over the stages, the embedding on the first, the head on the last.
StepProblem makeStepProblem(const Transformer &model, const Parallelism &plan, const RunSetting &run,
                            const Software &software, const Device &device, const Fabric &fabric);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_TRANSFORMER_TRANSFORMER_H
