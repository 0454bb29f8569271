//===- HubConfig.h - The sizes of a transformer in its config.json
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HUBCONFIG_H
#define DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HUBCONFIG_H

#include "planner/transformer/Transformer.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace dtcc {

/// Whether the text of --transformer names a config.json, or a folder that has one, and not sizes.
bool isHubConfig(llvm::StringRef text);

/// Reads "FOLDER", "config.json" or "config.json,sequence=8192": a configuration that transformers wrote, and sizes
/// that replace its own. The family (model_type) must be a decoder whose layers this knows; an error names those, or
/// the key that is missing. The length of a sequence must be given where the model takes more than 8,192 positions,
/// because people do not train with its longest.
llvm::Expected<cost::Transformer> readHubConfig(llvm::StringRef text);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_ARGUMENTS_HUBCONFIG_H
