//===- SaveOnnx.h - The trained model as an ONNX file --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image holds the file that was compiled, without the initializers that became states:
//
//   u64   bytes of the first part
//   ..    fields of ModelProto but `graph`
//   ..    fields of GraphProto but those initializers
//
// and the table of tensors (TensorTable.h) has, under "onnx", a row for each initializer that
// is missing: {"name", "tensor": name in the table, "transposed": true}; or "onnx_problem" says
// why the file cannot be written. What a program adds is a few fields of TensorProto before the
// data: protobuf is not linked into it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEONNX_H
#define DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEONNX_H

#include "runtime/checkpoint/save/SavedTensor.h"

namespace dtcc::rt {

/// Throws Error if this program cannot write its model as ONNX.
void checkOnnx(const SaveOptions &options, const Image &image);

/// Called by all ranks. Data of more than 2 GB, or than --shard-size, lies beside the file in PATH.data.
void saveOnnx(const SaveOptions &options, const Rank &rank, const ModelWeights &weights);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SAVE_SAVEONNX_H
