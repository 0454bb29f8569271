//===- Generation.h - A prompt continued token by token -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every token costs one forward pass over the whole window, because nothing is kept between tokens. All ranks of a run
// do the same, and come to the same tokens.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_GENERATE_GENERATION_H
#define DTCC_RUNTIME_GENERATE_GENERATION_H

#include "runtime/generate/GenerateOptions.h"
#include "runtime/generate/PromptWindow.h"

#include <functional>

namespace dtcc::rt {

/// The logits of the program: those of the row whose label counts in a batch. The span holds until the next call. Empty
/// if the run is to stop.
using LogitsOf = std::function<std::span<const float>(const Batches &)>;

class Generation {
public:
  /// Throws Error if the prompt does not suit the model.
  Generation(const Image &image, const GenerateOptions &options, uint64_t seed);

  /// Continues the prompt, and calls `tell` for each new token. False if `logitsOf` stopped it. Throws Error if the
  /// model is not causal.
  bool run(const LogitsOf &logitsOf, const std::function<void(int64_t)> &tell);

  /// Whether old tokens fall out of the window before the last token is generated.
  bool slides() const;
  const PromptWindow &window() const { return shown; }

private:
  /// Throws Error if tokens behind a position change its logits: such a model cannot tell the next token. False if
  /// `logitsOf` stopped it.
  bool checkCausal(const LogitsOf &logitsOf);
  void checkToken(int64_t token, const char *what) const;

  const GenerateOptions &options;
  uint64_t seed;
  PromptWindow shown;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_GENERATE_GENERATION_H
