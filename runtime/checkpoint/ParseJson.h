//===- ParseJson.h - JSON that anybody may have written -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers of safetensors files and manifests of checkpoints come from outside. The library reads values that lie any
// number deep inside of each other, and then calls itself for each level to print or to free them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_PARSEJSON_H
#define DTCC_RUNTIME_CHECKPOINT_PARSEJSON_H

#include "runtime/abi/JsonNesting.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dtcc::rt {

/// Whether lists and objects of `text` nest deeper than kMostJsonNesting.
inline bool isNestedTooDeep(std::string_view text) { return findJsonTooDeep(text) != std::string_view::npos; }

/// The value of a text that is not nested too deep, or a discarded one where it is not JSON.
template <typename Json> Json parseJson(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

/// At most the first hundred characters of a value, for messages.
template <typename Json> std::string shortText(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 100 ? text.substr(0, 100) + ".." : text;
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_PARSEJSON_H
