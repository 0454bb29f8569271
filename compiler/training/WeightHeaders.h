//===- WeightHeaders.h - What a checkpoint holds -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, types and shapes of a safetensors file, or of a folder of shards with their index, by
// the headers alone. The runtime's SafetensorsFile checks files again, and more closely, before
// it reads their data.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_WEIGHTHEADERS_H
#define DTCC_COMPILER_TRAINING_WEIGHTHEADERS_H

#include "runtime/abi/WeightNames.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace dtcc {

/// Headers of tensors, by name. An error names the file and says what is wrong with it.
llvm::Expected<std::map<std::string, HeldTensor>> readWeightHeaders(llvm::StringRef path);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_WEIGHTHEADERS_H
