//===- OrthogonalizeOp.cpp - Muon's matrices as launches and products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One matrix after the other, as runtime/kernels/WholeTensor.cpp has it for processors: put together from the blocks of
// the ranks that shard it, orthogonalized by products of bf16 that are added up in f32, and given to the share.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/cuda/kernels/updates/Orthogonalize.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/ProductOps.h"
#include "runtime/kernels/ops/updates/OrthogonalizeCommand.h"

#include <map>

namespace dtcc::rt::cuda {
namespace {

MatrixBlock blockOf(const Block &block) {
  static_assert(MatrixBlock::mostDims == DTCC_MAX_RANK);
  MatrixBlock found = {};
  found.cells = 1;
  for (int64_t d = block.rank, wholeStride = 1; d-- > 0; wholeStride *= block.dims[static_cast<size_t>(d)].whole) {
    const BlockDim &dim = block.dims[static_cast<size_t>(d)];
    found.first += dim.start * wholeStride;
    found.cells *= dim.valid;
    found.sizes[d] = dim.valid, found.wholeStrides[d] = wholeStride, found.localStrides[d] = dim.stride;
  }
  found.rank = block.rank;
  return found;
}

/// The products and the memory of matrices of one shape.
struct ShapeOfMatrices {
  ShapeOfMatrices(int64_t rows, int64_t columns, bool isPredicated, Rank &rank, Launcher &launcher)
      : side(std::min(rows, columns)), length(std::max(rows, columns)), layout(rows, columns, OrthogonalizeOn::Gpu) {
    auto product = [&](int64_t lhs, int64_t rhs, int64_t n, int64_t k, int64_t rhsRow, int64_t rhsColumn) {
      ProductCommand command;
      command.g = 1, command.m = side, command.n = n, command.k = k;
      command.type = DTCC_BF16, command.outType = DTCC_F32;
      auto placed = [](const dtcc_view &view, int64_t at) { return ProductView{view, static_cast<uint64_t>(at)}; };
      return bindProduct(command,
                         {placed(matrixView(DTCC_BF16, side, k, k, 1), lhs),
                          placed(matrixView(DTCC_BF16, k, n, rhsRow, rhsColumn), rhs),
                          placed(matrixView(DTCC_F32, side, n, n, 1), layout.sums)},
                         isPredicated, rank, launcher);
    };
    squareOfX = product(layout.x, layout.x, side, length, 1, length);
    squareOfGram = product(layout.gram, layout.gram, side, side, side, 1);
    step = product(layout.polynomial, layout.x, length, side, length, 1);
  }

  std::string loads() const {
    std::string all;
    for (const CudaOp *product : {squareOfX.get(), squareOfGram.get(), step.get()})
      all += product->loads();
    return all;
  }

  int64_t side, length;
  /// Offsets behind the workspace of products.
  OrthogonalizeLayout layout;
  /// X X^T, A A and B X.
  std::unique_ptr<CudaOp> squareOfX, squareOfGram, step;
};

class OrthogonalizeOp final : public CudaOp {
public:
  OrthogonalizeOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : command(operands, rank), gather(launcher, "Orthogonalize", "matrix_gather"),
        scatter(launcher, "Orthogonalize", "matrix_scatter"), squares(launcher, "Orthogonalize", "matrix_squares"),
        norm(launcher, "Orthogonalize", "matrix_norm"), normalize(launcher, "Orthogonalize", "matrix_normalize"),
        combine(launcher, "Orthogonalize", "matrix_combine"), scale(launcher, "Orthogonalize", "matrix_scale"),
        clear(bindFill(operands.operand(1), 0, launcher)) {
    WorkspaceLayout layout;
    partialAt = layout.take(orthogonalizeBlocks * static_cast<int64_t>(sizeof(double)));
    normAt = layout.take(sizeof(float));
    launcher.reserveWorkspace(
        static_cast<uint64_t>(gpu_workspace::productBytes + command.workspaceBytes(OrthogonalizeOn::Gpu)));
    for (const OrthogonalizeCommand::Matrix &matrix : command.matrices)
      if (const std::pair shape(matrix.rows, matrix.columns); !shapes.contains(shape))
        loaded += shapes.try_emplace(shape, shape.first, shape.second, operands.isPredicated(), rank, launcher)
                      .first->second.loads();
  }
  std::string_view loads() const override { return loaded; }

  void run(Rank &rank, const Call &call) override {
    void *const share[] = {call.buffers[1]};
    Call here = call;
    here.buffers = share;
    clear->run(rank, here);
    for (const OrthogonalizeCommand::Matrix &matrix : command.matrices) {
      for (int64_t i = 0; i < command.members; ++i) {
        const MatrixGather p = {blockOf(matrix.parts[static_cast<size_t>(i)]),
                                address<const float>(call, 0) + i * command.length + matrix.begin, matrixOf(call)};
        each(gather, call, p.block.cells, p);
      }
      orthogonalize(rank, call, matrix, shapes.at({matrix.rows, matrix.columns}));
      const MatrixScatter p = {blockOf(matrix.parts.back()), matrixOf(call), address<float>(call, 1),
                               matrix.begin - command.offset, command.size};
      each(scatter, call, p.block.cells, p);
    }
  }

private:
  /// A thread a cell.
  template <typename Parameters>
  static void each(const Kernel &kernel, const Call &call, int64_t cells, const Parameters &p) {
    kernel(call, partsOf(cells, orthogonalizeThreads), orthogonalizeThreads, p);
  }

  static float *matrixOf(const Call &call) { return at<float>(call, gpu_workspace::productBytes); }

  /// The matrix in the workspace becomes its direction.
  void orthogonalize(Rank &rank, const Call &call, const OrthogonalizeCommand::Matrix &matrix,
                     const ShapeOfMatrices &shape) const {
    float *whole = matrixOf(call);
    auto *memory = reinterpret_cast<std::byte *>(whole);
    auto *sums = reinterpret_cast<float *>(memory + shape.layout.sums);
    void *x = memory + shape.layout.x, *gram = memory + shape.layout.gram,
         *polynomial = memory + shape.layout.polynomial;
    const int64_t cells = matrix.rows * matrix.columns, squareCells = shape.side * shape.side;
    const MatrixNormalize p = {whole,
                               matrix.rows,
                               matrix.columns,
                               at<double>(call, partialAt),
                               at<float>(call, normAt),
                               x,
                               static_cast<float>(command.options.eps)};
    squares(call, orthogonalizeBlocks, orthogonalizeThreads, p);
    norm(call, 1, orthogonalizeThreads, p);
    each(normalize, call, cells, p);
    auto multiply = [&](CudaOp &product, void *lhs, void *rhs) {
      void *const buffers[] = {lhs, rhs, sums};
      Call here = call;
      here.buffers = buffers;
      product.run(rank, here);
    };
    const OrthogonalizeOptions &options = command.options;
    const auto a = static_cast<float>(options.a), b = static_cast<float>(options.b), c = static_cast<float>(options.c);
    for (int64_t step = 0; step < options.steps; ++step) {
      multiply(*shape.squareOfX, x, x);
      each(combine, call, squareCells, MatrixCombine{squareCells, sums, gram, gram, 0, 1});
      multiply(*shape.squareOfGram, gram, gram);
      each(combine, call, squareCells, MatrixCombine{squareCells, sums, gram, polynomial, b, c});
      multiply(*shape.step, polynomial, x);
      each(combine, call, cells, MatrixCombine{cells, sums, x, x, a, 1});
    }
    each(scale, call, cells,
         MatrixScale{x, whole, matrix.rows, matrix.columns, orthogonalScale(options, matrix.rows, matrix.columns)});
  }

  const OrthogonalizeCommand command;
  std::map<std::pair<int64_t, int64_t>, ShapeOfMatrices> shapes;
  std::string loaded;
  uint64_t partialAt = 0, normAt = 0;
  Kernel gather, scatter, squares, norm, normalize, combine, scale;
  std::unique_ptr<CudaOp> clear;
};

} // namespace

DTCC_CUDA_OP(ORTHOGONALIZE, OrthogonalizeOp)

} // namespace dtcc::rt::cuda
