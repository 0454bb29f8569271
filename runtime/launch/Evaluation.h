//===- Evaluation.h - Evaluations of one rank, and its generation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both run the forward pass that the program has in evaluation form. All ranks call them together.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_EVALUATION_H
#define DTCC_RUNTIME_LAUNCH_EVALUATION_H

#include "runtime/launch/Executor.h"
#include "runtime/launch/Metrics.h"
#include "runtime/launch/StepValues.h"
#include "runtime/launch/options/Options.h"

#include <functional>

namespace dtcc::rt {

class Evaluation {
public:
  /// `evaluated`: the data to evaluate on, or null. `isInterrupted`: whether any rank was asked to end, on which all
  /// ranks agree.
  Evaluation(const Options &options, const Batches *evaluated, Rank &rank, Executor &executor, StepValues &values,
             std::function<bool()> isInterrupted)
      : options(options), evaluated(evaluated), rank(rank), executor(executor), values(values),
        isInterrupted(std::move(isInterrupted)) {}

  /// Whether a run of `steps` steps evaluates behind `step`.
  bool isDue(int64_t step, int64_t steps) const;
  /// The loss of the evaluated data; `best` is the least so far. Nothing if it was interrupted.
  std::optional<EvaluationFacts> evaluate(int64_t step, std::optional<double> best);
  /// Continues the prompt, and rank 0 writes the tokens; sampling draws by `seed`. False if it was interrupted.
  bool generate(uint64_t seed);

private:
  const Options &options;
  const Batches *evaluated;
  Rank &rank;
  Executor &executor;
  StepValues &values;
  std::function<bool()> isInterrupted;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_EVALUATION_H
