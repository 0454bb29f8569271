//===- TableEnums.h - Enumerations of the runtime in text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of runtime/abi/Collectives.def, Reductions.def and RecurrentCells.def are keywords of IR, so that the
// dialects repeat none of these lists.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_TABLEENUMS_H
#define DTCC_DIALECTS_INTERFACES_TABLEENUMS_H

#include "mlir/IR/OpImplementation.h"
#include "runtime/abi/Collectives.h"
#include "runtime/abi/RecurrentCell.h"

namespace dtcc {

/// Parse the mnemonic of a row.
mlir::FailureOr<CollectiveKind> parseCollectiveKind(mlir::AsmParser &parser);
mlir::FailureOr<Reduction> parseReduction(mlir::AsmParser &parser);
mlir::FailureOr<RecurrentCell> parseRecurrentCell(mlir::AsmParser &parser);

inline const RecurrentCellInfo &infoOf(RecurrentCell cell) { return kRecurrentCellInfos[static_cast<uint32_t>(cell)]; }

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_TABLEENUMS_H
