//===- Save.h - --save ---------------------------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trained model in one of three forms, chosen by the path:
//
//   FILE         one safetensors file with the states of the program
//   FOLDER/      safetensors as Hugging Face's tools read it: shards and an index, every name that the
//                module has, and the small files of the --weights folder (config.json, the tokenizer's)
//   FILE.onnx    the ONNX file that was compiled, with the trained parameters
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_SAVE_SAVE_H
#define DTCC_RUNTIME_CHECKPOINT_SAVE_SAVE_H

#include "runtime/checkpoint/save/SavedTensor.h"

namespace dtcc::rt {

/// Checks before the run that this program can be saved in this form. Throws Error.
void checkSave(const SaveOptions &options, const Image &image, const ModelWeights &weights);

/// Called by all ranks, with the states in the host's memory.
void saveModel(const SaveOptions &options, const Rank &rank, const ModelWeights &weights);

/// The form of a folder.
void saveFolder(const SaveOptions &options, const Rank &rank, const ModelWeights &weights);

/// A safetensors file of these tensors. Called by all ranks.
void writeSafetensors(const std::string &path, const std::vector<SavedTensor> &tensors, const Rank &rank,
                      bool rename = true);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_SAVE_SAVE_H
