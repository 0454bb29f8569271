//===- Software.cpp - What training software does by itself
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Software.h"
#include <algorithm>
#include <cctype>
#include <cmath>

namespace dtcc::cost {

namespace {
struct FrameworkRow {
  std::string_view name, words;
  Software defaults;
};
constexpr FrameworkRow kFrameworks[] = {
#define DTCC_SOFTWARE(name, words, host, fused, attention, recompute, zero, sequence, tensorHidden, sendsHidden,       \
                      scattered, window, gradientBytes, accumulateBytes, wholeBytes, sharedBytes, logitMemory,         \
                      reserve, fragments, padded, pieces, once, serial, early)                                         \
  {#name,                                                                                                              \
   words,                                                                                                              \
   {Framework::name,                                                                                                   \
    HostMode::host,                                                                                                    \
    fused,                                                                                                             \
    AttentionKernel::attention,                                                                                        \
    Recompute::recompute,                                                                                              \
    zero,                                                                                                              \
    sequence,                                                                                                          \
    tensorHidden,                                                                                                      \
    sendsHidden,                                                                                                       \
    scattered,                                                                                                         \
    serial,                                                                                                            \
    window,                                                                                                            \
    gradientBytes,                                                                                                     \
    accumulateBytes,                                                                                                   \
    wholeBytes,                                                                                                        \
    sharedBytes,                                                                                                       \
    logitMemory,                                                                                                       \
    reserve * 0x1p30,                                                                                                  \
    fragments,                                                                                                         \
    padded,                                                                                                            \
    pieces,                                                                                                            \
    once,                                                                                                              \
    early}},
#include "planner/cost/Software.def"
};

bool holds(std::string_view text, std::string_view word) {
  auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}
} // namespace

Software softwareOf(std::string_view text) {
  for (const FrameworkRow &row : kFrameworks)
    for (size_t start = 0; start <= row.words.size();) {
      size_t end = std::min(row.words.find('|', start), row.words.size());
      if (holds(text, row.words.substr(start, end - start)))
        return row.defaults;
      start = end + 1;
    }
  return kFrameworks[std::size(kFrameworks) - 1].defaults;
}

Software softwareOf(Framework framework) { return kFrameworks[static_cast<int>(framework)].defaults; }
std::string_view toString(Framework framework) { return kFrameworks[static_cast<int>(framework)].name; }

double hostSeconds(const Software &software, const Constants &constants, int64_t tensorParallel) {
  if (software.host == HostMode::Commands)
    return 0;
  double share = software.host == HostMode::Eager      ? 1
                 : software.host == HostMode::Compiled ? constants.hostCompiled
                                                       : constants.hostGraph;
  return constants.host * share * (1 + constants.hostTensorParallel * std::log2(double(tensorParallel)));
}

double hostSecondsOfMicrobatch(const Software &software, const Constants &constants) {
  return software.host == HostMode::Commands ? 0 : constants.hostMicrobatch;
}

double hostSecondsOfStep(const Software &software, const Constants &constants) {
  return software.host == HostMode::Commands ? 0 : constants.hostStep;
}

} // namespace dtcc::cost
