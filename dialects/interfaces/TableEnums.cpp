//===- TableEnums.cpp - Enumerations of the runtime in text
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/TableEnums.h"
#include "llvm/ADT/StringExtras.h"
#include <string>

using namespace mlir;

/// Parses a keyword that `find` knows; `all` lists the mnemonics of the table.
template <typename Find>
static auto parseRow(AsmParser &parser, StringRef what, ArrayRef<std::string_view> all, Find &&find)
    -> FailureOr<typename decltype(find(std::string_view()))::value_type> {
  SMLoc start = parser.getCurrentLocation();
  std::string keyword;
  if (parser.parseKeywordOrString(&keyword))
    return failure();
  if (auto row = find(keyword))
    return *row;
  return parser.emitError(start) << what << " must be one of " << llvm::join(all, ", ") << ", got: " << keyword;
}

FailureOr<dtcc::CollectiveKind> dtcc::parseCollectiveKind(AsmParser &parser) {
  SmallVector<std::string_view> all;
  for (const CollectiveInfo &info : kCollectiveInfos)
    all.push_back(info.mnemonic);
  return parseRow(parser, "collective", all, findCollective);
}

FailureOr<dtcc::Reduction> dtcc::parseReduction(AsmParser &parser) {
  return parseRow(parser, "reduction", kReductionNames, findReduction);
}

FailureOr<dtcc::RecurrentCell> dtcc::parseRecurrentCell(AsmParser &parser) {
  SmallVector<std::string_view> all;
  for (const RecurrentCellInfo &info : kRecurrentCellInfos)
    all.push_back(info.mnemonic);
  return parseRow(parser, "recurrent cell", all, [&](std::string_view keyword) {
    auto row = llvm::find(all, keyword);
    return row == all.end() ? std::nullopt : std::optional(static_cast<RecurrentCell>(row - all.begin()));
  });
}
