//===- DistOps.td - All ops of the dist dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
include "dialects/dist/LayoutOps.td"
include "dialects/dist/CollectiveOps.td"
include "dialects/dist/ExpertOps.td"
include "dialects/dist/ProgramOps.td"
include "dialects/dist/UpdateOps.td"
include "dialects/dist/UnitOps.td"
