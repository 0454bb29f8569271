//===- ParseJson.cpp - JSON that anybody may have written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/ParseJson.h"
#include "runtime/abi/JsonNesting.h"

namespace dtcc {

llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  size_t deep = findJsonTooDeep(text);
  if (deep == std::string_view::npos)
    return llvm::json::parse(text);
  llvm::StringRef before = text.take_front(deep);
  size_t line = before.count('\n') + 1, column = deep - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError("[%zu:%zu, byte=%zu]: lists and objects must lie at most %d deep", line, column, deep,
                                 kMostJsonNesting);
}

} // namespace dtcc
