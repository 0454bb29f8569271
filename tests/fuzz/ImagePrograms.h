//===- ImagePrograms.h - Programs whose images are damaged -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The images are made anew in each process. Kept as files they would be refused at their header as soon as the
// interface gets a new version, and every input with them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_FUZZ_IMAGEPROGRAMS_H
#define DTCC_TESTS_FUZZ_IMAGEPROGRAMS_H

#include <cstdint>
#include <vector>

namespace dtcc::fuzz {

/// The number of kernels that the programs may use.
inline constexpr uint64_t kImageKernels = 8;

/// Data parallelism on 1, 2 and 4 ranks; a pipeline of two stages; a program for GPUs whose ranks exchange rows.
std::vector<std::vector<uint64_t>> imagePrograms();

} // namespace dtcc::fuzz

#endif // DTCC_TESTS_FUZZ_IMAGEPROGRAMS_H
