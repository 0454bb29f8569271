//===- Registry.cpp - From LibraryOps.def to implementations -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {
namespace {

struct Row {
  const char *mnemonic;
  std::unique_ptr<LibraryOp> (*bind)(const dtcc_command &command, Rank &rank);
};

/// Stands for the implementation of an op that has none.
std::unique_ptr<LibraryOp> refuse(const dtcc_command &command, Rank &rank) {
  CheckedOperands(command, rank).reject("is an op of GPUs, and the program computes on processors");
}

const Row rows[] = {
#define DTCC_GPU_OP(NAME, MNEMONIC, DESCRIPTION) {MNEMONIC, refuse},
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION) {MNEMONIC, bindLibraryOp<DTCC_LIB_##NAME>},
#include "runtime/abi/LibraryOps.def"
};

} // namespace

const char *libraryOpMnemonic(uint32_t op) { return op < DTCC_LIB_COUNT ? rows[op].mnemonic : "unknown"; }

std::unique_ptr<LibraryOp> createLibraryOp(const dtcc_command &command, Rank &rank) {
  if (command.op >= DTCC_LIB_COUNT)
    fail("command '", rank.image.string(command.name), "': library op must be below ", int{DTCC_LIB_COUNT},
         ", got: ", command.op);
  return rows[command.op].bind(command, rank);
}

} // namespace dtcc::rt
