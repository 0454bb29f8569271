//===- Kernels.cpp - Seconds of kernels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Kernels.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dtcc::cost {

namespace {
/// Shares of the peak, one row per Architecture: in products, in attention, in attention by the vendor's kernels.
struct Reach {
  double Constants::*products;
  double Constants::*attention;
  double Constants::*tuned;
};
constexpr Reach kReach[] = {
    {&Constants::gemmVolta, &Constants::attentionOther, &Constants::attentionOther},
    {&Constants::gemmAmpere, &Constants::attentionAmpere, &Constants::attentionAmpere},
    {&Constants::gemmHopper, &Constants::attentionHopper, &Constants::attentionHopperTuned},
    {&Constants::gemmBlackwell, &Constants::attentionBlackwell, &Constants::attentionBlackwell},
    {&Constants::gemmGraceBlackwell, &Constants::attentionBlackwell, &Constants::attentionBlackwell},
    {&Constants::gemmBlackwellUltra, &Constants::attentionBlackwell, &Constants::attentionBlackwell},
    {&Constants::gemmAda, &Constants::attentionOther, &Constants::attentionOther},
    {&Constants::gemmCdna, &Constants::attentionOther, &Constants::attentionOther},
    {&Constants::gemmCpu, &Constants::attentionOther, &Constants::attentionOther},
};
const Reach &reachOf(const Device &device) { return kReach[static_cast<int>(device.architecture)]; }

constexpr double kTileRows = 128, kTileColumns = 256, kMultiple = 64;
/// The sums of a product are split into at most so many parts, each of at least so many terms.
constexpr int kMostSumParts = 8;
constexpr double kLeastSum = 1024;
double padded(double size) { return std::ceil(size / kMultiple) * kMultiple; }
bool aligned(double size) { return std::fmod(size, kMultiple) == 0; }
} // namespace

Kernels::Kernels(const Device &device, const Constants &constants, KernelSetting setting)
    : device(device), constants(constants), setting(setting) {}

double Kernels::productRate(Width width) const {
  // A type without products on the device runs in the next wider type.
  while (width != Width::F32 && device.peak(width) == 0)
    width = static_cast<Width>(static_cast<int>(width) - 1);
  double share = constants.*reachOf(device).products;
  if (width == Width::F8)
    share *= constants.gemmNarrow;
  if (width == Width::F4)
    share *= constants.gemmNarrowest;
  if (setting.gathering)
    share *= constants.gemmFsdp;
  return device.peak(width) * share;
}

double Kernels::orthogonalRate() const { return std::max(productRate(Width::B16), productRate(Width::F32)); }

double Kernels::seconds(const Gemm &gemm) const {
  static constexpr double kBytes[kWidths] = {4, 2, 1, 0.5};
  // Tiles of a processor are small, and its threads wait for nobody to start them.
  if (device.architecture == Architecture::Cpu) {
    double bytes = kBytes[static_cast<int>(gemm.width)] * (gemm.k * (gemm.m + gemm.n) + gemm.m * gemm.n);
    bytes = gemm.bytes > 0 ? gemm.bytes : bytes;
    return gemm.count * std::max(2 * gemm.m * gemm.n * gemm.k / productRate(gemm.width), secondsForStream(bytes));
  }
  double m = padded(gemm.m / gemm.groups) * gemm.groups, n = padded(gemm.n);
  double tiles = gemm.groups * std::ceil(m / gemm.groups / kTileRows) * std::ceil(n / kTileColumns);
  const double kernels = gemm.together ? 1 : gemm.count, each = gemm.together ? gemm.count : 1;
  double slower = 1;
  if (!aligned(gemm.m / gemm.groups) || !aligned(gemm.n) || !aligned(gemm.k))
    slower *= constants.misaligned;
  if (!gemm.alignedRows && (std::fmod(gemm.n, 8) != 0 || std::fmod(gemm.k, 8) != 0))
    slower *= constants.odd;
  // Filling and writing a tile takes as long however fast its products are.
  double ends = m * n / (kTileRows * kTileColumns) / double(device.units) * constants.tile;
  double product = std::numeric_limits<double>::infinity();
  // The sums of few tiles are split among multiprocessors that would have none. Their parts, in f32, are added up
  // behind.
  for (int parts = 1; parts <= kMostSumParts && (parts == 1 || gemm.k >= parts * kLeastSum); ++parts) {
    double waves = each * tiles * parts / double(device.units);
    double unfilled = std::min(std::ceil(waves) / waves, 3.0) - 1;
    double sums = parts > 1 ? secondsForStream(2 * sizeof(float) * parts * m * n) : 0;
    product = std::min(product, (2 * m * n * gemm.k / productRate(gemm.width) + parts * ends) * slower *
                                        (1 + constants.wave * unfilled) +
                                    sums);
  }
  double in = kBytes[static_cast<int>(gemm.width)], out = std::max(in, 2.0);
  double bytes = gemm.bytes > 0 ? gemm.bytes : in * gemm.k * (gemm.m + gemm.groups * gemm.n) + out * gemm.m * gemm.n;
  return kernels *
         (each * std::max(product, secondsForStream(bytes)) + constants.launch * (gemm.together ? 1 : gemm.groups));
}

double Kernels::seconds(const Orthogonalized &matrix) const {
  const double side = std::min(matrix.rows, matrix.columns), length = std::max(matrix.rows, matrix.columns);
  // Passes read a sum of f32, or two numbers of bf16, and write what becomes of it.
  const double square = 8 * side * side, cells = 8 * side * length;
  if (device.architecture == Architecture::Cpu)
    return matrix.steps * matrix.stepFlops / orthogonalRate() + (1 + 2 * matrix.steps) * secondsForStream(cells);
  auto pass = [&](double bytes) { return std::max(constants.graphLaunch, secondsForStream(bytes)); };
  auto product = [&](double n, double k) {
    Gemm gemm{side, n, k};
    gemm.bytes = 2 * k * (side + n) + 4 * side * n; // sums are of f32
    return seconds(gemm) - constants.launch + constants.graphLaunch;
  };
  // The matrix is gathered, its norm taken by two kernels, and it is divided by it; its direction is scaled and given
  // to the share.
  const double once = 5 * pass(cells) + constants.graphLaunch;
  // X X^T, A A and B X, each with a pass over its sums.
  return once + matrix.steps * (product(side, length) + product(side, side) + product(length, side) + 2 * pass(square) +
                                pass(cells));
}

double Kernels::seconds(const Attention &attention) const {
  double scores = attention.heads * attention.queries * attention.keys;
  // Two products of 2 * headSize FLOP a score; five in the backward pass of a fused kernel.
  double flops = 4 * scores * attention.headSize;
  if (device.architecture == Architecture::Cpu)
    return flops * (attention.causal ? 0.5 : 1) * (attention.backward ? 2.5 : 1) / productRate(Width::F32);
  if (attention.kernel == AttentionKernel::Plain) {
    // Forward moves 13 parts of 30 of the bytes, backward 17.
    double bytes = scores * constants.scoreBytes * (attention.backward ? 17.0 : 13.0) / 30;
    double rate = productRate(Width::B16) * constants.attentionPlain;
    if (std::fmod(attention.headSize, 8) != 0)
      rate /= constants.attentionOddHead;
    return flops * (attention.backward ? 2 : 1) / rate + secondsForStream(bytes);
  }
  const Reach &reach = reachOf(device);
  bool tuned = attention.kernel == AttentionKernel::Tuned;
  double rate = device.peak(Width::B16) * (constants.*(tuned ? reach.tuned : reach.attention));
  if (attention.kernel == AttentionKernel::FlashFirst)
    rate *= constants.attentionFirst;
  rate *= attention.keys / (attention.keys + constants.attentionRamp);
  if (attention.headSize <= 64 && attention.kernel != AttentionKernel::FlashFirst)
    rate *= constants.attentionSmallHead;
  if (attention.causal)
    flops /= 2;
  if (attention.backward)
    return 2.5 * flops / (rate * constants.attentionBackward);
  return flops / rate;
}

double Kernels::secondsForStream(double bytes) const {
  return bytes / (device.memoryBytesPerSecond * constants.stream);
}

double Kernels::seconds(const Work &work, bool backward) const {
  double sum = 0;
  for (const Gemm &gemm : work.gemms)
    sum += seconds(gemm);
  for (const Attention &attention : work.attentions)
    sum += seconds(attention);
  double bytes = work.streamBytes * constants.elementwise * (setting.fused ? constants.elementwiseFused : 1) *
                 (setting.autocast ? constants.elementwiseAutocast : 1);
  bytes *= backward ? constants.elementwiseBackward : 1;
  bytes += work.kernelBytes + work.castValues * constants.castBytes;
  bytes += work.logits * (setting.fused ? constants.logitBytesFused : constants.logitBytes);
  return sum + secondsForStream(bytes);
}

} // namespace dtcc::cost
