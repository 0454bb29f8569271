//===- Evaluation.cpp - Evaluations of one rank, and its generation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Evaluation.h"
#include "runtime/collective/Communicator.h"
#include "runtime/core/Error.h"
#include "runtime/core/FormatText.h"
#include "runtime/generate/Generation.h"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace dtcc::rt {

bool Evaluation::isDue(int64_t step, int64_t steps) const {
  int64_t every = options.evaluation.every;
  return evaluated && (step == steps || (every > 0 && step % every == 0));
}

std::optional<EvaluationFacts> Evaluation::evaluate(int64_t step, std::optional<double> best) {
  const Image &image = rank.image;
  auto begin = Trace::Clock::now();
  const EvaluationOptions &asked = options.evaluation;
  EvaluationFacts facts;
  facts.step = step;
  facts.isAlone = asked.only;
  facts.batches = evaluated->stepsPerEpoch();
  if (asked.steps > 0)
    facts.batches = std::min(facts.batches, asked.steps);
  // Losses, counts and hits, which rank 0 reads and tells the others; then the dropped rows of each rank. A run is
  // not ended by an evaluation in which experts get more rows than there is room for: that changes nothing that is
  // trained.
  double total[4] = {0, 0, 0, 0};
  rank.droppedRows = 0;
  rank.mayDropRows = options.mayDropRows || !asked.only;
  uint32_t prediction = rank.stage.scalars[DTCC_SCALAR_PREDICTION];
  bool counts = prediction != DTCC_NONE && image.views()[prediction].rank == 0;
  const dtcc_scalar scalars[] = {DTCC_SCALAR_LOSS_SUM, DTCC_SCALAR_LOSS_COUNT, DTCC_SCALAR_PREDICTION};
  for (int64_t batch = 0; batch < facts.batches; ++batch) {
    if (isInterrupted())
      return std::nullopt;
    executor.runEvaluation([&](int64_t slot) { values.fill(*evaluated, slot, batch * image.training().batch); },
                           asked.ofAverages);
    values.read({DTCC_SCALAR_LOSS_SUM, DTCC_SCALAR_LOSS_COUNT, DTCC_SCALAR_PREDICTION});
    for (int i = 0; rank.abi.rank == 0 && i < (counts ? 3 : 2); ++i)
      total[i] += static_cast<double>(*values.get<float>(scalars[i]));
  }
  rank.mayDropRows = options.mayDropRows;
  total[3] = static_cast<double>(std::exchange(rank.droppedRows, 0));
  if (rank.world)
    rank.world->allReduce(total, total, 4, DTCC_F64, DTCC_SUM);
  facts.droppedRows = static_cast<int64_t>(total[3]);
  if (counts)
    facts.accuracy = total[2] / total[1];
  facts.loss = total[0] / total[1];
  facts.lossCount = total[1];
  facts.isBest = std::isfinite(facts.loss) && (!best || facts.loss < *best);
  facts.seconds = std::chrono::duration<double>(Trace::Clock::now() - begin).count();
  return facts;
}

bool Evaluation::generate(uint64_t seed) {
  const Image &image = rank.image;
  Generation generation(image, options.generate, seed);
  bool speaks = rank.abi.rank == 0;
  std::vector<float> logits(
      static_cast<size_t>(elementCount(image.views()[rank.stage.scalars[DTCC_SCALAR_PREDICTION]])));
  auto logitsOf = [&](const Batches &batch) -> std::span<const float> {
    if (isInterrupted())
      return {};
    executor.runFirstOfEvaluation([&](int64_t slot) { values.fill(batch, slot, 0); }, options.evaluation.ofAverages);
    values.read({DTCC_SCALAR_LOSS_COUNT, DTCC_SCALAR_PREDICTION});
    if (float count = *values.get<float>(DTCC_SCALAR_LOSS_COUNT); count != 1)
      fail("generation gives a label to one position, but the loss of this model counts ", count);
    std::copy_n(values.get<float>(DTCC_SCALAR_PREDICTION), logits.size(), logits.begin());
    // All ranks take the token that rank 0 takes.
    if (!speaks)
      std::fill(logits.begin(), logits.end(), 0.0f);
    if (rank.world)
      rank.world->allReduce(logits.data(), logits.data(), static_cast<int64_t>(logits.size()), DTCC_F32, DTCC_SUM);
    return logits;
  };
  auto begin = Trace::Clock::now();
  int64_t told = 0;
  if (speaks && generation.slides())
    std::cerr << "note: the model sees the last " << generation.window().length() << " tokens\n";
  std::string prompt;
  for (int64_t token : options.generate.prompt)
    prompt += (prompt.empty() ? "" : ",") + std::to_string(token);
  bool whole = generation.run(logitsOf, [&](int64_t token) {
    if (speaks)
      std::cout << (told++ == 0 ? prompt : "") << "," << token << std::flush;
  });
  if (speaks && told > 0)
    std::cout << std::endl;
  if (speaks)
    std::cerr << formatText("generated %lld %s in %.1f s, each by a forward pass over %lld tokens\n",
                            static_cast<long long>(told), told == 1 ? "token" : "tokens",
                            std::chrono::duration<double>(Trace::Clock::now() - begin).count(),
                            static_cast<long long>(image.training().tokens / image.mesh().slots()));
  return whole;
}

} // namespace dtcc::rt
