//===- Registry.cpp - From commands to ops on GPUs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/CudaOps.h"

namespace dtcc::rt::cuda {
namespace {

using Bind = std::unique_ptr<CudaOp> (*)(const CheckedOperands &operands, Rank &rank, Launcher &launcher);

const Bind rows[] = {
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION) bindCudaOp<DTCC_LIB_##NAME>,
#include "runtime/abi/LibraryOps.def"
};

} // namespace

std::unique_ptr<CudaOp> createCudaOp(const dtcc_command &command, Rank &rank, Launcher &launcher) {
  const Image &image = rank.image;
  auto operand = [&](size_t i) -> const dtcc_view & { return image.views()[image.operands(command)[i]]; };
  switch (command.kind) {
  case DTCC_COPY:
    if (image.isOnHost(image.arenas()[operand(0).arena]) || image.isOnHost(image.arenas()[operand(1).arena]))
      return bindHostCopy(operand(0), launcher);
    return bindCopy(operand(0), operand(1), launcher);
  case DTCC_FILL:
    return bindFill(operand(0), image.attributes(command)[0], launcher);
  case DTCC_LIBRARY:
    if (command.op < DTCC_LIB_COUNT)
      return rows[command.op](CheckedOperands(command, rank), rank, launcher);
    fail("command '", image.string(command.name), "': library op must be below ", int{DTCC_LIB_COUNT},
         ", got: ", command.op);
  default:
    fail("command '", image.string(command.name), "' must be a library op, a copy or a fill, got kind: ", command.kind);
  }
}

} // namespace dtcc::rt::cuda
