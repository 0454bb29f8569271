//===- ProductOps.cpp - Matrix products as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the library with what follows the product, or by the library alone and what follows by
// a kernel of ours: --tune measures which, and the first is taken where it can. What the
// library cannot multiply is by kernels of ours.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/TunableOp.h"
#include "runtime/cuda/kernels/Product.h"
#include "runtime/cuda/ops/LibraryProduct.h"
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
  OwnProduct(const ProductCommand &command, const CheckedOperands &operands, Launcher &launcher)
      : command(command), kernel(launcher, "Product", "product") {
    p.g = command.g, p.m = command.m, p.k = command.k, p.n = command.n;
    p.type = static_cast<int32_t>(command.type), p.outType = static_cast<int32_t>(command.outType);
    bindStrides(p.lhsStrides, operands.operand(0));
    bindStrides(p.rhsStrides, operands.operand(1));
    bindStrides(p.outStrides, operands.operand(command.out));
    if (command.bias)
      p.biasStride = strideOf(operands.operand(*command.bias), 0);
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

/// A product alone, then what follows it. Its algorithms are the product's, where that is the library's.
class ProductThenEpilogue final : public CudaOp {
public:
  ProductThenEpilogue(const ProductCommand &command, const CheckedOperands &operands, Launcher &launcher,
                      std::unique_ptr<CudaOp> product)
      : command(command), product(std::move(product)) {
    const auto type = static_cast<int32_t>(command.outType);
    const dtcc_view &rhs = operands.operand(1);
    p.g = command.g, p.m = command.m, p.n = command.n;
    p.type = type, p.biasType = static_cast<int32_t>(command.biasType);
    p.activation = static_cast<int64_t>(command.activation);
    bindStrides(p.outStrides, operands.operand(command.out));
    if (command.bias)
      p.biasStride = strideOf(operands.operand(*command.bias), 0);
    if (command.kept)
      p.keptStride = strideOf(operands.operand(*command.kept), 1);
    if (command.at)
      p.atStride = strideOf(operands.operand(*command.at), 1);
    if (command.bias || command.activation != ProductActivation::None)
      epilogue = Kernel(launcher, "Product", "product_epilogue");
    if (!command.sums)
      return;
    sums = Kernel(launcher, "Product", "product_sums");
    s.k = command.k, s.n = command.n, s.type = static_cast<int32_t>(command.type), s.sumsType = type;
    s.strides[0] = strideOf(rhs, 1), s.strides[1] = strideOf(rhs, 2);
    s.sumsStride = strideOf(operands.operand(*command.sums), 0);
  }

  std::vector<LibraryAlgorithm> algorithms(int most) override { return product->algorithms(most); }
  bool choose(const LibraryAlgorithm &algorithm) override { return product->choose(algorithm); }

  void run(Rank &rank, const Call &call) override {
    product->run(rank, call);
    if (command.sums) {
      s.rows = call.buffers[1], s.sums = call.buffers[*command.sums];
      s.accumulate = accumulates(command.sumsAccumulate, rank);
      return sums(call, partsOf(command.n, sumsColumns), sumsThreads, s);
    }
    p.out = call.buffers[command.out];
    p.bias = command.bias ? call.buffers[*command.bias] : nullptr;
    p.kept = command.kept ? call.buffers[*command.kept] : nullptr;
    p.at = command.at ? call.buffers[*command.at] : nullptr;
    epilogue(call, partsOf(p.g * p.m * p.n, epilogueThreads), epilogueThreads, p);
  }
  std::string_view loads() const override { return product->loads(); }

private:
  const ProductCommand command;
  std::unique_ptr<CudaOp> product;
  ProductEpilogue p = {};
  ProductSums s = {};
  Kernel epilogue, sums;
};

/// A product by kernels of ours: its own adds a bias of f32.
std::unique_ptr<CudaOp> makeOwnProduct(const ProductCommand &command, const CheckedOperands &operands,
                                       Launcher &launcher) {
  const bool addsBias = command.biasType == DTCC_F32 && command.activation == ProductActivation::None && !command.sums;
  auto product = std::make_unique<OwnProduct>(addsBias ? command : command.alone(), operands, launcher);
  if (addsBias)
    return product;
  return std::make_unique<ProductThenEpilogue>(command, operands, launcher, std::move(product));
}

/// The library does not ask a predicate.
std::unique_ptr<CudaOp> bindProduct(const ProductCommand &command, const CheckedOperands &operands, Rank &rank,
                                    Launcher &launcher) {
  if (operands.isPredicated() || !launcher.products())
    return makeOwnProduct(command, operands, launcher);
  const std::vector<ProductView> views = productViews(operands, rank);
  auto byLibrary = [=, &rank, &launcher] { return bindLibraryProduct(command, views, rank, launcher); };
  auto thenByOurs = [=, &rank, &launcher]() -> std::unique_ptr<CudaOp> {
    std::unique_ptr<CudaOp> product = bindLibraryProduct(command.alone(), views, rank, launcher);
    if (!product)
      return nullptr;
    return std::make_unique<ProductThenEpilogue>(command, operands, launcher, std::move(product));
  };
  // What the library does in passing is not always faster.
  std::vector<TunableOp::Way> ways = {{"cublaslt", byLibrary}};
  if (command.hasEpilogue())
    ways.push_back({"cublaslt+ours", thenByOurs});
  if (auto op = TunableOp::make(productLibrary(), textOf(command, views, rank), std::move(ways)))
    return op;
  return makeOwnProduct(command, operands, launcher);
}

} // namespace

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_MATMUL>(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
  return bindProduct(ProductCommand::matmul(operands), operands, rank, launcher);
}

template <>
std::unique_ptr<CudaOp> bindCudaOp<DTCC_LIB_MATMUL_EPILOGUE>(const CheckedOperands &operands, Rank &rank,
                                                             Launcher &launcher) {
  return bindProduct(ProductCommand::matmulEpilogue(operands), operands, rank, launcher);
}

} // namespace dtcc::rt::cuda
