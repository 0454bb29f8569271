//===- ImageChecker.h - What must hold in an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks behind Image's constructor. Each throws Error with one message that
// begins with "damaged program" and names the table, the row and the field.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_IMAGECHECKER_H
#define DTCC_RUNTIME_IMAGE_IMAGECHECKER_H

#include "runtime/image/Image.h"

namespace dtcc::rt {

/// Magic, version, and that every section lies in the image, aligned to 8.
void checkHeader(const dtcc_image_header &header);

/// Every index and offset of every table. The header and the axes' sizes have
/// been checked.
void checkTables(const Image &image, uint64_t kernelCount);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_IMAGECHECKER_H
