//===- TensorTable.h - The model's tensors as users know them - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The states of an image are what a step reads and writes. A user's model has more: second
// names of tied parameters, parameters that the loss does not reach, constant buffers; and
// its file may store a parameter in a narrower type than the step's. The compiler says all
// of it in the image's `tensors`, a JSON object:
//
//   "weights"   the path of dtcc's --weights; absent without one
//   "missing"   true if parameters that --weights lacks start as they would without it
//   "complete"  true if the list below is all that the user's module has
//   "tensors"   [{"name", "aliases": [..], "type": "BF16", "shape": [..], "stored": true}]: type is that of the
//               model's file. A tensor without a state of its name is not used by the step; a `stored` one has its
//               value among the weights that the compiler stored, under its name.
//   "onnx"      see save/SaveOnnx.h
//   "adapters"  see AdapterForms.h
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_TENSORTABLE_H
#define DTCC_RUNTIME_CHECKPOINT_TENSORTABLE_H

#include "runtime/checkpoint/AdapterForms.h"
#include "runtime/core/Elements.h"
#include "runtime/image/Image.h"

#include <optional>
#include <string>
#include <vector>

namespace dtcc::rt {

struct ModelTensor {
  std::string name;
  std::vector<std::string> aliases;
  std::string type; /* safetensors' name */
  std::vector<int64_t> shape;
  /// Null: no command of the step uses it.
  const dtcc_state *state = nullptr;
  bool stored = false;
};

/// Whether nobody trains a parameter, of which the step holds a copy of 16 bits alone.
inline bool isFrozenHalf(const dtcc_state &state) {
  return state.role == DTCC_STATE_PARAMETER && !state.trainable && isFloatType(state.dtype) &&
         dtcc_dtype_size(state.dtype) == 2;
}

class TensorTable {
public:
  /// Throws Error if the image's text is damaged.
  explicit TensorTable(const Image &image);

  const std::vector<ModelTensor> &tensors() const { return rows; }
  const std::string &weights() const { return path; }
  bool missingAllowed() const { return mayMiss; }
  bool isComplete() const { return complete; }
  /// Nothing: the model has none that the export knows.
  const std::optional<AdapterForms> &adapters() const { return forms; }

private:
  std::vector<ModelTensor> rows;
  std::string path;
  std::optional<AdapterForms> forms;
  bool mayMiss = false, complete = false;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_TENSORTABLE_H
