//===- ProductOps.cpp - Matrix products as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is computed by the library with its epilogue, or by the library alone and the epilogue by
// a kernel of ours. The first is taken if it exists; --tune measures which is faster. Products that the
// library does not support are computed by kernels of ours.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/ProductOps.h"

#include "runtime/cuda/driver/TunableOp.h"
#include "runtime/cuda/kernels/product/Product.h"
#include "runtime/cuda/kernels/product/ProductEpilogue.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {
namespace {

void bindStrides(int64_t (&strides)[3], const dtcc_view &view) {
  for (int i = 0; i < 3; ++i)
    strides[i] = strideOf(view, i);
}

/// A product, and a bias of f32 that is added to it.
class OwnProduct final : public CudaOp {
public:
  OwnProduct(const ProductCommand &command, const std::vector<ProductView> &views, Launcher &launcher)
      : command(command), kernel(launcher, "Product", "product") {
    p.g = command.g, p.m = command.m, p.k = command.k, p.n = command.n;
    p.type = static_cast<int32_t>(command.type), p.outType = static_cast<int32_t>(command.outType);
    bindStrides(p.lhsStrides, views[0].view);
    bindStrides(p.rhsStrides, views[1].view);
    bindStrides(p.outStrides, views[command.out].view);
    if (command.bias)
      p.biasStride = strideOf(views[*command.bias].view, 0);
  }
  void run(Rank &rank, const Call &call) override {
    p.lhs = call.buffers[0], p.rhs = call.buffers[1], p.out = call.buffers[command.out];
    if (command.bias)
      p.bias = address<const float>(call, *command.bias);
    p.accumulate = accumulates(command.accumulate, rank);
    LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(productTiles(p.m, p.n));
    shape.grid[2] = static_cast<unsigned>(std::min<int64_t>(p.g, 65535));
    shape.block[0] = productThreads;
    kernel(call, shape, p);
  }

private:
  Product p = {};
  const ProductCommand command;
  Kernel kernel;
};

/// A product alone, and what follows it. Its algorithms are the product's.
class ProductThen : public CudaOp {
public:
  ProductThen(const ProductCommand &command, std::unique_ptr<CudaOp> product)
      : command(command), product(std::move(product)) {}
  void run(Rank &rank, const Call &call) final {
    product->run(rank, call);
    follow(rank, call);
  }
  std::vector<LibraryAlgorithm> algorithms(int most) final { return product->algorithms(most); }
  bool choose(const LibraryAlgorithm &algorithm) final { return product->choose(algorithm); }
  std::string_view loads() const final { return product->loads(); }

protected:
  virtual void follow(Rank &rank, const Call &call) = 0;
  const ProductCommand command;

private:
  std::unique_ptr<CudaOp> product;
};

/// Number of cells of a row that a thread reads from each of these matrices: those of 16 bytes, if the rows are
/// aligned.
int64_t cellsAtOnce(std::initializer_list<const ProductView *> matrices) {
  int64_t cells = 1;
  for (const ProductView *each : matrices) {
    const dtcc_view &view = each->view;
    cells = 16 / dtcc_dtype_size(view.dtype);
    if (view.strides[2] != 1 || view.sizes[2] % cells != 0 || strideOf(view, 1) % cells != 0 ||
        alignmentOf(*each) % 16 != 0)
      return 1;
  }
  return cells;
}

Kernel kernelFor(Launcher &launcher, std::string name, int64_t cells) {
  if (cells > 1)
    name += "_" + std::to_string(cells);
  return Kernel(launcher, "ProductEpilogue", name.c_str());
}

class ProductThenEpilogue final : public ProductThen {
public:
  ProductThenEpilogue(const ProductCommand &command, const std::vector<ProductView> &views, Launcher &launcher,
                      std::unique_ptr<CudaOp> product)
      : ProductThen(command, std::move(product)) {
    const ProductView &out = views[command.out], &kept = views[command.kept.value_or(command.out)],
                      &at = views[command.at.value_or(command.out)];
    p.g = command.g, p.m = command.m, p.n = command.n;
    p.type = static_cast<int32_t>(command.outType), p.biasType = static_cast<int32_t>(command.biasType);
    p.activation = static_cast<int64_t>(command.activation);
    bindStrides(p.outStrides, out.view);
    p.keptStride = strideOf(kept.view, 1), p.atStride = strideOf(at.view, 1);
    if (command.bias)
      p.biasStride = strideOf(views[*command.bias].view, 0);
    cells = cellsAtOnce({&out, &kept, &at});
    kernel = kernelFor(launcher, "product_epilogue", cells);
  }

private:
  void follow(Rank &, const Call &call) override {
    auto addressOf = [&](std::optional<size_t> operand) { return operand ? call.buffers[*operand] : nullptr; };
    p.out = call.buffers[command.out];
    p.bias = addressOf(command.bias), p.kept = addressOf(command.kept), p.at = addressOf(command.at);
    kernel(call, partsOf(p.g * p.m * p.n / cells, epilogueThreads), epilogueThreads, p);
  }

  ProductEpilogue p = {};
  int64_t cells = 1;
  Kernel kernel;
};

class ProductThenSums final : public ProductThen {
public:
  ProductThenSums(const ProductCommand &command, const std::vector<ProductView> &views, Launcher &launcher,
                  std::unique_ptr<CudaOp> product)
      : ProductThen(command, std::move(product)) {
    const ProductView &rhs = views[1];
    p.k = command.k, p.n = command.n;
    p.type = static_cast<int32_t>(command.type), p.sumsType = static_cast<int32_t>(command.outType);
    p.strides[0] = strideOf(rhs.view, 1), p.strides[1] = strideOf(rhs.view, 2);
    p.sumsStride = strideOf(views[*command.sums].view, 0);
    const int64_t cells = cellsAtOnce({&rhs}), columns = partsOf(p.n, sumsColumns * cells);
    p.depth = partsOf(p.k, sumsParts(columns, p.k));
    shape.grid[0] = static_cast<unsigned>(columns);
    shape.grid[1] = static_cast<unsigned>(p.depth ? partsOf(p.k, p.depth) : 1);
    shape.block[0] = sumsThreads;
    kernel = kernelFor(launcher, "product_sums", cells);
    if (shape.grid[1] == 1)
      return;
    parts = Kernel(launcher, "ProductEpilogue", "product_sums_parts");
    launcher.reserveWorkspace(shape.grid[1] * static_cast<uint64_t>(p.n) * sizeof(double));
  }

private:
  void follow(Rank &rank, const Call &call) override {
    p.rows = call.buffers[1], p.sums = call.buffers[*command.sums];
    p.accumulate = accumulates(command.sumsAccumulate, rank);
    p.parts = shape.grid[1] > 1 ? at<double>(call, 0) : nullptr;
    kernel(call, shape, p);
    if (p.parts)
      parts(call, partsOf(p.n, sumsThreads), sumsThreads, p);
  }

  ProductSums p = {};
  LaunchShape shape;
  Kernel kernel, parts;
};

std::unique_ptr<CudaOp> thenByOurs(const ProductCommand &command, const std::vector<ProductView> &views,
                                   Launcher &launcher, std::unique_ptr<CudaOp> product) {
  if (command.sums)
    return std::make_unique<ProductThenSums>(command, views, launcher, std::move(product));
  return std::make_unique<ProductThenEpilogue>(command, views, launcher, std::move(product));
}

/// A product by kernels of ours: its own adds a bias of f32.
std::unique_ptr<CudaOp> makeOwnProduct(const ProductCommand &command, const std::vector<ProductView> &views,
                                       Launcher &launcher) {
  const bool addsBias = command.biasType == DTCC_F32 && command.activation == ProductActivation::None && !command.sums;
  auto product = std::make_unique<OwnProduct>(addsBias ? command : command.alone(), views, launcher);
  if (addsBias)
    return product;
  return thenByOurs(command, views, launcher, std::move(product));
}

} // namespace

dtcc_view matrixView(dtcc_dtype type, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  dtcc_view view = {};
  view.dtype = static_cast<uint8_t>(type), view.rank = 3;
  view.sizes[0] = 1, view.sizes[1] = rows, view.sizes[2] = columns;
  view.strides[0] = rows * columns, view.strides[1] = rowStride, view.strides[2] = columnStride;
  return view;
}

std::unique_ptr<CudaOp> bindProduct(const ProductCommand &command, const std::vector<ProductView> &views,
                                    bool isPredicated, Rank &rank, Launcher &launcher) {
  if (isPredicated || !launcher.products())
    return makeOwnProduct(command, views, launcher);
  auto byLibrary = [=, &rank, &launcher] { return bindLibraryProduct(command, views, rank, launcher); };
  auto byBoth = [=, &rank, &launcher] {
    std::unique_ptr<CudaOp> product = bindLibraryProduct(command.alone(), views, rank, launcher);
    return product ? thenByOurs(command, views, launcher, std::move(product)) : nullptr;
  };
  // An epilogue inside the library is not always faster than a pass of our own.
  std::vector<TunableOp::Way> ways = {{"cublaslt", byLibrary}};
  if (command.hasEpilogue())
    ways.push_back({"cublaslt+ours", byBoth});
  if (auto op = TunableOp::make(productLibrary(), textOf(command, views, rank), std::move(ways)))
    return op;
  return makeOwnProduct(command, views, launcher);
}

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_MATMUL>(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
  return bindProduct(ProductCommand::matmul(operands), productViews(operands, rank), operands.isPredicated(), rank,
                     launcher);
}

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_MATMUL_EPILOGUE>(const CheckedOperands &operands, Rank &rank,
                                                             Launcher &launcher) {
  return bindProduct(ProductCommand::matmulEpilogue(operands), productViews(operands, rank), operands.isPredicated(),
                     rank, launcher);
}

} // namespace dtcc::rt::cuda
