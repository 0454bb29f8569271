//===- KernelCases.h - Commands that every device must compute alike
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of processors are tested against f64 (tests/unit/kernels). What other devices
// compute is compared with these, on the commands listed here: every row of LibraryOps.def,
// its element types and attributes, views with gaps and in other orders.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_CONFORMANCE_KERNELCASES_H
#define DTCC_TESTS_CONFORMANCE_KERNELCASES_H

#include "tests/conformance/KernelSuite.h"

#include <string>
#include <vector>

namespace dtcc::rt::test {

struct KernelCase {
  std::string name;
  OneCommand command;
  int64_t rank = 0, slot = 0;
  /// Operands that the command writes; all other memory must stay as it is, but for `scratch` operands.
  std::vector<size_t> outputs = {}, scratch = {};
  /// Largest difference, relative to numbers above 1.
  float tolerance = 2e-6f;
  /// The same for cuDNN, where that rounds results that others do not; 0: as `tolerance`.
  float cudnnTolerance = 0;
};

/// All of them. Attention's gradients need its results, which the processor computes: no runner may be set.
std::vector<KernelCase> kernelCases();
void addAttention(std::vector<KernelCase> &cases);
void addUpdates(std::vector<KernelCase> &cases);

} // namespace dtcc::rt::test

#endif // DTCC_TESTS_CONFORMANCE_KERNELCASES_H
