//===- RecurrentCell.h - Recurrent cells as values
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of RecurrentCells.def in C++. Code of every instruction set and of GPUs reads this header, so it holds no
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_RECURRENTCELL_H
#define DTCC_RUNTIME_ABI_RECURRENTCELL_H

#include <stdint.h>

namespace dtcc {

/// The kind of a recurrent layer's step. Library ops have the number as an attribute.
enum class RecurrentCell : uint32_t {
#define DTCC_RECURRENT_CELL(NAME, ...) NAME,
#include "runtime/abi/RecurrentCells.def"
};

/// A row of RecurrentCells.def.
struct RecurrentCellInfo {
  const char *mnemonic;
  int64_t gates, saved;
};

inline constexpr RecurrentCellInfo kRecurrentCellInfos[] = {
#define DTCC_RECURRENT_CELL(NAME, MNEMONIC, GATES, SAVED) {MNEMONIC, GATES, SAVED},
#include "runtime/abi/RecurrentCells.def"
};
inline constexpr uint32_t kRecurrentCells = sizeof(kRecurrentCellInfos) / sizeof(kRecurrentCellInfos[0]);

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_RECURRENTCELL_H
