//===- CudnnGraph.h - Operations that cuDNN is to fuse -------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN's backend API takes descriptors: tensors, operations between them, a graph of these,
// an engine that its heuristic knows for the graph, a plan of the engine. A graph is described
// here once and planned for a GPU, or for the properties of one that is not there.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_CUDNNGRAPH_H
#define DTCC_RUNTIME_CUDA_DRIVER_CUDNNGRAPH_H

#include "runtime/cuda/driver/Cudnn.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtcc::rt::cuda {

/// Thrown when cuDNN does not support a graph. This is no error: the program goes on with its own kernel.
struct CudnnRefusal {
  std::string reason;
};

/// A descriptor; what is set is checked by the library. Throws CudnnRefusal.
class CudnnDescriptor {
public:
  explicit CudnnDescriptor(int kind);
  CudnnDescriptor(CudnnDescriptor &&other) noexcept : descriptor(std::exchange(other.descriptor, nullptr)) {}
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~CudnnDescriptor();

  void set(int attribute, int type, int64_t count, const void *values);
  template <typename T> void set(int attribute, int type, const T &value) { set(attribute, type, 1, &value); }
  void set(int attribute, const CudnnDescriptor &value) { set(attribute, dnn::kDnnDescriptor, value.descriptor); }
  void finalize();
  void *get() const { return descriptor; }

private:
  void *descriptor = nullptr;
};

/// The GPU that a plan is made for: that of a handle, or one with these properties (CUDNN_ATTR_DEVICEPROP). The second
/// form needs no GPU, and its plan cannot be executed.
struct CudnnTarget {
  void *handle = nullptr;
  const CudnnDescriptor *properties = nullptr;
};

/// A way to compute a graph.
struct CudnnPlan {
  CudnnDescriptor descriptor;
  int64_t workspaceBytes = 0;
  int64_t engine = 0; ///< the library's number of it
};

/// Everything has four dimensions, except the tensors of convolutions over volumes, which have five.
using CudnnSizes = std::array<int64_t, 4>;

/// How the windows of a convolution lie, a number for each spatial dimension: two or three. `before` and `after` are
/// cells of padding.
struct CudnnWindows {
  std::vector<int64_t> strides, dilations, before, after;
};

class CudnnGraph {
public:
  /// Tensors are numbers from 1; cuDNN has the same as their unique ids.
  using Tensor = int64_t;

  /// A tensor in memory, whose address is an argument of execute and aligned to 16 bytes.
  Tensor memory(int type, const CudnnSizes &sizes, const CudnnSizes &strides) {
    return memory(type, std::span<const int64_t>(sizes), std::span<const int64_t>(strides));
  }
  Tensor memory(int type, std::span<const int64_t> sizes, std::span<const int64_t> strides);
  /// A number that the caller holds.
  Tensor value(float number);
  Tensor value(int32_t number);
  /// Between operations.
  Tensor between(int type, const CudnnSizes &sizes);
  /// A tensor between two operations, with strides: they tell a transposed view from a copy.
  Tensor between(int type, const CudnnSizes &sizes, const CudnnSizes &strides);

  void matmul(Tensor a, Tensor b, Tensor c);
  /// y = mode(x), mode(x, b), or of a selection t ? x : b.
  void pointwise(int mode, int computeType, std::initializer_list<Tensor> operands, Tensor y,
                 std::optional<int64_t> axis = std::nullopt);
  /// Over the dimensions in which y has size 1.
  void reduce(int op, Tensor x, Tensor y);
  /// Views the cells of x with y's sizes and strides.
  void reshape(Tensor x, Tensor y);
  /// A convolution of x with kernel w to y, or one of its gradients: kForward makes y, kDataGrad x and kFilterGrad w.
  /// The library infers the number of groups from the channels of x and w.
  void convolution(int kind, Tensor x, Tensor w, Tensor y, const CudnnWindows &windows);

  /// Passes over engines with this numerical note (CUDNN_NUMERICAL_NOTE_..).
  void avoid(int note) { avoided.push_back(note); }

  /// Returns at most `most` plans, in the order of the library's heuristic, with at most `mostWorkspace` bytes.
  /// Throws CudnnRefusal with the reason of the last engine if there is none.
  std::vector<CudnnPlan> plans(const CudnnTarget &target, int64_t mostWorkspace, size_t most);
  /// Enqueues a plan. `addresses`: of each tensor in memory, in the order of memory().
  void execute(void *handle, const CudnnPlan &plan, const std::vector<void *> &addresses, void *workspace);

private:
  Tensor add(int type, std::span<const int64_t> sizes, std::span<const int64_t> strides, bool isVirtual, bool isValue);
  void addOperation(CudnnDescriptor operation);
  const CudnnDescriptor &of(Tensor tensor) const { return tensors[static_cast<size_t>(tensor) - 1]; }

  std::vector<CudnnDescriptor> tensors, operations, modes;
  std::vector<Tensor> inMemory;
  std::vector<int> avoided; // numerical notes
  struct Value {
    Tensor tensor;
    uint32_t bits;
  };
  std::vector<Value> values;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_CUDNNGRAPH_H
