//===- TokenInputs.h - The inputs that --tokens fills ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs fill inputs by this rule, and dtcc tells by it with which option a program is run.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_TOKENINPUTS_H
#define DTCC_RUNTIME_ABI_TOKENINPUTS_H

#include "runtime/abi/dtcc_rt.h"

#include <algorithm>
#include <span>
#include <vector>

namespace dtcc {

/// The inputs of tokens that a program reads, each name once. --tokens fills one: which of several are tokens, and
/// which count something else, a graph does not say.
inline std::vector<const dtcc_input *> tokenInputs(std::span<const dtcc_input> inputs) {
  std::vector<const dtcc_input *> found;
  for (const dtcc_input &input : inputs)
    if (input.role == DTCC_INPUT_TOKENS && input.view != DTCC_NONE &&
        std::none_of(found.begin(), found.end(), [&](const dtcc_input *each) { return each->name == input.name; }))
      found.push_back(&input);
  return found;
}

/// Whether --tokens fills an input of a program whose input of tokens is `tokens`, or null. A label with fewer
/// dimensions than the tokens is one for a whole sample, and no token.
inline bool isFilledByTokens(const dtcc_input &input, const dtcc_input *tokens) {
  return input.role != DTCC_INPUT_DATA && (input.role != DTCC_INPUT_LABELS || !tokens || input.rank >= tokens->rank);
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_TOKENINPUTS_H
