//===- ParseJson.h - JSON that anybody may have written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's JSON parser calls itself for what lies inside of lists and objects: a small file of brackets exhausts its
// stack. Every reader of JSON from outside (plans, metadata of models, profiles) parses by this function. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_PARSEJSON_H
#define DTCC_DIALECTS_INTERFACES_PARSEJSON_H

#include "llvm/Support/JSON.h"

namespace dtcc {

/// The value that `text` holds. The error of a text that is none, or lies too deep, has line and column in front, as
/// those of llvm::json::parse. Takes time and memory by the length of the text.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_PARSEJSON_H
