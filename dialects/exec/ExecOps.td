//===- ExecOps.td - All ops of the exec dialect -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/exec/FusedOps.td"
include "dialects/exec/ProgramOps.td"
include "dialects/exec/CommandOps.td"
