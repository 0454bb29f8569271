//===- LinearRegression.cpp - A whole training program made by hand -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/runtime/LinearRegression.h"

namespace dtcc::rt::test {
namespace {

constexpr float momentum = 0.9f;

struct Shape {
  int64_t rows, features, bucket, share;
};

/// The sizes travel in an operand: kernels of the compiler have them as constants.
const Shape &shapeOf(void *const *buffers) { return *static_cast<const Shape *>(buffers[0]); }

/// residual[i] = x[i] . w - y[i]
void residualKernel(const dtcc_rank *, void *const *buffers, int64_t begin, int64_t end) {
  const Shape &shape = shapeOf(buffers);
  auto *x = static_cast<const float *>(buffers[1]), *y = static_cast<const float *>(buffers[2]),
       *w = static_cast<const float *>(buffers[3]);
  auto *residual = static_cast<float *>(buffers[4]);
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < shape.features; ++j)
      sum += x[i * shape.features + j] * w[j];
    residual[i] = sum - y[i];
  }
}

/// gradient[j] += sum of 2 * residual[i] * x[i, j]
void gradientKernel(const dtcc_rank *, void *const *buffers, int64_t begin, int64_t end) {
  const Shape &shape = shapeOf(buffers);
  auto *x = static_cast<const float *>(buffers[1]), *residual = static_cast<const float *>(buffers[2]);
  auto *gradient = static_cast<float *>(buffers[3]);
  for (int64_t j = begin; j < end; ++j)
    for (int64_t i = 0; i < shape.rows; ++i)
      gradient[j] += 2 * residual[i] * x[i * shape.features + j];
}

/// sums[0] += sum of residual^2, sums[1] += rows
void lossKernel(const dtcc_rank *, void *const *buffers, int64_t, int64_t) {
  const Shape &shape = shapeOf(buffers);
  auto *residual = static_cast<const float *>(buffers[1]);
  auto *sums = static_cast<float *>(buffers[2]);
  for (int64_t i = 0; i < shape.rows; ++i)
    sums[0] += residual[i] * residual[i];
  sums[1] += static_cast<float>(shape.rows);
}

/// On the rank's share: m = 0.9 m + g / count; fresh = w - lr * m
void updateKernel(const dtcc_rank *rank, void *const *buffers, int64_t begin, int64_t end) {
  const Shape &shape = shapeOf(buffers);
  auto *gradient = static_cast<const float *>(buffers[1]), *sums = static_cast<const float *>(buffers[2]),
       *lr = static_cast<const float *>(buffers[3]), *w = static_cast<const float *>(buffers[4]);
  auto *m = static_cast<float *>(buffers[5]), *fresh = static_cast<float *>(buffers[6]);
  const float *mine = w + rank->coordinates[0] * shape.share;
  for (int64_t i = begin; i < end; ++i) {
    m[i] = momentum * m[i] + gradient[i] / sums[1];
    fresh[i] = mine[i] - *lr * m[i];
  }
}

/// Writes the sizes: the first command of every step.
template <int64_t Shape::*field> void setKernel(const dtcc_rank *, void *const *buffers, int64_t, int64_t) {
  static_cast<Shape *>(buffers[0])->*field = *static_cast<const int64_t *>(buffers[1]);
}

} // namespace

const dtcc_kernel linearRegressionKernels[] = {
    residualKernel,
    gradientKernel,
    lossKernel,
    updateKernel,
    setKernel<&Shape::rows>,
    setKernel<&Shape::features>,
    setKernel<&Shape::bucket>,
    setKernel<&Shape::share>,
};
const uint64_t linearRegressionKernelCount = sizeof(linearRegressionKernels) / sizeof(dtcc_kernel);

std::vector<uint64_t> linearRegressionImage(const LinearRegressionPlan &plan) {
  ImageBuilder b;
  uint8_t dp = b.axis("dp", plan.ranks), mb = b.axis("mb", plan.microbatches, DTCC_AXIS_TIME);
  uint32_t group = b.communicator("dp", {dp});
  int64_t rows = plan.batch / (plan.ranks * plan.microbatches);
  int64_t share = (plan.features + plan.ranks - 1) / plan.ranks, bucket = share * plan.ranks;

  uint32_t state = b.arena("state"), work = b.arena("activations");
  uint32_t shape = b.view(work, DTCC_I64, {4});
  uint32_t w = b.view(state, DTCC_F32, {bucket}), m = b.view(state, DTCC_F32, {share});
  uint32_t wPart = static_cast<uint32_t>(b.views.size());
  b.views.push_back(b.views[w]);
  b.views.back().sizes[0] = plan.features;
  uint32_t x = b.view(work, DTCC_F32, {rows, plan.features}, plan.microbatches);
  uint32_t y = b.view(work, DTCC_F32, {rows}, plan.microbatches);
  uint32_t residual = b.view(work, DTCC_F32, {rows}), gradient = b.view(work, DTCC_F32, {bucket});
  uint32_t gradientShare = b.view(work, DTCC_F32, {share}), fresh = b.view(work, DTCC_F32, {share});
  uint32_t sums = b.view(work, DTCC_F32, {2}), lr = b.view(work, DTCC_F32, {}), step = b.view(work, DTCC_I64, {});
  uint32_t constant = b.view(work, DTCC_I64, {});

  auto set = [&](uint32_t kernel, int64_t value) {
    b.fill(constant, value);
    b.kernel(kernel, {shape, constant}, 1);
  };
  set(4, rows);
  set(5, plan.features);
  set(6, bucket);
  set(7, share);
  b.fill(gradient, 0);
  b.fill(sums, 0);
  uint32_t begin = b.phase("begin");
  b.kernel(0, {shape, x, y, wPart, residual}, rows).flops = static_cast<double>(2 * rows * plan.features);
  b.kernel(1, {shape, x, residual, gradient}, plan.features).flops = static_cast<double>(2 * rows * plan.features);
  b.kernel(2, {shape, residual, sums}, 1);
  uint32_t forwardBackward = b.phase("forward_backward");
  b.collective(DTCC_REDUCE_SCATTER, group, gradient, gradientShare);
  b.collective(DTCC_ALL_REDUCE, group, sums, sums);
  b.kernel(3, {shape, gradientShare, sums, lr, w, m, fresh}, share);
  b.collective(DTCC_ALL_GATHER, group, fresh, w);
  uint32_t update = b.phase("update");
  b.action(begin);
  for (int64_t slot = 0; slot < plan.microbatches; ++slot)
    b.action(forwardBackward, static_cast<uint32_t>(slot));
  b.action(update);

  auto input = [&](const char *name, uint32_t view, std::vector<int64_t> rest) {
    dtcc_input row{};
    row.name = b.string(name);
    row.view = view;
    row.rank = static_cast<uint32_t>(1 + rest.size());
    row.dims[0] = dimOf(plan.batch, plan.batch, {mb, dp});
    for (size_t d = 0; d < rest.size(); ++d)
      row.dims[d + 1] = dimOf(rest[d], rest[d]);
    b.inputs.push_back(row);
  };
  input("x", x, {plan.features});
  input("y", y, {});

  dtcc_bucket bucketRow{};
  bucketRow.name = b.string("parameters");
  bucketRow.view = w;
  bucketRow.length = bucket;
  bucketRow.parameters = DTCC_NONE;
  b.buckets.push_back(bucketRow);
  bucketRow.name = b.string("momentum");
  bucketRow.view = m;
  bucketRow.flat = axesOf({dp});
  bucketRow.role = DTCC_STATE_SLOT;
  bucketRow.parameters = 0;
  b.buckets.push_back(bucketRow);
  dtcc_state row{};
  row.name = b.string("w");
  row.view = wPart;
  row.rank = row.saved_rank = 1;
  row.role = DTCC_STATE_PARAMETER;
  row.dtype = DTCC_F32;
  row.parameter = DTCC_NONE;
  row.trainable = 1;
  row.init = plan.init;
  row.init_b = 0.5;
  row.saved_sizes[0] = plan.features;
  row.dims[0] = dimOf(plan.features, plan.features);
  b.states.push_back(row);
  row.name = b.string("w.momentum");
  row.view = DTCC_NONE;
  row.role = DTCC_STATE_SLOT;
  row.bucket = 1;
  row.parameter = 0;
  row.trainable = 0;
  row.init = DTCC_INIT_ZERO;
  b.states.push_back(row);

  auto scalarView = [&](uint32_t of, int64_t element) {
    dtcc_view view{};
    view.arena = b.views[of].arena;
    view.dtype = b.views[of].dtype;
    view.offset = b.views[of].offset + element * 4;
    b.views.push_back(view);
    return static_cast<uint32_t>(b.views.size() - 1);
  };
  b.scalars[DTCC_SCALAR_LOSS_SUM] = scalarView(sums, 0);
  b.scalars[DTCC_SCALAR_LOSS_COUNT] = scalarView(sums, 1);
  b.scalars[DTCC_SCALAR_LR] = lr;
  b.scalars[DTCC_SCALAR_STEP] = step;
  b.header.training.lr = 0.05;
  b.header.training.batch = plan.batch;
  b.header.training.seed = 7;
  return b.build();
}

} // namespace dtcc::rt::test
