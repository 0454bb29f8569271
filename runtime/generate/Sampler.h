//===- Sampler.h - The next token from logits -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_GENERATE_SAMPLER_H
#define DTCC_RUNTIME_GENERATE_SAMPLER_H

#include "runtime/generate/GenerateOptions.h"

#include <span>

namespace dtcc::rt {

/// The index of the largest logit or, at a temperature above 0, an index drawn with the probabilities
/// softmax(logits / temperature) among the likeliest `topK`. The draw depends on `seed` and `number` alone, where
/// `number` counts the drawn tokens. Of equal logits the first counts as the larger one. Throws Error if a logit is not
/// a number.
int64_t pickToken(std::span<const float> logits, const GenerateOptions &options, uint64_t seed, uint64_t number);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_GENERATE_SAMPLER_H
