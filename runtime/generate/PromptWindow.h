//===- PromptWindow.h - A prompt as the data of an evaluation -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has a fixed number of tokens a sample. The window of the first sample holds the newest tokens, and padding
// behind them; all samples are alike. One label counts: that of the token which is not known yet. The evaluation then
// reports the row of logits that the loss would compare with this label, whichever way the model shifts its labels.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_GENERATE_PROMPTWINDOW_H
#define DTCC_RUNTIME_GENERATE_PROMPTWINDOW_H

#include "runtime/data/Batches.h"

#include <span>

namespace dtcc::rt {

class PromptWindow {
public:
  /// Throws Error if the model reads more than tokens and their labels.
  explicit PromptWindow(const Image &image);
  PromptWindow(const PromptWindow &) = delete;

  /// Tokens that the model sees at most when it predicts one.
  int64_t length() const { return most; }
  /// Tokens that the model takes: [lower, upper); none are known if these are equal.
  int64_t lower() const { return tokens->lower; }
  int64_t upper() const { return tokens->upper; }

  /// Shows the last of `known` tokens, at most length(), with `padding` behind them.
  void show(std::span<const int64_t> known, int64_t padding);
  /// The shown tokens as data of all inputs; their step begins at sample 0.
  const Batches &batches() const { return *data; }

private:
  /// The one input of that role. Stages of a pipeline have rows of their own, which are alike.
  const dtcc_input *find(const Image &image, uint32_t role);

  const dtcc_input *tokens, *labels;
  int64_t shift, most;
  std::vector<int64_t> window, chosen, ignored; /* labels of the first sample, and of the others */
  std::vector<int64_t> oneDocument, counted;    /* documents and positions: the window is one document */
  std::unique_ptr<Batches> data;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_GENERATE_PROMPTWINDOW_H
