//===- TunableOp.h - A command that can be computed in several ways -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way is an op with a name: a call of a library, one that leaves the rest to a kernel of
// ours, or kernels of ours alone; and may have several algorithms. The first way that can be
// made is taken unless --tune measures (Tuning.h), and the others are not made.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_DRIVER_TUNABLEOP_H
#define DTCC_RUNTIME_CUDA_DRIVER_TUNABLEOP_H

#include "runtime/cuda/driver/CudaOp.h"
#include "runtime/tuning/Choices.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dtcc::rt::cuda {

class TunableOp final : public CudaOp {
public:
  struct Way {
    /// A word.
    const char *name;
    /// Null if this is no way here. It reserves no more workspace than the first way does: it may be called when that
    /// has been shared out.
    std::function<std::unique_ptr<CudaOp>()> make;
  };
  /// Makes an op that starts with the first way that can be made; null if none can. `library` names the library and its
  /// version. `problem` is one line with everything else that a choice depends on, except the GPU.
  static std::unique_ptr<TunableOp> make(std::string library, std::string problem, std::vector<Way> ways);

  const std::string &library() const { return libraryText; }
  const std::string &problem() const { return problemText; }
  /// Candidates to measure, at most `most` of each way.
  std::vector<Choice> choices(int most);
  /// False if it is none of these, or not here.
  bool choose(const Choice &choice);
  using CudaOp::choose;

  /// The problem, if the current way loads code for it: another problem may choose another algorithm.
  std::string_view loads() const override { return current->loads().empty() ? std::string_view() : problemText; }
  void run(Rank &rank, const Call &call) override { current->run(rank, call); }

private:
  struct Made {
    Way way;
    std::unique_ptr<CudaOp> op;
    bool tried = false;
    CudaOp *get() {
      if (!std::exchange(tried, true))
        op = way.make();
      return op.get();
    }
  };

  std::string libraryText, problemText;
  std::vector<Made> ways;
  CudaOp *current = nullptr; // of one of these
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_DRIVER_TUNABLEOP_H
