//===- GradNorms.h - The norm of each parameter's gradient -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --grad-norms asks every so many steps for the norms of the gradients, by parameter, of the mean loss and before
// clipping. In such a step the ops that update parameters read their gradients once more, and the ranks add up their
// squares behind the step. Other steps cost nothing, and no memory is planned for it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_HEALTH_GRADNORMS_H
#define DTCC_RUNTIME_LAUNCH_HEALTH_GRADNORMS_H

#include "runtime/image/Rank.h"

#include <string>
#include <utility>
#include <vector>

namespace dtcc::rt {

class GradNorms {
public:
  /// Norms by the names of the parameters, in the order of the program.
  using Named = std::vector<std::pair<std::string, double>>;

  /// `every`: steps; 0 asks for none.
  explicit GradNorms(int64_t every) : every(every) {}

  /// Before a step: asks the rank's commands for squares if the step is one of those.
  void begin(Rank &rank, int64_t step);
  /// After the step, called by all ranks together: the norms of all parameters that train. Empty if begin() did not ask
  /// for them, or a dynamic loss scale left the step out.
  Named end(Rank &rank);

private:
  int64_t every;
  GradSquares squares;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_HEALTH_GRADNORMS_H
