//===- LocalForms.h - How an op on a shard is told its part
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index and decompose factors can be split only where the op has a way to know which
// part it works on. The table of these ways, one row an op: an attribute that takes
// the axes of a dimension of an operand or result. What is not in the table is not
// split in this version (attention over queries and keys, norms, softmax).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_LOCALFORMS_H
#define DTCC_PASSES_SPMD_LAYOUT_LOCALFORMS_H

#include "passes/spmd/layout/Placement.h"

namespace dtcc::spmd {

/// Whether the index or decompose factor `factor` of `op` may be split.
bool hasLocalForm(mlir::Operation *op, const FactorMap &map, int64_t factor);

/// Gives a clone on local tensors its shard: sets the attributes of the table's row, if
/// there is one. `global` is the op on whole tensors that `local` was cloned from.
void setLocalForm(mlir::Operation *local, mlir::Operation *global, const FactorMap &map, const Placement &placement);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_LOCALFORMS_H
