//===- Elements.h - Converting elements between types --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of conversions for files whose element type is not that of the tensor
// they fill: data, tokens, weights.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_ELEMENTS_H
#define DTCC_RUNTIME_CORE_ELEMENTS_H

#include "runtime/abi/dtcc_rt.h"

#include <cstddef>

namespace dtcc::rt {

/// Element types of files: those of tensors and the unsigned ones that only files
/// have.
enum class FileType { F32, F64, BF16, F16, I64, I32, I16, I8, Bool, U8, U16, U32 };

int64_t fileTypeSize(FileType type);
const char *fileTypeName(FileType type);
const char *dtypeName(uint32_t type);
inline bool isFloatType(uint32_t dtype) {
  return dtype == DTCC_F32 || dtype == DTCC_F64 || dtype == DTCC_BF16 || dtype == DTCC_F16;
}
inline FileType fileTypeOf(uint32_t dtype) { return static_cast<FileType>(dtype); }

/// Converts `count` elements. Returns -1, or the index of the first element whose
/// value the target type does not hold exactly (floats that are rounded to another
/// float type count as held if `rounding`). Elements before it are written.
int64_t convertElements(FileType from, const void *source, uint32_t to, void *target, int64_t count, bool rounding);

/// Element `i` as a number, for messages and bounds.
double elementAsDouble(FileType type, const void *source, int64_t i);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_ELEMENTS_H
