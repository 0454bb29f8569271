//===- ConvolutionOps.cpp - Convolutions as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first that fits, unless --tune finds another faster: windows of one cell are a product
// of cublasLt; all others are convolutions of cuDNN; without these libraries, or an engine of
// theirs, groups of few channels are summed cell by cell, and all else is a product that
// gathers its columns (kernels/Convolution.cu).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/driver/TunableOp.h"
#include "runtime/cuda/kernels/product/Convolution.h"
#include "runtime/cuda/ops/LibraryConvolution.h"
#include "runtime/cuda/ops/LibraryProduct.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/ops/WindowCommands.h"

#include <array>
#include <optional>
#include <utility>

namespace dtcc::rt::cuda {
namespace {

using enum ConvolutionDirection;
using Direction = ConvolutionDirection;

struct Row {
  const char *kernel, *direct;
  /// Operands as the left and the right matrix.
  std::array<size_t, 2> sides;
};
const Row rows[] = {{"convolution", "convolution_direct", {1, 0}},
                    {"convolution_input_grad", "convolution_direct_input_grad", {1, 0}},
                    {"convolution_kernel_grad", "convolution_direct_kernel_grad", {0, 1}}};
const Row &rowOf(Direction direction) { return rows[static_cast<size_t>(direction)]; }

/// Names and sizes of modules: kernels/CMakeLists.txt.
std::string moduleOf(int64_t tileRows, dtcc_dtype type) {
  return "Convolution" + std::to_string(tileRows) + typeName(type);
}

/// The problem as kernels take it. Their arithmetic is of 32 bits.
Convolution parametersOf(const ConvolutionProblem &problem, const CheckedOperands &operands) {
  const Window &w = problem.window;
  const auto least = [](int64_t value) { return std::max<int64_t>(value, 1); };
  int64_t most =
      std::max({least(problem.samples) * least(w.resultCells()), least(problem.samples) * least(w.imageCells()),
                problem.inputs * w.windowCells(), problem.outputs * w.windowCells(), problem.inputs * w.imageCells(),
                problem.outputs * w.resultCells(), problem.groups});
  for (int d = 0; d < 3; ++d)
    most = std::max({most, w.image[d] + w.low[d], w.result[d] * w.strides[d], w.window[d] * w.dilations[d]});
  // Channels last, a shift within the window is one over all channels.
  int64_t image = problem.channelsLast.image ? problem.groups * problem.inputs : 0,
          result = problem.channelsLast.result ? problem.groups * problem.outputs : 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = w.low[d] + w.window[d] * w.dilations[d];
    image *= w.image[d] + reach, result *= w.result[d] + reach;
  }
  most = std::max({most, image, result});
  if (constexpr int64_t reach = int64_t{1} << 30; most >= reach)
    operands.reject("samples, channels, windows and cells that meet must be fewer than ", reach, ", got: ", most);
  Convolution p = {};
  const auto box = [](const int64_t (&sizes)[3]) {
    return Box::of(static_cast<int32_t>(sizes[0]), static_cast<int32_t>(sizes[1]), static_cast<int32_t>(sizes[2]));
  };
  p.image = box(w.image), p.window = box(w.window), p.result = box(w.result);
  for (int d = 0; d < 3; ++d) {
    p.strides[d] = static_cast<int32_t>(w.strides[d]), p.dilations[d] = static_cast<int32_t>(w.dilations[d]);
    p.low[d] = static_cast<int32_t>(w.low[d]);
  }
  p.samples = static_cast<int32_t>(problem.samples), p.groups = static_cast<int32_t>(problem.groups);
  p.inputs = static_cast<int32_t>(problem.inputs), p.outputs = static_cast<int32_t>(problem.outputs);
  p.windowCells = Division::by(std::max(p.window.cells(), 1));
  p.resultCells = Division::by(std::max(p.result.cells(), 1));
  p.outIsFloat = problem.outType == DTCC_F32;
  p.x = problem.imageStrides(), p.y = problem.resultStrides(), p.kernel = problem.kernelStrides();
  return p;
}

/// A convolution, or a gradient of one, whose cells are summed by themselves.
class DirectConvolutionOp final : public CudaOp {
public:
  DirectConvolutionOp(const ConvolutionCommand &command, Direction direction, const Convolution &parameters,
                      Launcher &launcher)
      : accumulate(command.accumulate), sides(rowOf(direction).sides),
        kernel(launcher, "DirectConvolution", rowOf(direction).direct) {
    const ConvolutionProblem &c = command.problem;
    p.of = parameters, p.type = c.type, p.outType = c.outType;
    const int64_t images = c.samples * c.groups;
    blocks = direction == Forward ? partsOf(images * c.outputs * c.window.resultCells(), directThreads)
             : direction == InputGrad
                 ? partsOf(images * c.inputs * c.window.imageCells(), directThreads)
                 : partsOf(c.groups * c.outputs * c.inputs * c.window.windowCells(), directThreads / 32);
  }
  void run(Rank &rank, const Call &call) override {
    p.of.left = call.buffers[sides[0]], p.of.right = call.buffers[sides[1]], p.of.out = call.buffers[2];
    p.of.accumulate = accumulates(accumulate, rank);
    kernel(call, blocks, directThreads, p);
  }

private:
  DirectConvolution p = {};
  Accumulation accumulate;
  std::array<size_t, 2> sides;
  int64_t blocks = 0;
  Kernel kernel;
};

class GatheredConvolutionOp final : public CudaOp {
public:
  GatheredConvolutionOp(const ConvolutionCommand &command, Direction direction, const Convolution &parameters,
                        const CheckedOperands &operands, Launcher &launcher)
      : p(parameters), command(command), sides(rowOf(direction).sides) {
    const ConvolutionProblem &c = command.problem;
    const Window &w = c.window;
    const int64_t taps = w.windowCells(), cells = w.resultCells();
    int64_t tileRows = c.outputs, columns = c.samples * cells, layers = 1, leftDepth = c.inputs * taps;
    if (direction == InputGrad) {
      // The largest phase's columns; its left rows never lie by their depth.
      tileRows = c.inputs, columns = c.samples, leftDepth = 1;
      for (int d = 0; d < 3; ++d)
        columns *= partsOf(w.image[d], w.strides[d]), layers *= w.strides[d];
      if (layers > mostLayers)
        operands.reject("the product of strides must be at most ", mostLayers, ", got: ", layers);
    } else if (direction == KernelGrad) {
      const int64_t depth = c.samples * cells;
      columns = c.inputs * taps, leftDepth = cells;
      layers = gpu_workspace::convolutionParts(c.groups, c.outputs, columns, depth);
      p.partDepth = static_cast<int32_t>(std::max<int64_t>(partsOf(partsOf(depth, layers), partUnit), 1) * partUnit);
      layers = std::max<int64_t>(partsOf(depth, p.partDepth), 1);
      if (layers > 1) {
        launcher.reserveWorkspace(static_cast<uint64_t>(4 * layers * c.groups * c.outputs * columns));
        sums = Kernel(launcher, "DirectConvolution", "convolution_parts");
      }
    }
    // The left matrix' depth is adjacent only where channels are not last.
    leftChunks = leftDepth % (16 / static_cast<int64_t>(dtcc_dtype_size(c.type))) == 0 &&
                 (direction == KernelGrad ? parameters.y.cell : parameters.kernel.cell) == 1;
    const int64_t groups = std::min<int64_t>(c.groups, mostLayers), across = partsOf(columns, convolutionColumns);
    // Wide tiles gather less often, narrow ones fill more of a GPU: results are the same.
    const bool wide = tileRows > 64 && partsOf(tileRows, 128) * across * layers * groups >= launcher.multiprocessors();
    shape.grid[0] = static_cast<unsigned>(partsOf(tileRows, wide ? 128 : 64) * across);
    shape.grid[1] = static_cast<unsigned>(layers), shape.grid[2] = static_cast<unsigned>(groups);
    shape.block[0] = static_cast<unsigned>(convolutionThreads(wide ? 128 : 64));
    parts = direction == KernelGrad ? layers : 1;
    kernel = Kernel(launcher, moduleOf(wide ? 128 : 64, c.type).c_str(), rowOf(direction).kernel);
  }

  void run(Rank &rank, const Call &call) override {
    p.left = call.buffers[sides[0]], p.right = call.buffers[sides[1]], p.out = call.buffers[2];
    p.leftChunks = leftChunks && isAligned(p.left, 16);
    p.accumulate = accumulates(command.accumulate, rank);
    p.parts = parts > 1 ? at<float>(call, 0) : nullptr;
    kernel(call, shape, p);
    if (parts == 1)
      return;
    const ConvolutionProblem &c = command.problem;
    const int64_t cells = c.groups * c.outputs * c.inputs * c.window.windowCells();
    sums(call, partsOf(cells, directThreads), directThreads,
         ConvolutionParts{cells, p.parts, static_cast<int32_t>(parts), p.accumulate, p.out,
                          static_cast<int32_t>(c.outType), DTCC_F32});
  }

private:
  static constexpr int64_t mostLayers = 65535, partUnit = 32;
  Convolution p;
  const ConvolutionCommand command;
  std::array<size_t, 2> sides;
  bool leftChunks = false;
  int64_t parts = 1;
  LaunchShape shape;
  Kernel kernel, sums;
};

/// A product whose operands stand in another order in the command.
class ReorderedProduct final : public CudaOp {
public:
  ReorderedProduct(std::unique_ptr<CudaOp> product, std::array<size_t, 2> sides)
      : product(std::move(product)), sides(sides) {}
  void run(Rank &rank, const Call &call) override {
    void *const buffers[] = {call.buffers[sides[0]], call.buffers[sides[1]], call.buffers[2]};
    Call reordered = call;
    reordered.buffers = buffers;
    product->run(rank, reordered);
  }
  std::vector<LibraryAlgorithm> algorithms(int most) override { return product->algorithms(most); }
  bool choose(const LibraryAlgorithm &algorithm) override { return product->choose(algorithm); }
  std::string_view loads() const override { return product->loads(); }

private:
  std::unique_ptr<CudaOp> product;
  std::array<size_t, 2> sides;
};

/// A product, and where its operands lie.
struct PointwiseProduct {
  ProductCommand command;
  std::vector<ProductView> views;
};

/// Windows of one cell that leave none out: a product for each sample of a single group, or for each group of a single
/// sample; where channels are last, a product for each group, over the cells of all samples. None where it is none, or
/// where rows do not begin at multiples of 16 bytes, without which the library's fast algorithms are out.
std::optional<PointwiseProduct> pointwiseProduct(const ConvolutionCommand &command, Direction direction,
                                                 const CheckedOperands &operands, const Rank &rank) {
  const ConvolutionProblem &c = command.problem;
  const int64_t unit = 16 / static_cast<int64_t>(dtcc_dtype_size(c.type));
  // All samples have one row of cells, if they lie behind each other.
  const bool last = c.channelsLast.image && c.channelsLast.result;
  const int64_t cells = c.window.resultCells(), columns = last ? c.samples * cells : cells,
                samples = last ? 1 : c.samples;
  bool whole = c.window.windowCells() == 1 && cells == c.window.imageCells() && !operands.isPredicated();
  for (int d = 0; d < 3; ++d)
    whole &= c.window.strides[d] == 1 && c.window.low[d] == 0;
  if (!whole || (c.groups > 1 && samples > 1) || (direction == KernelGrad && samples > 1) ||
      (!last && cells % unit != 0) || c.inputs % unit != 0 || c.outputs % unit != 0)
    return std::nullopt;
  ProductCommand product;
  product.g = samples * c.groups, product.type = c.type, product.outType = c.outType;
  product.accumulate = command.accumulate;
  // Images [g, channels, cells]; the kernel [outputs, inputs], for each group or the same for each sample.
  const int64_t kernelStep = c.groups > 1 ? c.outputs * c.inputs : 0;
  const auto view = [&](size_t operand, int64_t rowCount, int64_t columnCount, int64_t batch, int64_t row,
                        int64_t column) {
    ProductView made = {operands.operand(operand), static_cast<uint64_t>(rank.offset(operands.viewIndex(operand)))};
    made.view.rank = 3;
    const int64_t sizes[] = {product.g, rowCount, columnCount}, strides[] = {batch, row, column};
    std::copy(std::begin(sizes), std::end(sizes), made.view.sizes);
    std::copy(std::begin(strides), std::end(strides), made.view.strides);
    return made;
  };
  const auto image = [&](size_t operand, int64_t channels, const ImageStrides &s) {
    return view(operand, channels, columns, c.groups > 1 ? s.group : s.sample, s.channel, s.cell);
  };
  const ImageStrides x = c.imageStrides(), y = c.resultStrides();
  std::vector<ProductView> views;
  switch (direction) {
  case Forward:
    product.m = c.outputs, product.k = c.inputs, product.n = columns;
    views = {view(1, c.outputs, c.inputs, kernelStep, c.inputs, 1), image(0, c.inputs, x), image(2, c.outputs, y)};
    break;
  case InputGrad:
    product.m = c.inputs, product.k = c.outputs, product.n = columns;
    views = {view(1, c.inputs, c.outputs, kernelStep, 1, c.inputs), image(0, c.outputs, y), image(2, c.inputs, x)};
    break;
  case KernelGrad:
    product.m = c.outputs, product.k = columns, product.n = c.inputs;
    views = {image(0, c.outputs, y), view(1, columns, c.inputs, c.groups > 1 ? x.group : x.sample, x.cell, x.channel),
             view(2, c.outputs, c.inputs, c.outputs * c.inputs, c.inputs, 1)};
    break;
  }
  return PointwiseProduct{product, std::move(views)};
}

std::unique_ptr<CudaOp> makeOwnConvolution(const ConvolutionCommand &command, Direction direction,
                                           const Convolution &parameters, const CheckedOperands &operands,
                                           Launcher &launcher) {
  /// Channels of a group in and out: more are worth a tile.
  constexpr int64_t mostDirect = 4;
  const ConvolutionProblem &c = command.problem;
  if (c.inputs * c.outputs <= mostDirect)
    return std::make_unique<DirectConvolutionOp>(command, direction, parameters, launcher);
  return std::make_unique<GatheredConvolutionOp>(command, direction, parameters, operands, launcher);
}

std::unique_ptr<CudaOp> bindConvolution(const CheckedOperands &operands, Rank &rank, Launcher &launcher,
                                        Direction direction) {
  const ConvolutionCommand command(operands, direction);
  const Convolution parameters = parametersOf(command.problem, operands);
  auto byOurs = [=, &launcher] { return makeOwnConvolution(command, direction, parameters, operands, launcher); };
  auto product = pointwiseProduct(command, direction, operands, rank);
  if (!launcher.products())
    product.reset();
  const bool byCudnn = isForCudnn(command, operands, rank) && launcher.convolutions();
  if (!product && !byCudnn)
    return byOurs();
  std::string libraries, problem = rowOf(direction).kernel + std::string(" ");
  std::vector<TunableOp::Way> ways;
  if (product) {
    libraries = productLibrary(), problem += textOf(product->command, product->views, rank);
    ways.push_back(
        {"cublaslt", [=, &rank, &launcher]() -> std::unique_ptr<CudaOp> {
           std::unique_ptr<CudaOp> bound = bindLibraryProduct(product->command, product->views, rank, launcher);
           return bound ? std::make_unique<ReorderedProduct>(std::move(bound), rowOf(direction).sides) : nullptr;
         }});
  }
  if (byCudnn) {
    libraries += (product ? ", cudnn " : "cudnn ") + cudnn().version();
    if (!product)
      problem += convolutionText(command, rank);
    // The workspace is reserved for the largest of all ways, because none may ask for more later.
    launcher.reserveWorkspace(static_cast<uint64_t>(convolutionWorkspace(command.problem).bytes()));
    ways.push_back(
        {"cudnn", [=, &rank, &launcher]() { return bindLibraryConvolution(command, direction, rank, launcher); }});
  }
  ways.push_back({"ours", byOurs});
  return TunableOp::make(std::move(libraries), std::move(problem), std::move(ways));
}

} // namespace

#define DTCC_CONVOLUTION(NAME, DIRECTION)                                                                              \
  template <>                                                                                                          \
  std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_##NAME>(const CheckedOperands &operands, Rank &rank,                     \
                                                      Launcher &launcher) {                                            \
    return bindConvolution(operands, rank, launcher, DIRECTION);                                                       \
  }
DTCC_CONVOLUTION(CONVOLUTION, Forward)
DTCC_CONVOLUTION(CONVOLUTION_INPUT_GRAD, InputGrad)
DTCC_CONVOLUTION(CONVOLUTION_KERNEL_GRAD, KernelGrad)

} // namespace dtcc::rt::cuda
