//===- Checkpoint.h - The parameters of ONNX Runtime's training artifacts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flatbuffer with the identifier ODTC. Of its tables these are read, by the numbers of
// their fields:
//
//   Checkpoint   1: module_state ModuleState, 2: optimizer_groups [OptimizerGroup]
//   ModuleState  0: requires_grad_params [Tensor], 1: frozen_params [Tensor]
//   Tensor       0: name, 2: dims [int64], 3: data_type int32, 4: raw_data [byte]
//
// Values are not copied: a tensor says where in the file they lie, as external data does.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_TRAINING_CHECKPOINT_H
#define DTCC_FRONTENDS_ONNX_TRAINING_CHECKPOINT_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace dtcc::onnx {

struct CheckpointTensor {
  std::string name;
  std::vector<int64_t> dims;
  /// TensorProto's number of the element type.
  int32_t type = 0;
  /// Position and size of the values in the file.
  int64_t offset = 0, bytes = 0;
};

struct Checkpoint {
  std::vector<CheckpointTensor> trainable, frozen;
  /// Whether the checkpoint holds moments and a step count, which are not read.
  bool hasOptimizerState = false;
};

/// Reads the file at `path`. Every offset and length in it is checked. Failure after one message at `loc`.
mlir::FailureOr<Checkpoint> readCheckpoint(llvm::StringRef path, mlir::Location loc);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_TRAINING_CHECKPOINT_H
