//===- RowCommand.h - The exchange of rows of a command -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_ROWCOMMAND_H
#define DTCC_RUNTIME_IMAGE_ROWCOMMAND_H

#include "runtime/collective/RowExchange.h"
#include "runtime/image/Image.h"

namespace dtcc::rt {

/// Decodes a dispatch_rows or combine_rows. The command has its operands and attributes, and at least one pick a token.
RowExchange rowExchangeOf(const dtcc_command &command, const Image &image);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_ROWCOMMAND_H
