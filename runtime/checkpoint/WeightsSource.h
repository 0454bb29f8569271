//===- WeightsSource.h - The tensors of --weights ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One safetensors file, or the shards of a folder, as one table of tensors by name. The
// headers of all shards are read when it is made; data is mapped, and only the pages that
// somebody reads are loaded. One source serves all ranks of a process.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CHECKPOINT_WEIGHTSSOURCE_H
#define DTCC_RUNTIME_CHECKPOINT_WEIGHTSSOURCE_H

#include "runtime/checkpoint/Safetensors.h"

namespace dtcc::rt {

/// A tensor and the file that holds it.
struct SourceTensor {
  const SafetensorsFile *file;
  const SafetensorsEntry *entry;
};

class WeightsSource {
public:
  /// Opens a file, or a folder with an index. Throws Error that names the path and what is wrong with it.
  explicit WeightsSource(const std::string &path);

  const std::string &path() const { return name; }
  const std::map<std::string, SourceTensor> &tensors() const { return table; }
  /// Throws Error if there is no such tensor.
  const SourceTensor &find(const std::string &tensor) const;
  /// The folder of config.json and its like: `path` itself, or empty for a file.
  std::string folder() const;

private:
  void readIndex(const std::string &index);

  std::string name;
  std::vector<SafetensorsFile> files;
  std::map<std::string, SourceTensor> table;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CHECKPOINT_WEIGHTSSOURCE_H
