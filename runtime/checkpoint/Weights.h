//===- Weights.h - Whole tensors into a rank's state ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Initial weights come as whole tensors under the model's names and shapes, without padding. Every rank copies only the
// cells that it holds.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H
#define DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/image/Block.h"

namespace dtcc::rt {

/// Copies the cells that `rank` holds of tensor `name`, which is the whole of `state`. Accepts the saved shape or the
/// factored one; floats may be converted to other floats. Throws Error that names the file and the tensor.
void loadWholeTensor(const SafetensorsFile &file, const std::string &name, const Rank &rank, const dtcc_state &state);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H
