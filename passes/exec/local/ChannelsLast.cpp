//===- ChannelsLast.cpp - Images lie with their channels last
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in program order. What a convolution of 16-bit images makes is transposed to [n, s.., c],
// and ops that read it are rewritten to read that form and to make it. A value that has such a form
// is the transpose of it, for all who do not know the form. Transposes are views: one that is left
// costs a copy only where its reader needs dense memory. Products whose results convolutions read
// make them in the form; a transpose of channels behind cells, or back, is a change of forms.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/exec/Passes.h"
#include "passes/exec/local/ImageOrder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_CHANNELSLAST
#include "passes/exec/Passes.h.inc"
#include <tuple>
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// An image, and the same cells with the channels last.
struct Form {
  Value last;
  int64_t channels; // dimensions of channels
};

class ImageForms {
public:
  explicit ImageForms(WantedImages wanted) : wanted(std::move(wanted)) {}
  void visit(Operation *op);

private:
  const Form *formOf(Value value) const {
    auto found = forms.find(value);
    return found == forms.end() ? nullptr : &found->second;
  }
  /// Dimensions of channels with which convolutions read the value.
  std::optional<int64_t> wantedChannels(Value value) const {
    auto found = wanted.find(value);
    return found == wanted.end() ? std::nullopt : std::optional(found->second);
  }
  /// The type of the form of `value`.
  RankedTensorType lastType(Value value, int64_t channels) const {
    return graph::withShape(value.getType(),
                            permuted(graph::shapeOf(value), permutationOf(graph::rankOf(value), channels)));
  }
  /// The form of the first operand that has one.
  const Form *formOfOperands(Operation *op) const;
  /// Whether the value is made of broadcasts, or equal cells, alone.
  bool isOfBroadcasts(Value value);
  /// `value` with `channels` dimensions of channels last, made in front of `at`.
  Value lastOf(Value value, int64_t channels, Operation *at);
  /// Lets all readers of `value` know its form.
  void keep(Value value, Value last, int64_t channels);

  template <typename Op> void visitConvolution(Op op, unsigned images, bool makesImage);
  template <typename Op> void visitPool(Op op);
  /// The form of the first result of an op that works cell by cell.
  Value makeCells(Operation *op, int64_t channels);
  void visitCells(Operation *op);
  void visitReduce(graph::ReduceOp op);
  void visitContract(graph::ContractOp op);
  void visitTranspose(graph::TransposeOp op);
  void visitReshape(graph::ReshapeOp op);
  void visitBroadcast(graph::BroadcastOp op);
  void visitConcat(graph::ConcatOp op);
  void visitStack(graph::StackOp op);
  void visitUnstack(graph::UnstackOp op);
  /// Slices, pads and collectives: ops of one image whose attributes have an entry a dimension, or name dimensions.
  void visitBox(Operation *op);

  const WantedImages wanted;
  /// Forms by the values that are transposes of them.
  llvm::DenseMap<Value, Form> forms;
  llvm::DenseMap<Value, bool> ofBroadcasts;
};

void ImageForms::keep(Value value, Value last, int64_t channels) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(last);
  const SmallVector<int64_t> inverse = invertPermutationVector(permutationOf(graph::rankOf(value), channels));
  auto seen = graph::TransposeOp::create(builder, value.getLoc(), value.getType(), last, inverse);
  value.replaceUsesWithIf(seen, [&](OpOperand &use) { return use.getOwner() != last.getDefiningOp(); });
  forms[seen] = {last, channels};
}

const Form *ImageForms::formOfOperands(Operation *op) const {
  for (Value operand : op->getOperands())
    if (const Form *form = formOf(operand))
      return form;
  return nullptr;
}

bool ImageForms::isOfBroadcasts(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<graph::BroadcastOp>(op) || graph::splatValue(value))
    return true;
  if (!isa_and_nonnull<graph::ElementwiseOpInterface>(op) || op->getNumOperands() == 0)
    return false;
  // Known at the second visit: a value may be read by many that lead to it.
  if (auto known = ofBroadcasts.find(value); known != ofBroadcasts.end())
    return known->second;
  return ofBroadcasts[value] = llvm::all_of(op->getOperands(), [&](Value operand) { return isOfBroadcasts(operand); });
}

Value ImageForms::lastOf(Value value, int64_t channels, Operation *at) {
  if (const Form *form = formOf(value); form && form->channels == channels)
    return form->last;
  // A value that has one number a channel, or a sample, is made in the form at once.
  if (isOfBroadcasts(value) && isa<graph::ElementwiseOpInterface>(value.getDefiningOp()))
    return makeCells(value.getDefiningOp(), channels);
  OpBuilder builder(at);
  graph::Build b(builder, at->getLoc());
  const SmallVector<int64_t> permutation = permutationOf(graph::rankOf(value), channels);
  const RankedTensorType type = lastType(value, channels);
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return graph::ConstantOp::create(builder, at->getLoc(), type, splat.resizeSplat(type));
  if (auto broadcast = value.getDefiningOp<graph::BroadcastOp>()) {
    Value small = broadcast.getX();
    SmallVector<int64_t> places(broadcast.getDims()), dims, order;
    // `dims` holds the dimension of the small operand that stands at each place of the result.
    auto place = [&] {
      dims.clear(), order.clear();
      for (auto [to, from] : llvm::enumerate(permutation))
        if (auto found = llvm::find(places, from); found != places.end()) {
          dims.push_back(to);
          order.push_back(found - places.begin());
        }
    };
    place();
    // An operand that is itself a broadcast, as of a number, is not transposed: what it repeats is repeated at once.
    while (!llvm::is_sorted(order)) {
      auto inner = small.getDefiningOp<graph::BroadcastOp>();
      if (!inner)
        break;
      places = permuted(ArrayRef(places), inner.getDims());
      small = inner.getX();
      place();
    }
    Value made = b.broadcast(b.transpose(small, order), type, dims);
    made.getDefiningOp()->setDiscardableAttrs(broadcast->getDiscardableAttrDictionary());
    return made;
  }
  return b.transpose(value, permutation);
}

template <typename Op> void ImageForms::visitConvolution(Op op, unsigned images, bool makesImage) {
  const int64_t rank = graph::rankOf(op->getOperand(0)), spatial = op.getStrides().size();
  const int64_t channels = rank - spatial - 1;
  if (!graph::isHalf(op->getOperand(0)))
    return;
  for (unsigned i = 0; i < images; ++i) {
    Value image = op->getOperand(i);
    if (formOf(image))
      continue;
    // A cast of an input can write it with its channels last; other images are copied.
    auto cast = image.getDefiningOp<graph::CastOp>();
    if (!cast || cast->getBlock() != op->getBlock())
      continue;
    OpBuilder builder(cast);
    Value last = lastOf(cast.getX(), channels, cast);
    auto made =
        graph::CastOp::create(builder, cast.getLoc(), graph::withShape(image.getType(), graph::shapeOf(last)), last);
    made->setDiscardableAttrs(cast->getDiscardableAttrDictionary());
    keep(image, made, channels);
  }
  if (!makesImage)
    return;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  keep(result, graph::Build(builder, op.getLoc()).transpose(result, permutationOf(rank, channels)), channels);
}

template <typename Op> void ImageForms::visitPool(Op op) {
  const int64_t rank = graph::rankOf(op->getOperand(0)), spatial = op.getStrides().size();
  const Form *form = formOfOperands(op);
  if (!form || form->channels != 1 || rank != spatial + 2)
    return;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  keep(result, graph::Build(builder, op.getLoc()).transpose(result, permutationOf(rank, 1)), 1);
}

Value ImageForms::makeCells(Operation *op, int64_t channels) {
  const int64_t rank = graph::rankOf(op->getResult(0));
  SmallVector<Value> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(graph::rankOf(op->getOperand(i)) == rank ? lastOf(op->getOperand(i), channels, op)
                                                                : op->getOperand(i));
  OpBuilder builder(op);
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  for (auto [result, last] : llvm::zip_equal(op->getResults(), made->getResults())) {
    last.setType(lastType(result, channels));
    keep(result, last, channels);
  }
  return made->getResult(0);
}

void ImageForms::visitCells(Operation *op) {
  if (const Form *form = formOfOperands(op)) {
    if (graph::rankOf(form->last) == graph::rankOf(op->getResult(0)))
      makeCells(op, form->channels);
    return;
  }
  // Cells of broadcasts have any form for nothing.
  if (auto channels = wantedChannels(op->getResult(0)); channels && isOfBroadcasts(op->getResult(0)))
    makeCells(op, *channels);
}

void ImageForms::visitReduce(graph::ReduceOp op) {
  const Form *form = formOf(op.getX());
  if (!form)
    return;
  const int64_t rank = graph::rankOf(op.getX());
  const SmallVector<int64_t> permutation = permutationOf(rank, form->channels);
  OpBuilder builder(op);
  Value last = form->last;
  // Sums `dims` of the form; `left` are the dimensions of the value that are left. A sum of halves is rounded once.
  SmallVector<int64_t> left(permutation);
  auto type = cast<RankedTensorType>(op.getType());
  auto sum = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape, rest;
    for (auto [at, dim] : llvm::enumerate(left))
      if (!llvm::is_contained(dims, int64_t(at))) {
        shape.push_back(graph::shapeOf(last)[at]);
        rest.push_back(dim);
      }
    auto made = graph::ReduceOp::create(builder, op.getLoc(), graph::withShape(type, shape), op.getKind(), last, dims);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    last = made, left = rest;
  };
  SmallVector<int64_t> dims;
  for (auto [at, dim] : llvm::enumerate(permutation))
    if (llvm::is_contained(op.getDims(), dim))
      dims.push_back(at);
  // A sum over cells and the channels of a group is one over the cells, whose columns are all channels side by side,
  // and a small one over channels.
  int64_t inner = dims.size();
  const bool sumsRows = dims.empty() || rank - dims.front() == int64_t(dims.size());
  while (inner > 0 && dims[inner - 1] >= rank - form->channels)
    --inner;
  if (!sumsRows && inner > 0 && inner < int64_t(dims.size())) {
    if (graph::isHalf(op.getY()) && op.getKind() == Reduction::Sum)
      type = cast<RankedTensorType>(type.clone(builder.getF32Type()));
    sum(ArrayRef(dims).take_front(inner));
    // The other dimensions have moved forward by as many as are summed.
    dims.erase(dims.begin(), dims.begin() + inner);
    for (int64_t &dim : dims)
      dim -= inner;
  }
  sum(dims);
  if (type != op.getType()) {
    auto made = graph::CastOp::create(builder, op.getLoc(), graph::withShape(op.getType(), graph::shapeOf(last)), last);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    last = made;
  }
  // A sum that leaves samples, channels and cells leaves an image.
  const int64_t channels = llvm::count_if(left, [&](int64_t dim) { return dim > 0 && dim <= form->channels; });
  if (channels > 0 && left[0] == 0 && channels + 1 < int64_t(left.size())) {
    keep(op.getY(), last, channels);
    return;
  }
  SmallVector<int64_t> sorted = llvm::to_vector(llvm::seq<int64_t>(0, left.size()));
  llvm::sort(sorted, [&](int64_t a, int64_t b) { return left[a] < left[b]; });
  op.getY().replaceAllUsesWith(graph::Build(builder, op.getLoc()).transpose(last, sorted));
}

void ImageForms::visitContract(graph::ContractOp op) {
  auto spec = graph::ContractSpec::parse(op.getSpec());
  const Form *lhs = formOf(op.getLhs()), *rhs = formOf(op.getRhs());
  // Dimensions of channels of the result, if it is made in the form: if a convolution wants it so, or if it is like an
  // image that is read, with the same samples and cells in the same places and other channels. The other operand is
  // a kernel then, the same for all samples.
  int64_t channels = wantedChannels(op.getY()).value_or(0);
  for (auto [form, term, other] : {std::tuple(lhs, spec.lhs, spec.rhs), std::tuple(rhs, spec.rhs, spec.lhs)}) {
    if (!form || channels || other.find(term[0]) != std::string::npos)
      continue;
    const std::string cells = term.substr(1 + form->channels);
    if (term[0] == spec.result[0] && spec.result.size() > 1 + cells.size() && StringRef(spec.result).ends_with(cells))
      channels = spec.result.size() - 1 - cells.size();
  }
  if (!lhs && !rhs && !channels)
    return;
  auto lastTerm = [](std::string &term, int64_t channels) {
    const SmallVector<int64_t> permutation = permutationOf(term.size(), channels);
    std::string made;
    for (int64_t from : permutation)
      made += term[from];
    term = made;
  };
  if (lhs)
    lastTerm(spec.lhs, lhs->channels);
  if (rhs)
    lastTerm(spec.rhs, rhs->channels);
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  if (channels) {
    lastTerm(spec.result, channels);
    type = lastType(op.getY(), channels);
  }
  OpBuilder builder(op);
  auto made = graph::ContractOp::create(builder, op.getLoc(), type, spec.str(), lhs ? lhs->last : op.getLhs(),
                                        rhs ? rhs->last : op.getRhs());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (channels)
    keep(op.getY(), made, channels);
  else
    op.getY().replaceAllUsesWith(made);
}

void ImageForms::visitTranspose(graph::TransposeOp op) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  if (const Form *form = formOf(op.getX())) {
    // A transpose of the form, or the form itself.
    OpBuilder builder(op);
    const SmallVector<int64_t> inverse = invertPermutationVector(permutationOf(permutation.size(), form->channels));
    op.getY().replaceAllUsesWith(
        graph::Build(builder, op.getLoc()).transpose(form->last, permuted(ArrayRef(inverse), permutation)));
    return;
  }
  // The operand of a transpose that makes an image is the form of that image.
  if (auto channels = wantedChannels(op.getY()))
    if (permutation == ArrayRef(invertPermutationVector(permutationOf(permutation.size(), *channels))))
      forms[op.getY()] = {op.getX(), *channels};
}

void ImageForms::visitReshape(graph::ReshapeOp op) {
  const Form *form = formOf(op.getX());
  ArrayRef<int64_t> from = graph::shapeOf(op.getX()), to = graph::shapeOf(op.getY());
  if (!form)
    return;
  // Channels stay channels, and cells of an image such.
  const std::optional<int64_t> channels = channelsOfReshape(from, form->channels, to, wantedChannels(op.getY()));
  if (!channels)
    return;
  OpBuilder builder(op);
  Value last =
      graph::Build(builder, op.getLoc()).reshape(form->last, permuted(to, permutationOf(to.size(), *channels)));
  keep(op.getY(), last, *channels);
}

void ImageForms::visitBroadcast(graph::BroadcastOp op) {
  const Form *form = formOf(op.getX());
  if (!form)
    return;
  // Cells of an image that are repeated; its samples and channels stay where they are.
  ArrayRef<int64_t> dims = op.getDims();
  const int64_t channels = form->channels, rank = graph::rankOf(op.getY());
  if (!llvm::equal(dims.take_front(1 + channels), llvm::seq<int64_t>(0, 1 + channels)))
    return;
  const SmallVector<int64_t> places = invertPermutationVector(permutationOf(rank, channels));
  SmallVector<int64_t> moved;
  for (int64_t at : permutationOf(graph::rankOf(op.getX()), channels))
    moved.push_back(places[dims[at]]);
  OpBuilder builder(op);
  Value last = graph::Build(builder, op.getLoc()).broadcast(form->last, lastType(op.getY(), channels), moved);
  if (Operation *made = last.getDefiningOp(); made != form->last.getDefiningOp())
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  keep(op.getY(), last, channels);
}

void ImageForms::visitConcat(graph::ConcatOp op) {
  const Form *form = formOfOperands(op);
  if (!form)
    return;
  const int64_t channels = form->channels, rank = graph::rankOf(op.getY());
  SmallVector<Value> parts;
  for (Value part : op.getXs())
    parts.push_back(lastOf(part, channels, op));
  OpBuilder builder(op);
  auto made = graph::ConcatOp::create(builder, op.getLoc(), lastType(op.getY(), channels), parts,
                                      invertPermutationVector(permutationOf(rank, channels))[op.getDim()]);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  keep(op.getY(), made, channels);
}

void ImageForms::visitStack(graph::StackOp op) {
  const Form *form = formOfOperands(op);
  const int64_t dim = op.getDim();
  if (!form || dim == 0)
    return;
  // The new dimension is one of channels if it has channels behind it. Between channels and cells it may be either.
  const int64_t before = form->channels, rank = graph::rankOf(op.getY());
  const int64_t channels =
      dim <= before || (dim == before + 1 && wantedChannels(op.getY()) == dim) ? before + 1 : before;
  SmallVector<Value> parts;
  for (Value part : op.getXs())
    parts.push_back(lastOf(part, before, op));
  OpBuilder builder(op);
  auto made = graph::StackOp::create(builder, op.getLoc(), lastType(op.getY(), channels), parts,
                                     invertPermutationVector(permutationOf(rank, channels))[dim]);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  keep(op.getY(), made, channels);
}

void ImageForms::visitUnstack(graph::UnstackOp op) {
  const Form *form = formOf(op.getX());
  const int64_t dim = op.getDim();
  if (!form || dim == 0)
    return;
  // Parts without channels, or without cells, are no images.
  const int64_t channels = dim <= form->channels ? form->channels - 1 : form->channels;
  const int64_t rank = graph::rankOf(op.getX());
  if (channels == 0 || channels + 2 >= rank)
    return;
  OpBuilder builder(op);
  SmallVector<Type> types;
  for (Value part : op.getYs())
    types.push_back(lastType(part, channels));
  auto made = graph::UnstackOp::create(builder, op.getLoc(), types, form->last,
                                       invertPermutationVector(permutationOf(rank, form->channels))[dim]);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [part, last] : llvm::zip_equal(op.getYs(), made.getYs()))
    keep(part, last, channels);
}

void ImageForms::visitBox(Operation *op) {
  const Form *form = formOf(op->getOperand(0));
  if (!form)
    return;
  const int64_t channels = form->channels;
  Value result = op->getResult(0);
  const SmallVector<int64_t> permutation = permutationOf(graph::rankOf(result), channels);
  OpBuilder builder(op);
  Operation *made = builder.clone(*op);
  made->setOperand(0, form->last);
  for (StringRef name : {"offsets", "strides", "low", "high"})
    if (auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(name))
      made->setAttr(name, builder.getDenseI64ArrayAttr(permuted(sizes.asArrayRef(), permutation)));
  for (StringRef name : {"dim", "from", "to"})
    if (auto dim = op->getAttrOfType<IntegerAttr>(name))
      made->setAttr(name, builder.getI64IntegerAttr(invertPermutationVector(permutation)[dim.getInt()]));
  Value last = made->getResult(0);
  last.setType(lastType(result, channels));
  keep(result, last, channels);
}

void ImageForms::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](graph::ConvolutionOp conv) { visitConvolution(conv, 1, true); })
      .Case([&](graph::ConvolutionInputGradOp conv) { visitConvolution(conv, 1, true); })
      .Case([&](graph::ConvolutionKernelGradOp conv) { visitConvolution(conv, 2, false); })
      .Case<graph::MaxPoolOp, graph::MaxPoolGradOp>([&](auto pool) { visitPool(pool); })
      .Case([&](graph::ReduceOp reduce) { visitReduce(reduce); })
      .Case([&](graph::ContractOp contract) { visitContract(contract); })
      .Case([&](graph::TransposeOp transpose) { visitTranspose(transpose); })
      .Case([&](graph::ReshapeOp reshape) { visitReshape(reshape); })
      .Case([&](graph::BroadcastOp broadcast) { visitBroadcast(broadcast); })
      .Case([&](graph::ConcatOp concat) { visitConcat(concat); })
      .Case([&](graph::StackOp stack) { visitStack(stack); })
      .Case([&](graph::UnstackOp unstack) { visitUnstack(unstack); })
      .Case<graph::SliceOp, graph::PadOp, spmd::AllReduceOp, spmd::AllGatherOp, spmd::ReduceScatterOp, spmd::AllToAllOp,
            spmd::LocalSliceOp, spmd::ZeroFillOp>([&](Operation *box) { visitBox(box); })
      .Case([&](graph::BarrierOp barrier) { visitCells(barrier); })
      .Case([&](graph::ElementwiseOpInterface) { visitCells(op); })
      .Default([](Operation *) {});
}

struct ChannelsLast : impl::ChannelsLastBase<ChannelsLast> {
  void runOnOperation() override {
    // The program's ops before anything is rewritten; what is made is made in its form.
    getOperation()->walk([](Block *block) {
      SmallVector<Operation *> ops;
      for (Operation &op : *block)
        ops.push_back(&op);
      ImageForms forms(findWantedImages(*block));
      for (Operation *op : ops)
        forms.visit(op);
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    });
  }
};
} // namespace
} // namespace dtcc::exec
