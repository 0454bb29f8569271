//===- Generation.cpp - A prompt continued token by token -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/Generation.h"

#include "runtime/core/Error.h"
#include "runtime/generate/Sampler.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {

Generation::Generation(const Image &image, const GenerateOptions &options, uint64_t seed)
    : options(options), seed(seed), shown(image) {
  for (int64_t token : options.prompt)
    checkToken(token, "--prompt-tokens: a token");
  if (options.stop)
    checkToken(*options.stop, "--stop-token");
}

void Generation::checkToken(int64_t token, const char *what) const {
  if (shown.lower() < shown.upper() && (token < shown.lower() || token >= shown.upper()))
    fail(what, " must be from ", shown.lower(), " to ", shown.upper() - 1, ", got: ", token);
}

bool Generation::slides() const {
  return static_cast<int64_t>(options.prompt.size()) + options.tokens - 1 > shown.length();
}

bool Generation::checkCausal(const LogitsOf &logitsOf) {
  // Logits of a causal model differ by rounding at most.
  constexpr float most = 1e-4f;
  std::span<const int64_t> first(options.prompt.data(), 1);
  shown.show(first, shown.lower());
  std::span<const float> logits = logitsOf(shown.batches());
  std::vector<float> before(logits.begin(), logits.end());
  shown.show(first, shown.lower() + 1);
  logits = logitsOf(shown.batches());
  if (logits.empty() || before.empty())
    return false;
  float scale = 0, difference = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    scale = std::max({scale, std::abs(before[i]), std::abs(logits[i])});
    difference = std::max(difference, std::abs(before[i] - logits[i]));
  }
  if (difference > most * scale)
    fail("the model is not causal: tokens behind a position change its logits, by ", difference, " of ", scale,
         ", so it cannot be asked for the next token");
  return true;
}

bool Generation::run(const LogitsOf &logitsOf, const std::function<void(int64_t)> &tell) {
  if (!checkCausal(logitsOf))
    return false;
  std::vector<int64_t> tokens = options.prompt;
  for (int64_t i = 0; i < options.tokens; ++i) {
    shown.show(tokens, shown.lower());
    std::span<const float> logits = logitsOf(shown.batches());
    if (logits.empty())
      return false;
    int64_t token = pickToken(logits, options, seed, static_cast<uint64_t>(i));
    tell(token);
    if (options.stop == token)
      return true;
    if (i + 1 < options.tokens)
      checkToken(token, "the model predicts a token that it does not read: it");
    tokens.push_back(token);
  }
  return true;
}

} // namespace dtcc::rt
