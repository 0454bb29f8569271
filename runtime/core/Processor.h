//===- Processor.h - Does the program fit the processor? ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program compiled for a better processor would die of an illegal instruction; this
// says so before the first kernel.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_PROCESSOR_H
#define DTCC_RUNTIME_CORE_PROCESSOR_H

#include <string>
#include <string_view>

namespace dtcc::rt {

/// Throws Error if `name` (as in --mcpu) is of a higher level than this processor.
/// Unknown names pass.
void checkProcessor(std::string_view name);

/// The name that the system gives to this processor: "AMD EPYC 9654 ..".
std::string processorName();

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_PROCESSOR_H
