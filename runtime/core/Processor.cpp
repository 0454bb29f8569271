//===- Processor.cpp - Does the program fit the processor? ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Processor.h"

#include "runtime/core/Error.h"

#include <fstream>

namespace dtcc::rt {
namespace {

struct Processor {
  std::string_view name;
  int level;
};
const Processor processors[] = {
#define DTCC_PROCESSOR(NAME, LEVEL) {NAME, LEVEL},
#include "runtime/core/Processors.def"
};

/// The x86-64 psABI level of this processor; the highest elsewhere, where nothing is
/// known.
int machineLevel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return 4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return 3;
  return __builtin_cpu_supports("sse4.2") ? 2 : 1;
#else
  return 4;
#endif
}

} // namespace

void checkProcessor(std::string_view name) {
  for (const Processor &processor : processors)
    if (processor.name == name && processor.level > machineLevel())
      fail("the program was compiled for ", name, " (x86-64-v", processor.level, "), and this processor has x86-64-v",
           machineLevel(), " only: compile it again here, or with --mcpu of this processor");
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "a processor";
}

} // namespace dtcc::rt
