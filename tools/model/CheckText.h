//===- CheckText.h - Text of modules that the parser can bear
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser trusts its text: it calls itself for each level of brackets, reserves memory for as many results as the
// number of the last one says, and what an alias stands for may be twice what the alias before stands for, forty times.
// A text from outside is checked before it is parsed. Costs one pass over the characters.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_MODEL_CHECKTEXT_H
#define DTCC_TOOLS_MODEL_CHECKTEXT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace dtcc {

struct TextProblem {
  size_t line, column; /* from 1 */
  std::string message;
};

/// Returns the first construct of `text` that would make MLIR's parser crash or run out of memory, or nothing:
///   brackets ( [ { < that lie more than 256 deep, those of aliases included
///   the 65536th result of an op, or a later one
///   aliases that stand for more than 2^24 words and signs
///   more than 256 minus signs in a row
std::optional<TextProblem> checkText(llvm::StringRef text);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_CHECKTEXT_H
