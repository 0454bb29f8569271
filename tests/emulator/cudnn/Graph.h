//===- Graph.h - Operations that the emulated cuDNN computes --- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation after the other, each as cuDNN's documentation defines it by itself: nothing
// here knows attention. A tensor of four dimensions has a fifth of size 1 here.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_EMULATOR_CUDNN_GRAPH_H
#define DTCC_TESTS_EMULATOR_CUDNN_GRAPH_H

#include "runtime/cuda/driver/Cudnn.h"
#include "tests/emulator/cuda/Element.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace dtcc::emulator {

namespace dnn = rt::cuda::dnn;

struct DnnTensor {
  int64_t id = -1;
  int type = 0;
  size_t rank = 4;
  std::array<int64_t, 5> sizes = {1, 1, 1, 1, 1}, strides = {1, 1, 1, 1, 1};
  bool isVirtual = false, isValue = false;

  bool operator==(const DnnTensor &) const = default;
  int64_t cells() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; }
  /// Cells from the first to behind the last.
  int64_t span() const;
  /// Element type in memory. Values of bool and i32 are never in memory here, and count as f32.
  Element element() const;
};

struct DnnOperation {
  int kind = 0; ///< the descriptor's
  int mode = 0; ///< of pointwise operations and reductions
  int computeType = 0;
  int64_t axis = -1;
  /// Of convolutions, a number for each spatial dimension.
  std::vector<int64_t> windowStrides, dilations, before, after;
  std::vector<DnnTensor> inputs;
  DnnTensor output;
};

class DnnGraph {
public:
  /// Adds an operation. Returns why it is wrong, alone or after the earlier ones; empty if it is not.
  std::string add(const DnnOperation &operation);

  const std::map<int64_t, DnnTensor> &tensors() const { return known; }
  /// Bytes of halves that are added up over groups of heads.
  int64_t sharedBytes() const;
  /// Whether a product is made in f32 in memory.
  bool addsInMemory() const;
  /// Whether the real library is known to have engines: it makes no f32 by a convolution of halves.
  bool hasEngines() const;
  /// Whether it is a convolution of f32, for which the real library prefers engines that round to TF32.
  bool isFloatConvolution() const;
  /// Computes all. Where tensors in memory and values lie, by their ids. `roundsInputs`: to TF32.
  void run(const std::map<int64_t, char *> &memory, bool roundsInputs) const;

private:
  std::map<int64_t, DnnTensor> known;
  std::map<int64_t, bool> made;
  std::vector<DnnOperation> operations;
};

} // namespace dtcc::emulator

#endif // DTCC_TESTS_EMULATOR_CUDNN_GRAPH_H
