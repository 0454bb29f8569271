//===- Matmul.cpp - Matrix products over the threads of a rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Matmul.h"

#include "runtime/kernels/blas/BlasProduct.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dtcc::rt {
namespace {

/// One matrix product instead of a batch, where every matrix of the batch meets
/// the same right operand and the rows of all are evenly spaced.
void mergeBatch(ProductProblem &p) {
  bool oneRhs = p.g == 1 || p.rhsStrides[0] == 0;
  bool lhsMerges = p.g == 1 || p.m == 1 || p.lhsStrides[0] == p.m * p.lhsStrides[1];
  bool outMerges = p.g == 1 || p.m == 1 || p.outStrides[0] == p.m * p.outStrides[1];
  if (p.g == 1 || !oneRhs || !lhsMerges || !outMerges)
    return;
  if (p.m == 1)
    p.lhsStrides[1] = p.lhsStrides[0], p.outStrides[1] = p.outStrides[0];
  p.m *= p.g;
  p.g = 1;
}

/// out^T = rhs^T lhs^T, for results whose columns are contiguous.
void transpose(ProductProblem &p) {
  std::swap(p.m, p.n);
  std::swap(p.lhs, p.rhs);
  std::swap(p.lhsStrides, p.rhsStrides);
  for (auto *strides : {p.lhsStrides, p.rhsStrides, p.outStrides})
    std::swap(strides[1], strides[2]);
}

/// Gives dimensions of one element a stride that libraries accept: the step of a
/// dense matrix. False if no dimension is contiguous.
bool normalise(int64_t rows, int64_t columns, int64_t (&strides)[3]) {
  if (columns == 1 && rows == 1)
    strides[1] = strides[2] = 1;
  else if (columns == 1)
    strides[2] = strides[1] == 1 ? std::max<int64_t>(rows, 1) : 1;
  else if (rows == 1)
    strides[1] = strides[2] == 1 ? columns : 1;
  return (strides[2] == 1 && strides[1] >= columns) || (strides[1] == 1 && strides[2] >= rows);
}

/// Rows of the right operand a multiple of 4 KiB apart fall into the same sets of
/// the caches: oneDNN loses up to a sixth of its speed on them, and does not on copies.
bool crowdsCaches(const ProductProblem &p) {
  return p.type == DTCC_F32 && p.k > 1 && p.rhsStrides[2] == 1 &&
         p.rhsStrides[1] * static_cast<int64_t>(sizeof(float)) % 4096 == 0;
}

/// Products of fewer rows cost less than the copies that they would spare.
constexpr int64_t leastPackedRows = 512;

/// oneDNN adds all products of a sum one after the other, with an error that grows with their number.
/// Longer sums than this are sums of parts, and no slower for that.
constexpr int64_t longestLibrarySum = 1024;

/// The method that is taken without a measurement. A product that the library cannot compute is left to our own.
ProductMethod methodByRule(const ProductProblem &p) {
  if (!crowdsCaches(p))
    return ProductMethod::OneDnn;
  return p.m < leastPackedRows ? ProductMethod::Own : ProductMethod::OneDnnPacked;
}

/// Tiles of a library that take more than this are left to our own product.
constexpr size_t largestScratch = size_t(64) << 20;

} // namespace

Matmul::Matmul(const ProductProblem &problem, const VectorKernels &kernels, TeamScratch &scratch,
               std::optional<ProductMethod> wanted)
    : planned(problem), kernels(kernels) {
  mergeBatch(planned);
  if (planned.n > 1 && planned.outStrides[2] != 1 && planned.outStrides[1] == 1 && !planned.bias) {
    transpose(planned);
    transposed = true;
  }
  bool plain = normalise(planned.m, planned.k, planned.lhsStrides) &&
               normalise(planned.k, planned.n, planned.rhsStrides) &&
               normalise(planned.m, planned.n, planned.outStrides) && planned.outStrides[2] == 1 &&
               (!planned.bias || planned.biasStride == 1 || planned.n == 1);
  if (const ProductMethod method = wanted.value_or(methodByRule(planned)); plain && take(method, scratch)) {
    chosen = method;
    return;
  }
  scratch.reserve((productScratch + (planned.type == DTCC_F32 ? 0 : halfProductScratch)) * sizeof(float));
}

bool Matmul::take(ProductMethod method, TeamScratch &scratch) {
  if (method == ProductMethod::Own)
    return false;
  if (method == ProductMethod::OpenBlas || method == ProductMethod::Mkl) {
    if (suitsBlas(planned))
      sgemm = sgemmOf(method == ProductMethod::Mkl ? BlasLibrary::Mkl : BlasLibrary::OpenBlas);
    return sgemm;
  }
  // For halves the error of the library's long sums is below the rounding of the operands.
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  oneDnn = createOneDnnProduct(planned,
                               method == ProductMethod::OneDnnPacked ? OneDnnOperands::Packed : OneDnnOperands::InPlace,
                               planned.type == DTCC_F32 ? longestLibrarySum : unlimited);
  if (oneDnn && oneDnn->scratchBytes() > largestScratch)
    oneDnn.reset();
  if (oneDnn)
    scratch.reserveTotal(oneDnn->scratchBytes());
  return oneDnn != nullptr;
}

void Matmul::run(ThreadTeam &team, const TeamScratch &scratch, const ProductProblem &problem) const {
  ProductProblem p = planned;
  p.lhs = transposed ? problem.rhs : problem.lhs;
  p.rhs = transposed ? problem.lhs : problem.rhs;
  p.bias = problem.bias;
  p.out = problem.out;
  if (oneDnn)
    oneDnn->run(p, scratch.at<std::byte>(0));
  else if (sgemm)
    blasProduct(sgemm, team, p);
  else
    ownProduct(team, kernels, p, scratch);
}

void ownProduct(ThreadTeam &team, const VectorKernels &kernels, const ProductProblem &problem,
                const TeamScratch &scratch) {
  int64_t columnBlocks = (problem.n + productColumns - 1) / productColumns;
  // High blocks copy the right operand less often; low ones keep more threads busy.
  // The sums do not depend on it.
  constexpr int64_t leastRows = 60, blocksPerThread = 4;
  int64_t rows = productRows, rowBlocks = 0;
  for (;; rows /= 2) {
    rowBlocks = (problem.m + rows - 1) / rows;
    if (rows / 2 < leastRows || problem.g * columnBlocks * rowBlocks >= blocksPerThread * team.threads())
      break;
  }
  team.parallelParts(problem.g * columnBlocks * rowBlocks, 1, [&](int64_t begin, int64_t end, int part) {
    for (int64_t item = begin; item < end; ++item) {
      int64_t row = item % rowBlocks * rows, column = item / rowBlocks % columnBlocks * productColumns;
      kernels.product(problem, item / rowBlocks / columnBlocks, row, std::min(rows, problem.m - row), column,
                      scratch.at<float>(part));
    }
  });
}

} // namespace dtcc::rt
