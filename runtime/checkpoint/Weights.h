//===- Weights.h - Whole parameters, loaded and saved --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--save` and the initial weights: one safetensors file with whole tensors under the
// model's names and shapes, without padding. Every rank copies only the cells that it
// holds.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H
#define DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/image/Block.h"

namespace dtcc::rt {

/// Copies the cells that `rank` holds of the state's whole tensor. Accepts the saved
/// shape or the factored one; floats may be converted to other floats. Throws Error
/// that names the file and the tensor.
void loadWholeTensor(const SafetensorsFile &file, const Rank &rank, const dtcc_state &state);

/// Writes parameters and buffers to `path`. Called by all ranks; each writes the
/// cells that it owns.
void saveWholeTensors(const std::string &path, const Rank &rank);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_WEIGHTS_H
