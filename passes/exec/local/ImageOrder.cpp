//===- ImageOrder.cpp - Finds the images that convolutions want with their channels last
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two walks against the order of the program. The first goes from convolutions to what their images are made of. The
// second goes also from what is computed of these images cell by cell, which are images that no convolution reads:
// gradients of scales and the last sum of a network.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/ImageOrder.h"
#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "dialects/spmd/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dtcc::exec {

SmallVector<int64_t> permutationOf(int64_t rank, int64_t channels) {
  SmallVector<int64_t> permutation{0};
  llvm::append_range(permutation, llvm::seq<int64_t>(1 + channels, rank));
  llvm::append_range(permutation, llvm::seq<int64_t>(1, 1 + channels));
  return permutation;
}

std::optional<int64_t> channelsOfReshape(ArrayRef<int64_t> from, int64_t channels, ArrayRef<int64_t> to,
                                         std::optional<int64_t> wanted) {
  if (to.size() < 3 || to[0] != from[0])
    return std::nullopt;
  const int64_t before = llvm::product_of(from.slice(1, channels));
  std::optional<int64_t> least;
  for (int64_t some = 1; some + 1 < int64_t(to.size()); ++some)
    if (llvm::product_of(to.slice(1, some)) == before) {
      if (!wanted || some == *wanted)
        return some;
      least = least.value_or(some);
    }
  return least;
}

namespace {
class ImageDemand {
public:
  void visit(Operation *op);
  WantedImages wanted;

private:
  /// The first reader that is met, the last of the program, says how many dimensions are channels.
  void want(Value value, int64_t channels) {
    if (channels > 0 && channels + 1 < graph::rankOf(value))
      wanted.try_emplace(value, channels);
  }
  template <typename Op> void visitConvolution(Op op, unsigned images) {
    if (graph::isHalf(op->getOperand(0)))
      for (Value image : op->getOperands().take_front(images))
        want(image, graph::rankOf(image) - op.getStrides().size() - 1);
  }
  /// An op that works cell by cell makes an image of an image.
  void visitCells(Operation *op);
  /// The ops below make `value`, an image with `channels` dimensions of channels, and want what they make it of.
  void visitProducer(Operation *op, Value value, int64_t channels);
};

void ImageDemand::visitProducer(Operation *op, Value value, int64_t channels) {
  auto wantAll = [&] {
    for (Value operand : op->getOperands())
      if (graph::rankOf(operand) == graph::rankOf(value))
        want(operand, channels);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<graph::MaxPoolOp, graph::MaxPoolGradOp, graph::ConcatOp, graph::SliceOp, graph::PadOp, graph::BarrierOp,
            spmd::AllReduceOp, spmd::AllGatherOp, spmd::ReduceScatterOp, spmd::AllToAllOp, spmd::LocalSliceOp,
            spmd::ZeroFillOp>([&](Operation *) { wantAll(); })
      .Case([&](graph::ReshapeOp reshape) {
        if (auto before = channelsOfReshape(graph::shapeOf(value), channels, graph::shapeOf(reshape.getX()), {}))
          want(reshape.getX(), *before);
      })
      .Case([&](graph::BroadcastOp broadcast) {
        ArrayRef<int64_t> dims = broadcast.getDims();
        if (int64_t(dims.size()) > channels &&
            llvm::equal(dims.take_front(1 + channels), llvm::seq<int64_t>(0, 1 + channels)))
          want(broadcast.getX(), channels);
      })
      .Case([&](graph::ReduceOp reduce) {
        if (llvm::all_of(reduce.getDims(), [&](int64_t dim) { return dim > channels; }))
          want(reduce.getX(), channels);
      })
      .Case([&](graph::StackOp stack) {
        const int64_t dim = stack.getDim();
        for (Value part : stack.getXs())
          if (dim > 0)
            want(part, dim <= channels ? channels - 1 : channels);
      })
      .Case([&](graph::UnstackOp unstack) {
        const int64_t dim = unstack.getDim();
        if (dim > 0)
          want(unstack.getX(), dim <= channels ? channels + 1 : channels);
      })
      .Case([&](graph::ContractOp contract) {
        auto spec = graph::ContractSpec::parse(contract.getSpec());
        const StringRef cells = StringRef(spec.result).drop_front(1 + channels);
        for (auto [operand, term] : {std::pair(contract.getLhs(), spec.lhs), std::pair(contract.getRhs(), spec.rhs)})
          if (term[0] == spec.result[0] && StringRef(term).ends_with(cells))
            want(operand, term.size() - 1 - cells.size());
      })
      .Case([&](graph::ElementwiseOpInterface) { wantAll(); })
      .Default([](Operation *) {});
}

void ImageDemand::visitCells(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto found = wanted.find(operand); found != wanted.end() && op->getNumResults() > 0) {
      const int64_t channels = found->second;
      if (graph::rankOf(op->getResult(0)) == graph::rankOf(operand))
        want(op->getResult(0), channels);
      return;
    }
}

void ImageDemand::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](graph::ConvolutionOp conv) { visitConvolution(conv, 1); })
      .Case([&](graph::ConvolutionInputGradOp conv) { visitConvolution(conv, 1); })
      .Case([&](graph::ConvolutionKernelGradOp conv) { visitConvolution(conv, 2); })
      .Default([&](Operation *) {
        if (isa<graph::ElementwiseOpInterface>(op))
          visitCells(op);
        for (Value result : op->getResults())
          if (auto found = wanted.find(result); found != wanted.end())
            visitProducer(op, result, found->second);
      });
}
} // namespace

WantedImages findWantedImages(Block &block) {
  ImageDemand demand;
  for (unsigned walk = 0; walk < 2; ++walk)
    for (Operation &op : llvm::reverse(block))
      demand.visit(&op);
  return std::move(demand.wanted);
}

} // namespace dtcc::exec
