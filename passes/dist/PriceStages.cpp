//===- PriceStages.cpp - What a ZeRO stage costs in time and memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/PriceStages.h"
#include "dialects/graph/Graph.h"
#include "passes/cost/BucketSize.h"
#include "passes/dist/Units.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtcc::dist {

UnitSizes unitSizes(ModuleOp module, func::FuncOp step) {
  std::vector<UnitMember> members;
  llvm::StringSet<> known;
  double total = 0;
  // In the order of the text, which is that of the first use or near it.
  step.walk([&](graph::ReadOp read) {
    auto state = module.lookupSymbol<graph::StateOp>(read.getState());
    if (!state || !state.getTrainable() || !known.insert(read.getState()).second)
      return;
    UnitMember member{read.getState().str(), "", 0};
    auto type = cast<ShapedType>(state.getType());
    member.bytes = double(type.getNumElements()) * ((type.getElementTypeBitWidth() + 7) / 8);
    llvm::raw_string_ostream(member.signature) << Type(type);
    for (Operation *user : read->getUsers())
      llvm::raw_string_ostream(member.signature) << user->getName();
    total += member.bytes;
    members.push_back(std::move(member));
  });
  if (members.empty() || total <= 0)
    return {};
  std::vector<size_t> numbers = unitsByBlock(members, cost::kLatencyBytes);
  std::vector<double> sizes(numbers.back() + 1);
  for (size_t i = 0; i < members.size(); ++i)
    sizes[numbers[i]] += members[i].bytes / total;
  UnitSizes result{double(sizes.size()), 0, 0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    result.largest = std::max(result.largest, sizes[i]);
    result.largestPair = std::max(result.largestPair, sizes[i] + (i ? sizes[i - 1] : 0));
  }
  return result;
}

StagePrice priceStage(int64_t stage, double parameterBytes, double gradientBytes, int64_t slots, int64_t ranks,
                      int64_t microbatches, const UnitSizes &units, const cost::Machine &machine) {
  const StateRow &row = stateRow(stage);
  StateBytes ofGradients = stateBytes(stage, gradientBytes, slots, ranks);
  StagePrice price;
  price.bytes = {stateBytes(stage, parameterBytes, slots, ranks).parameters, ofGradients.gradients, ofGradients.slots};
  if (ranks == 1)
    return price;
  if (row.compute)
    price.bytes.parameters += units.largestPair * parameterBytes;
  if (row.gradient)
    price.bytes.gradients += units.largest * gradientBytes;
  double whole = gradientBytes > 0 ? gradientBytes / cost::bucketBytes(gradientBytes, cost::kLatencyBytes) : 0;
  double buckets = row.gradient ? units.units : std::max(1.0, whole), m = double(microbatches);
  // Passes of all gradients or parameters around the ring: reductions, then gathers.
  double reductions = row.gradient ? m : 1, gathers = row.compute ? 2 * m : 1;
  double sent = double(ranks - 1) / double(ranks) * (reductions * gradientBytes + gathers * parameterBytes);
  price.seconds = sent / machine.linkBytesPerSecond + (reductions + gathers) * buckets * machine.latencySeconds;
  return price;
}

} // namespace dtcc::dist
