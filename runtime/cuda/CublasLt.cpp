//===- CublasLt.cpp - NVIDIA's matrix products ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CublasLt.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <optional>

namespace dtcc::rt::cuda {
namespace {

/// What NVIDIA recommends on Hopper; older ones want less.
constexpr uint64_t kWorkspaceBytes = gpu_workspace::productBytes;
/// Of what the driver allocates: enough for every algorithm.
constexpr uint64_t kBestAlignment = 256;

int typeOf(uint32_t dtype) { return dtype == DTCC_BF16 ? kTypeBf16 : dtype == DTCC_F16 ? kTypeF16 : kTypeF32; }

/// A matrix as the library sees it: columns, the neighbours of a column adjacent.
struct Columns {
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0, batchStride = 0;
  bool transposed = false; /* it is stored transposed */
  uint32_t type = DTCC_F32;
};

/// Dimensions `r` and `c` of a view of rank 3 as rows and columns. None where both have strides.
std::optional<Columns> columnsOf(const dtcc_view &view, int r, int c) {
  auto rows = view.sizes[r], columns = view.sizes[c];
  int64_t batchStride = strideOf(view, 0);
  auto make = [&](int64_t inner, int64_t outer, int64_t stride, bool transposed) {
    // One column has no neighbour.
    int64_t leading = outer == 1 ? inner : stride;
    return Columns{uint64_t(inner), uint64_t(outer), leading, batchStride, transposed, view.dtype};
  };
  auto adjacent = [&](int d) { return view.sizes[d] == 1 || view.strides[d] == 1; };
  if (adjacent(r) && (columns == 1 || view.strides[c] >= rows))
    return make(rows, columns, view.strides[c], false);
  if (adjacent(c) && (rows == 1 || view.strides[r] >= columns))
    return make(columns, rows, view.strides[r], true);
  return std::nullopt;
}

/// The greatest power of two, at most kBestAlignment, that divides the address of the view in every slot and batch.
uint32_t alignmentOf(const Rank &rank, const CheckedOperands &operands, size_t i) {
  const dtcc_view &view = operands.operand(i);
  auto bits = static_cast<uint64_t>(rank.offset(operands.viewIndex(i)) | view.slot_stride |
                                    strideOf(view, 0) * dtcc_dtype_size(view.dtype)) |
              kBestAlignment;
  return static_cast<uint32_t>(bits & -bits);
}

class LibraryProduct final : public CudaOp {
public:
  explicit LibraryProduct(void *handle) : handle(handle) {}
  ~LibraryProduct() override {
    for (void *each : layouts)
      if (each)
        lt.destroyLayout(each);
    if (product)
      lt.destroyProduct(product);
  }

  /// False if the library cannot.
  bool prepare(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
    const dtcc_view &lhs = operands.operand(0), &rhs = operands.operand(1), &out = operands.operand(2);
    // out = lhs rhs, or, where rows of out are adjacent, its transpose: rhs' lhs'.
    bool byRows = out.sizes[2] == 1 || out.strides[2] == 1;
    first = byRows ? 1 : 0;
    std::optional<Columns> sides[] = {byRows ? columnsOf(rhs, 2, 1) : columnsOf(lhs, 1, 2),
                                      byRows ? columnsOf(lhs, 2, 1) : columnsOf(rhs, 1, 2),
                                      byRows ? columnsOf(out, 2, 1) : columnsOf(out, 1, 2)};
    if (!sides[0] || !sides[1] || !sides[2] || sides[2]->transposed)
      return false;
    accumulate = operands.accumulation(0);
    bool tf32 = rank.image.header().tf32 != 0 && lhs.dtype == DTCC_F32;
    bool made = lt.createProduct(&product, tf32 ? kComputeTf32 : kComputeF32, kTypeF32) == 0;
    int transposes[] = {sides[0]->transposed, sides[1]->transposed};
    made = made && lt.setProduct(product, kTransposeA, &transposes[0], sizeof(int)) == 0 &&
           lt.setProduct(product, kTransposeB, &transposes[1], sizeof(int)) == 0;
    int32_t batches = static_cast<int32_t>(out.sizes[0]);
    for (int i = 0; i < 3; ++i)
      made = made &&
             lt.createLayout(&layouts[i], typeOf(sides[i]->type), sides[i]->rows, sides[i]->columns,
                             sides[i]->leading) == 0 &&
             lt.setLayout(layouts[i], kBatchCount, &batches, sizeof batches) == 0 &&
             lt.setLayout(layouts[i], kBatchStride, &sides[i]->batchStride, sizeof(int64_t)) == 0;
    return made && choose(operands, rank, launcher);
  }

  void run(Rank &rank, const Call &call) override {
    float alpha = 1, beta = accumulates(accumulate, rank) ? 1 : 0;
    void *out = call.buffers[2];
    int status = lt.multiply(handle, product, &alpha, call.buffers[first], layouts[0], call.buffers[1 - first],
                             layouts[1], &beta, out, layouts[2], out, layouts[2], algorithm.data, call.workspace,
                             algorithm.workspaceBytes, call.stream);
    if (status != 0)
      failWith(Status::Device, "rank ", rank.abi.rank, ": cublasLtMatmul: status ", status);
  }

private:
  bool choose(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
    void *preference = nullptr;
    if (lt.createPreference(&preference) != 0)
      return false;
    bool made = lt.setPreference(preference, kMostWorkspace, &kWorkspaceBytes, sizeof kWorkspaceBytes) == 0;
    const size_t order[] = {size_t(first), size_t(1 - first), 2, 2};
    for (int i = 0; i < 4; ++i) {
      uint32_t bytes = alignmentOf(rank, operands, order[i]);
      made = made && lt.setPreference(preference, kAlignmentA + i, &bytes, sizeof bytes) == 0;
    }
    int found = 0;
    made = made &&
           lt.heuristic(handle, product, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1, &algorithm,
                        &found) == 0 &&
           found > 0 && algorithm.status == 0;
    lt.destroyPreference(preference);
    if (made)
      launcher.reserveWorkspace(algorithm.workspaceBytes);
    return made;
  }

  const CublasLt &lt = cublasLt();
  void *handle, *product = nullptr, *layouts[3] = {};
  CublasLt::Algorithm algorithm = {};
  int first = 0; /* which operand is the library's A */
  Accumulation accumulate = Accumulation::Never;
};

} // namespace

const CublasLt &cublasLt() {
  static const CublasLt opened = [] {
    CublasLt library;
    library.problem = openLibrary({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, {
#define DTCC_BLAS_FUNCTION(FIELD, SYMBOL, PARAMETERS) {#SYMBOL, reinterpret_cast<void **>(&library.FIELD)},
#include "runtime/cuda/CublasLt.def"
                                                                                                });
    return library;
  }();
  return opened;
}

std::unique_ptr<CudaOp> bindLibraryProduct(const CheckedOperands &operands, Rank &rank, Launcher &launcher) {
  // A bias stands between the operands: the library adds it in the type of the result alone.
  void *handle = launcher.products();
  if (!handle || operands.operandCount() < 3 || (operands.attributeCount() == 2 && operands.flag(1)))
    return nullptr;
  auto product = std::make_unique<LibraryProduct>(handle);
  if (!product->prepare(operands, rank, launcher))
    return nullptr;
  return product;
}

} // namespace dtcc::rt::cuda
