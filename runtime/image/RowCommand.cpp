//===- RowCommand.cpp - The exchange of rows of a command ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/RowCommand.h"

namespace dtcc::rt {

RowExchange rowExchangeOf(const dtcc_command &command, const Image &image) {
  auto operands = image.operands(command);
  auto attributes = image.attributes(command);
  const dtcc_view &rows = image.views()[operands[RowOperands::rows]];
  const dtcc_view &ids = image.views()[operands[RowOperands::picks]];
  RowExchange exchange;
  exchange.members = image.mesh().sizeOf(image.communicators()[command.communicator]);
  exchange.picks = ids.sizes[ids.rank - 1];
  exchange.tokens = elementCount(ids) / exchange.picks / exchange.members;
  exchange.room = attributes.size() > 1 ? attributes[1] : 0;
  exchange.combines = command.op == DTCC_COMBINE_ROWS;
  exchange.experts = attributes[0];
  exchange.columns = rows.sizes[rows.rank - 1];
  exchange.type = static_cast<dtcc_dtype>(rows.dtype);
  exchange.idType = static_cast<dtcc_dtype>(ids.dtype);
  return exchange;
}

} // namespace dtcc::rt
