//===- PlanOption.cpp - The ranks that --plan names
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/PlanOption.h"
#include "dialects/interfaces/ParseJson.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
namespace json = llvm::json;

std::optional<int64_t> dtcc::ranksOfPlanFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  llvm::Expected<json::Value> value = dtcc::parseJson(buffer ? (*buffer)->getBuffer() : "");
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *mesh = object ? object->getArray("mesh") : nullptr;
  if (!mesh)
    return std::nullopt;
  int64_t ranks = 1;
  for (const json::Value &axis : *mesh)
    if (const json::Object *fields = axis.getAsObject(); fields && fields->getString("kind") != "time")
      if (llvm::MulOverflow(ranks, std::max<int64_t>(1, fields->getInteger("size").value_or(1)), ranks))
        return std::nullopt;
  return ranks;
}
