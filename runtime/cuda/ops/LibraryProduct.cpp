//===- LibraryProduct.cpp - A product by cublasLt
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/LibraryProduct.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/CublasLt.h"
#include "runtime/cuda/kernels/product/ProductEpilogue.h"
#include "runtime/cuda/ops/Operands.h"

#include <algorithm>
#include <sstream>

namespace dtcc::rt::cuda {
namespace {

/// Workspace that NVIDIA recommends on Hopper; older GPUs need less.
constexpr uint64_t kWorkspaceBytes = gpu_workspace::productBytes;
/// Alignment of memory from the driver, in bytes: enough for every algorithm.
constexpr uint64_t kBestAlignment = 256;
/// The leading dimension of an auxiliary matrix must divide by 8 (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), and its
/// vectors are of 16 bytes.
constexpr int64_t kAuxMultiple = 8;
constexpr uint64_t kAuxAlignment = 16;

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

bool usesTf32(const ProductCommand &command, const Rank &rank) {
  return (command.mayRound || rank.image.header().tf32 != 0) && command.type == DTCC_F32;
}

class LibraryProduct final : public CudaOp {
public:
  LibraryProduct(const ProductCommand &command, std::vector<ProductView> views, void *handle)
      : command(command), views(std::move(views)), handle(handle) {}
  ~LibraryProduct() override {
    for (void *each : layouts)
      if (each)
        lt.destroyLayout(each);
    if (product)
      lt.destroyProduct(product);
  }

  /// False if the library cannot.
  bool prepare(Rank &rank, Launcher &launcher) {
    const dtcc_view &lhs = views[0].view, &rhs = views[1].view, &out = views[command.out].view;
    // out = lhs rhs, or, where rows of out are adjacent, its transpose: rhs' lhs'.
    bool byRows = out.sizes[2] == 1 || out.strides[2] == 1;
    first = byRows ? 1 : 0;
    std::optional<Columns> sides[] = {byRows ? columnsOf(rhs, 2, 1) : columnsOf(lhs, 1, 2),
                                      byRows ? columnsOf(lhs, 2, 1) : columnsOf(rhs, 1, 2),
                                      byRows ? columnsOf(out, 2, 1) : columnsOf(out, 1, 2)};
    if (!sides[0] || !sides[1] || !sides[2] || sides[2]->transposed)
      return false;
    bool made = lt.createProduct(&product, usesTf32(command, rank) ? kComputeTf32 : kComputeF32, kTypeF32) == 0;
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
    if (!made || !describeEpilogue(byRows))
      return false;
    text = textOf(command, views, rank);
    const size_t order[] = {size_t(first), size_t(1 - first), command.out, command.out};
    for (int i = 0; i < 4; ++i)
      alignments[i] = static_cast<uint32_t>(alignmentOf(views[order[i]]));
    if (std::vector<LibraryAlgorithm> best = algorithms(1); best.empty() || !choose(best.front()))
      return false;
    WorkspaceLayout layout;
    if (command.sums && command.sumsAccumulate != Accumulation::Never) {
      layout.take(gpu_workspace::productSums(command.n));
      addSums = Kernel(launcher, "ProductEpilogue", "product_sums");
    }
    workspaceAt = layout.take(static_cast<int64_t>(kWorkspaceBytes));
    launcher.reserveWorkspace(layout.bytes());
    return true;
  }

  std::string_view loads() const override { return text; }

  std::vector<LibraryAlgorithm> algorithms(int most) override {
    std::vector<CublasLt::Algorithm> found(static_cast<size_t>(most));
    void *preference = nullptr;
    if (lt.createPreference(&preference) != 0)
      return {};
    bool made = lt.setPreference(preference, kMostWorkspace, &kWorkspaceBytes, sizeof kWorkspaceBytes) == 0;
    // Sums that are cut along k (split-K) are added up in f32, as LibraryOps.def says, and not in halves.
    if (const uint32_t reductions = kReduceInComputeType; command.outType != DTCC_F32)
      made = made && lt.setPreference(preference, kReductions, &reductions, sizeof reductions) == 0;
    for (int i = 0; i < 4; ++i)
      made = made && lt.setPreference(preference, kAlignmentA + i, &alignments[i], sizeof alignments[i]) == 0;
    int count = 0;
    made = made && lt.heuristic(handle, product, layouts[0], layouts[1], layouts[2], layouts[2], preference, most,
                                found.data(), &count) == 0;
    lt.destroyPreference(preference);
    std::vector<LibraryAlgorithm> result;
    for (int i = 0; made && i < count; ++i)
      if (const CublasLt::Algorithm &each = found[static_cast<size_t>(i)]; each.status == 0)
        std::copy(std::begin(each.data), std::end(each.data), result.emplace_back().begin());
    return result;
  }

  bool choose(const LibraryAlgorithm &data) override {
    CublasLt::Algorithm checked = {};
    if (lt.check(handle, product, layouts[0], layouts[1], layouts[2], layouts[2], data.data(), &checked) != 0 ||
        checked.workspaceBytes > kWorkspaceBytes)
      return false;
    algorithm = data, algorithmBytes = checked.workspaceBytes;
    return true;
  }

  void run(Rank &rank, const Call &call) override {
    float alpha = 1, beta = accumulates(command.accumulate, rank) ? 1 : 0;
    void *out = call.buffers[command.out];
    // The library overwrites sums: those that are added to others stand in the workspace first.
    bool addsSums = command.sums && accumulates(command.sumsAccumulate, rank);
    void *scratch = call.workspace;
    if (auto bias = command.bias ? command.bias : command.sums)
      point(rank, kBias, addsSums ? scratch : call.buffers[*bias]);
    if (auto aux = command.kept ? command.kept : command.at)
      point(rank, kAux, call.buffers[*aux]);
    int status = lt.multiply(handle, product, &alpha, call.buffers[first], layouts[0], call.buffers[1 - first],
                             layouts[1], &beta, out, layouts[2], out, layouts[2], algorithm.data(),
                             static_cast<std::byte *>(call.workspace) + workspaceAt, algorithmBytes, call.stream);
    if (status != 0)
      failWith(Status::Device, "rank ", rank.abi.rank, ": cublasLtMatmul: status ", status);
    if (addsSums) {
      ProductSums s = {};
      s.k = s.depth = s.strides[1] = s.sumsStride = s.accumulate = 1, s.n = command.n;
      s.type = s.sumsType = static_cast<int32_t>(command.outType);
      s.rows = scratch, s.sums = call.buffers[*command.sums];
      addSums(call, partsOf(command.n, sumsColumns), sumsThreads, s);
    }
  }

private:
  void point(Rank &rank, int attribute, const void *to) {
    if (int status = lt.setProduct(product, attribute, &to, sizeof to))
      failWith(Status::Device, "rank ", rank.abi.rank, ": cublasLtMatmulDescSetAttribute: status ", status);
  }

  /// Addresses are those of a run; what the heuristic asks of them is how they are aligned.
  bool describeEpilogue(bool byRows) {
    bool activates = command.activation != ProductActivation::None;
    if ((command.bias || activates) && !byRows)
      return false;
    if (command.bias && command.biasType != command.outType)
      return false;
    int epilogue = 0;
    auto describe = [&](int parts, int attribute, size_t operand) {
      epilogue |= parts;
      const auto address = reinterpret_cast<void *>(alignmentOf(views[operand]));
      return lt.setProduct(product, attribute, &address, sizeof address) == 0;
    };
    for (auto vector : {command.bias, command.sums})
      if (vector && strideOf(views[*vector].view, 0) > 1)
        return false; // it must be packed
    if (command.bias && !describe(kEpilogueBias, kBias, *command.bias))
      return false;
    if (command.sums && !describe(first == 1 ? kEpilogueSumA : kEpilogueSumB, kBias, *command.sums))
      return false;
    if (activates)
      epilogue |= command.activation == ProductActivation::Slope ? kEpilogueGeluSlope : kEpilogueGelu;
    if (auto aux = command.kept ? command.kept : command.at) {
      const dtcc_view &view = views[*aux].view;
      const int64_t leading = command.m == 1 ? command.n : view.strides[1];
      if (leading % kAuxMultiple != 0 || leading < command.n || alignmentOf(views[*aux]) < kAuxAlignment ||
          !describe(kEpilogueAux, kAux, *aux) || lt.setProduct(product, kAuxLeading, &leading, sizeof leading) != 0)
        return false;
    }
    return epilogue == 0 || lt.setProduct(product, kEpilogue, &epilogue, sizeof epilogue) == 0;
  }

  const CublasLt &lt = cublasLt();
  const ProductCommand command;
  const std::vector<ProductView> views; // as the command numbers its operands
  void *handle, *product = nullptr, *layouts[3] = {};
  LibraryAlgorithm algorithm = {};
  uint64_t algorithmBytes = 0, workspaceAt = 0;
  uint32_t alignments[4] = {}; /* of A, B, C, D */
  std::string text;
  int first = 0; /* which operand is the library's A */
  Kernel addSums;
};

} // namespace

uint64_t alignmentOf(const ProductView &of) {
  int64_t batchStride = of.view.rank == 3 ? strideOf(of.view, 0) : 0;
  auto bits = static_cast<uint64_t>(of.offset | of.view.slot_stride |
                                    batchStride * static_cast<int64_t>(dtcc_dtype_size(of.view.dtype))) |
              kBestAlignment;
  return bits & -bits;
}

std::vector<ProductView> productViews(const CheckedOperands &operands, const Rank &rank) {
  std::vector<ProductView> views;
  for (size_t i = 0; i < operands.operandCount(); ++i)
    views.push_back({operands.operand(i), static_cast<uint64_t>(rank.offset(operands.viewIndex(i)))});
  return views;
}

std::string productLibrary() { return "cublasLt " + cublasLt().version(); }

std::string textOf(const ProductCommand &c, const std::vector<ProductView> &views, const Rank &rank) {
  std::ostringstream out;
  out << c.g << " x " << c.m << " x " << c.n << " x " << c.k << (usesTf32(c, rank) ? " tf32" : "");
  auto number = [&](const char *name, int64_t value) {
    if (value != 0)
      out << ", " << name << ' ' << value;
  };
  number("accumulate", static_cast<int64_t>(c.accumulate));
  number("activation", static_cast<int64_t>(c.activation));
  number("accumulate sums", static_cast<int64_t>(c.sumsAccumulate));
  auto operand = [&](const char *name, std::optional<size_t> at) {
    if (!at)
      return;
    const auto &[view, offset] = views[*at];
    out << "; " << name << ' ' << typeName(view.dtype);
    for (int d = 0; d < view.rank; ++d)
      out << ' ' << strideOf(view, d);
    out << ' ' << alignmentOf(views[*at]);
  };
  operand("lhs", 0), operand("rhs", 1), operand("bias", c.bias), operand("at", c.at);
  operand("out", c.out), operand("kept", c.kept), operand("sums", c.sums);
  return out.str();
}

std::unique_ptr<CudaOp> bindLibraryProduct(const ProductCommand &command, std::vector<ProductView> views, Rank &rank,
                                           Launcher &launcher) {
  void *handle = launcher.products();
  if (!handle)
    return nullptr;
  auto product = std::make_unique<LibraryProduct>(command, std::move(views), handle);
  if (!product->prepare(rank, launcher))
    return nullptr;
  return product;
}

} // namespace dtcc::rt::cuda
