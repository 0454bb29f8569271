//===- SpmdOps.td - All ops and attributes of the spmd dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
include "dialects/spmd/LayoutOps.td"
include "dialects/spmd/CollectiveOps.td"
include "dialects/spmd/ExpertOps.td"
include "dialects/spmd/ProgramOps.td"
include "dialects/spmd/UpdateOps.td"
include "dialects/spmd/UnitOps.td"
include "dialects/spmd/PlanAttrs.td"
