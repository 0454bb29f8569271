//===- TunableOp.cpp - A command that can be computed in several ways -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/driver/TunableOp.h"

#include <algorithm>

namespace dtcc::rt::cuda {

std::unique_ptr<TunableOp> TunableOp::make(std::string library, std::string problem, std::vector<Way> ways) {
  std::unique_ptr<TunableOp> op(new TunableOp);
  op->libraryText = std::move(library), op->problemText = std::move(problem);
  for (Way &way : ways) {
    Made &made = op->ways.emplace_back(Made{std::move(way), nullptr});
    if (!op->current)
      op->current = made.get();
  }
  return op->current ? std::move(op) : nullptr;
}

std::vector<Choice> TunableOp::choices(int most) {
  std::vector<Choice> all;
  for (Made &each : ways)
    if (CudaOp *op = each.get())
      for (const LibraryAlgorithm &algorithm : op->algorithms(most))
        all.push_back({each.way.name, algorithm});
  return all;
}

bool TunableOp::choose(const Choice &choice) {
  auto way = std::ranges::find(ways, choice.way, [](const Made &each) { return std::string_view(each.way.name); });
  CudaOp *op = way == ways.end() ? nullptr : way->get();
  if (!op || !op->choose(choice.algorithm))
    return false;
  current = op;
  return true;
}

} // namespace dtcc::rt::cuda
