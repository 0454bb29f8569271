//===- CommandChecker.h - Checks of the commands of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_COMMANDCHECKER_H
#define DTCC_RUNTIME_IMAGE_COMMANDCHECKER_H

#include "runtime/image/Image.h"

namespace dtcc::rt {

/// Checks command `i`, whose views have been checked. Throws Error, as the checks of ImageChecker.h do.
void checkCommand(const Image &image, size_t i, uint64_t kernelCount);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_COMMANDCHECKER_H
