//===- GenerateOptions.h - How a prompt is continued -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_GENERATE_GENERATEOPTIONS_H
#define DTCC_RUNTIME_GENERATE_GENERATEOPTIONS_H

#include <cstdint>
#include <optional>
#include <vector>

namespace dtcc::rt {

struct GenerateOptions {
  int64_t tokens = 0; /* to add to the prompt; 0: nothing is generated */
  std::vector<int64_t> prompt;
  double temperature = 0; /* 0: always the token of the largest logit */
  int64_t topK = 0;       /* only so many of the likeliest tokens are drawn; 0: all */
  std::optional<int64_t> stop;

  bool isAsked() const { return tokens > 0; }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_GENERATE_GENERATEOPTIONS_H
