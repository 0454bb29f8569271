//===- PtxRun.h - Runs single instructions of PTX -------------- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_EMULATOR_PTXRUN_H
#define DTCC_TESTS_UNIT_EMULATOR_PTXRUN_H

#include "tests/emulator/ptx/Machine.h"
#include <array>
#include <string>
#include <vector>

namespace dtcc::test {

/// Three sources of a case, as bits.
using Sources = std::array<uint64_t, 3>;

/// Runs `body` in a thread a case, blocks of 64: it reads %ra, %rb, %rc (32 bits), %ha, .. (16) or %da, .. (64) and
/// writes %r, %h or %d; `width` says which, in bits. Throws PtxError.
std::vector<uint64_t> runCases(const std::string &body, unsigned width, const std::vector<Sources> &cases);

/// A kernel of the text between braces, with the parameters .u64 in, .u64 out: registers %r, %d, %f: 32, 64, %p: 20 of
/// each.
std::string kernelOf(const std::string &body);

/// Launches it. Throws PtxError.
void runKernel(const std::string &text, void *in, uint64_t inBytes, void *out, uint64_t outBytes, unsigned threads,
               uint64_t seed = 0);

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_EMULATOR_PTXRUN_H
