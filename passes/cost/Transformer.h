//===- Transformer.h - The work of a transformer, from its dimensions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes what Work.h describes for a decoder with dense layers, so that published runs can
// be priced by the same code as compiled graphs. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_COST_TRANSFORMER_H
#define DTCC_PASSES_COST_TRANSFORMER_H

#include "passes/cost/Step.h"
#include <optional>

namespace dtcc::cost {

struct Transformer {
  double layers = 0, hidden = 0, heads = 0, kvHeads = 0, ffn = 0, vocabulary = 0;
  double sequence = 0;
  /// Three matrices in the feed-forward part rather than two.
  bool gated = false;
  /// The embedding is the head.
  bool tied = false;

  double headSize() const { return hidden / heads; }
  double layerParameters() const;
  double parameters() const;
};

/// A model of Transformers.def by its name, or "layers=32,hidden=4096,heads=32,..": those three
/// must be given, kv-heads, ffn, vocabulary, sequence, gated=1 and tied=1 may be. Empty, and
/// `error` says why, otherwise.
std::optional<Transformer> parseTransformer(std::string_view text, std::string &error);

/// What a run fixes beside the model and the plan.
struct RunSetting {
  /// Examples of a micro-batch and rank.
  double examples = 1;
  /// Of the products of layers; those of the head are in 16 bits.
  Width width = Width::B16;
  AttentionKernel attention = AttentionKernel::Flash;
  double tensorHidden = 0, contextHidden = 0;
  /// The vocabulary is padded to whole multiples of 128 on each rank of tp.
  bool paddedVocabulary = true;
  /// The share of a forward pass that Recomputation::Partial repeats.
  double partial = 0.4;
  /// Selective recomputation as torchtitan's (0.45 of products and the rest) rather than
  /// Megatron's (the core of attention).
  bool selectiveOps = false;
};

/// A layer of the model as one rank of the plan runs it.
Layer makeBlock(const Transformer &model, const Parallel &plan, const RunSetting &run);
/// The embedding of the first stage: its parameters, and what they move.
Layer makeEmbedding(const Transformer &model, const Parallel &plan, const RunSetting &run);
/// The final norm, logits and loss of the last stage.
Layer makeHead(const Transformer &model, const Parallel &plan, const RunSetting &run);

/// Bytes of activations that a rank sends to the next stage for a micro-batch: its part, if the
/// ranks of tp share it out, or the whole.
double boundaryBytes(const Transformer &model, const Parallel &plan, const RunSetting &run, bool scattered);

/// The whole step: layers spread over the stages, the embedding on the first, the head on the last.
StepProblem makeStepProblem(const Transformer &model, const Parallel &plan, const RunSetting &run,
                            const Software &software, const Device &device, const Fabric &fabric);

} // namespace dtcc::cost

#endif // DTCC_PASSES_COST_TRANSFORMER_H
