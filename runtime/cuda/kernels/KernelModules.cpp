//===- KernelModules.cpp - The runtime's own GPU kernels as text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/KernelModules.h"

#include <iterator>

// The assembler reads the files: no compiler has to parse megabytes of numbers.
#define DTCC_KERNEL_MODULE(NAME)                                                                                       \
  asm(".pushsection .rodata\n"                                                                                         \
      ".globl dtcc_ptx_" #NAME "\n"                                                                                    \
      ".hidden dtcc_ptx_" #NAME "\n"                                                                                   \
      "dtcc_ptx_" #NAME ":\n"                                                                                          \
      ".incbin \"" DTCC_PTX_FOLDER "/" #NAME ".ptx\"\n"                                                                \
      ".byte 0\n"                                                                                                      \
      ".popsection");                                                                                                  \
  extern "C" __attribute__((visibility("hidden"))) const char dtcc_ptx_##NAME[];
#include "runtime/cuda/kernels/KernelModules.def"
#undef DTCC_KERNEL_MODULE

namespace dtcc::rt::cuda {

std::span<const KernelModule> kernelModules() {
#define DTCC_KERNEL_MODULE(NAME) {#NAME, dtcc_ptx_##NAME},
  static const KernelModule modules[] = {
#include "runtime/cuda/kernels/KernelModules.def"
      {nullptr, nullptr}};
#undef DTCC_KERNEL_MODULE
  return {modules, std::size(modules) - 1};
}

} // namespace dtcc::rt::cuda
