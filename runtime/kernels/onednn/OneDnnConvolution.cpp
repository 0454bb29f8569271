//===- OneDnnConvolution.cpp - Convolutions by oneDNN -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/onednn/OneDnnConvolution.h"

#include "runtime/kernels/onednn/OneDnnLibrary.h"

#ifdef DTCC_HAS_ONEDNN_2

#include <algorithm>
#include <string_view>

namespace dtcc::rt {
namespace {

using namespace onednn;

/// Most bytes of the samples of a run in oneDNN's order: about the size of a processor's last cache.
constexpr size_t mostSampleBytes = size_t{16} << 20;
/// Cells that one execution may sum up into a kernel's gradient: a longer running sum in f32 rounds more.
constexpr int64_t mostSummedCells = 1024;

/// An operand in the dense order of the library op ("plain") and in the order that the primitive wants ("inner").
struct Operand {
  dnnl_memory_desc_t any, plainDesc, innerDesc;
  Memory plain, inner;
  Primitive toInner, toPlain, addToPlain; // reorders; made if they are needed
  size_t offset = 0;                      // of its inner cells in the scratch memory
  size_t bytes = 0;                       // plain, of the samples of one execution
  bool same = false;                      // the primitive takes the plain order

  bool describe(const dnnl_dims_t &sizes, int rank) {
    dnnl_dims_t steps = {};
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; step *= sizes[d--])
      steps[d] = step;
    bytes = static_cast<size_t>(step) * sizeof(float);
    const Library &lib = library();
    return !lib.dnnl_memory_desc_init_by_strides(&plainDesc, rank, sizes, dnnl_f32, steps) &&
           !lib.dnnl_memory_desc_init_by_tag(&any, rank, sizes, dnnl_f32, dnnl_format_tag_any);
  }
};

class Convolution final : public OneDnnConvolution {
public:
  explicit Convolution(ConvolutionDirection direction) : direction(direction) {}

  /// False if the library refuses.
  bool init(const ConvolutionProblem &p) {
    samples = p.samples;
    const size_t sampleBytes =
        static_cast<size_t>(p.groups * (p.inputs * p.window.imageCells() + p.outputs * p.window.resultCells())) *
        sizeof(float);
    perRun = std::clamp<int64_t>(static_cast<int64_t>(mostSampleBytes / std::max<size_t>(sampleBytes, 1)), 1, samples);
    if (direction == ConvolutionDirection::KernelGrad)
      perRun = std::clamp<int64_t>(mostSummedCells / p.window.resultCells(), 1, perRun);
    while (samples % perRun)
      --perRun;
    if (!describe(p) || !makePrimitive(p))
      return false;
    for (Operand *operand : {&image, &kernel, &result})
      if (!makeOrders(*operand, operand == &written()))
        return false;
    return !library().dnnl_stream_create(&stream.handle, library().engine, dnnl_stream_default_flags);
  }

  size_t scratchBytes() const override { return scratchSize; }

  void run(const void *first, const void *second, void *out, bool accumulate, std::byte *scratch) override {
    setAddress(pad, scratch);
    const void *addresses[3] = {first, second, out};
    Operand *const operands[3] = {&read(0), &read(1), &written()};
    for (int64_t at = 0; at < samples; at += perRun) {
      for (int i = 0; i < 3; ++i) {
        Operand &operand = *operands[i];
        const size_t skipped = &operand == &kernel ? 0 : static_cast<size_t>(at / perRun) * operand.bytes;
        setAddress(operand.plain, static_cast<const std::byte *>(addresses[i]) + skipped);
        if (!operand.same)
          setAddress(operand.inner, scratch + operand.offset);
        if (i < 2 && !operand.same && (at == 0 || &operand != &kernel))
          reorder(operand.toInner, operand.plain, operand.inner);
      }
      execute();
      if (Operand &to = written(); !to.same)
        reorder(accumulate || (&to == &kernel && at > 0) ? to.addToPlain : to.toPlain, to.inner, to.plain);
    }
    library().dnnl_stream_wait(stream);
  }

private:
  /// The operand that is read first or second, in the order of the library op.
  Operand &read(int i) {
    switch (direction) {
    case ConvolutionDirection::Forward:
      return i == 0 ? image : kernel;
    case ConvolutionDirection::InputGrad:
      return i == 0 ? result : kernel;
    case ConvolutionDirection::KernelGrad:
      return i == 0 ? result : image;
    }
  }
  Operand &written() {
    return direction == ConvolutionDirection::Forward     ? result
           : direction == ConvolutionDirection::InputGrad ? image
                                                          : kernel;
  }

  /// Spatial dimensions that are not 1 everywhere, at least two: oneDNN is fastest without the others.
  bool describe(const ConvolutionProblem &p) {
    const Window &w = p.window;
    const int from = w.image[0] == 1 && w.window[0] == 1 && w.result[0] == 1 ? 1 : 0;
    rank = 2 + 3 - from;
    const bool grouped = p.groups > 1;
    dnnl_dims_t imageSizes = {perRun, p.groups * p.inputs}, resultSizes = {perRun, p.groups * p.outputs}, kernelSizes;
    int at = 0;
    if (grouped)
      kernelSizes[at++] = p.groups;
    kernelSizes[at++] = p.outputs, kernelSizes[at++] = p.inputs;
    for (int d = from; d < 3; ++d) {
      const int i = d - from;
      imageSizes[2 + i] = w.image[d], resultSizes[2 + i] = w.result[d], kernelSizes[at++] = w.window[d];
      strides[i] = w.strides[d], dilations[i] = w.dilations[d] - 1, low[i] = w.low[d];
      const int64_t seen = (w.result[d] - 1) * w.strides[d] + (w.window[d] - 1) * w.dilations[d] + 1;
      // Cells at the end that no window sees are no padding; a whole stride of them would be another result.
      if (w.image[d] + w.low[d] - seen >= w.strides[d])
        return false;
      high[i] = std::max<int64_t>(seen - w.image[d] - w.low[d], 0);
    }
    return image.describe(imageSizes, rank) && result.describe(resultSizes, rank) && kernel.describe(kernelSizes, at);
  }

  bool makePrimitive(const ConvolutionProblem &p) {
    const Library &lib = library();
    dnnl_convolution_desc_t desc, forwardDesc;
    PrimitiveDesc forward, backward;
    Attributes attributes;
    if (!create(attributes, false) ||
        lib.dnnl_dilated_convolution_forward_desc_init(&forwardDesc, dnnl_forward_training, dnnl_convolution_direct,
                                                       &image.any, &kernel.any, nullptr, &result.any, strides,
                                                       dilations, low, high) ||
        lib.dnnl_primitive_desc_create(&forward.handle, &forwardDesc, attributes, lib.engine, nullptr))
      return false;
    if (direction == ConvolutionDirection::Forward)
      return finish(forward, dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md);
    const bool toInput = direction == ConvolutionDirection::InputGrad;
    if (toInput ? lib.dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &image.any,
                                                                       &kernel.any, &result.any, strides, dilations,
                                                                       low, high)
                : lib.dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &image.any,
                                                                          &kernel.any, nullptr, &result.any, strides,
                                                                          dilations, low, high))
      return false;
    if (lib.dnnl_primitive_desc_create(&backward.handle, &desc, attributes, lib.engine, forward))
      return false;
    return toInput ? finish(backward, dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md)
                   : finish(backward, dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md);
  }

  /// Makes the primitive if it is a direct convolution, and asks which orders it wants.
  bool finish(const PrimitiveDesc &desc, dnnl_query_t ofImage, dnnl_query_t ofKernel, dnnl_query_t ofResult) {
    const Library &lib = library();
    const char *implementation = nullptr;
    if (lib.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &implementation))
      return false;
    // All other implementations multiply columns, as our own kernel does, or are plain loops.
    const std::string_view name(implementation);
    if (!name.starts_with("jit") && !name.starts_with("brgconv"))
      return false;
    image.innerDesc = *lib.dnnl_primitive_desc_query_md(desc, ofImage, 0);
    kernel.innerDesc = *lib.dnnl_primitive_desc_query_md(desc, ofKernel, 0);
    result.innerDesc = *lib.dnnl_primitive_desc_query_md(desc, ofResult, 0);
    const dnnl_memory_desc_t *padDesc = lib.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    scratchSize = aligned(lib.dnnl_memory_desc_get_size(padDesc));
    return create(pad, *padDesc) && !lib.dnnl_primitive_create(&primitive.handle, desc);
  }

  bool makeOrders(Operand &operand, bool writes) {
    const Library &lib = library();
    // A kernel's gradient is added to what is there by its reorder.
    const bool adds = writes && &operand == &kernel;
    operand.same = !adds && lib.dnnl_memory_desc_equal(&operand.plainDesc, &operand.innerDesc);
    if (!create(operand.plain, operand.plainDesc))
      return false;
    if (operand.same)
      return true;
    operand.offset = scratchSize;
    scratchSize += aligned(lib.dnnl_memory_desc_get_size(&operand.innerDesc));
    if (!create(operand.inner, operand.innerDesc))
      return false;
    if (!writes)
      return create(operand.toInner, operand.plainDesc, operand.innerDesc, false);
    return create(operand.toPlain, operand.innerDesc, operand.plainDesc, false) &&
           (!adds || create(operand.addToPlain, operand.innerDesc, operand.plainDesc, true));
  }

  void reorder(const Primitive &how, const Memory &from, const Memory &to) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    library().dnnl_primitive_execute(how, stream, 2, args);
  }

  void execute() {
    const auto memoryOf = [](const Operand &operand) -> dnnl_memory_t {
      return operand.same ? operand.plain : operand.inner;
    };
    const bool forward = direction == ConvolutionDirection::Forward;
    const dnnl_exec_arg_t args[] = {
        {direction == ConvolutionDirection::InputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, memoryOf(image)},
        {direction == ConvolutionDirection::KernelGrad ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, memoryOf(kernel)},
        {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, memoryOf(result)},
        {DNNL_ARG_SCRATCHPAD, pad}};
    library().dnnl_primitive_execute(primitive, stream, 4, args);
  }

  ConvolutionDirection direction;
  int64_t samples = 0, perRun = 0; // perRun divides samples
  int rank = 0;
  dnnl_dims_t strides, dilations, low, high;
  Operand image, kernel, result;
  Primitive primitive;
  Memory pad;
  Stream stream;
  size_t scratchSize = 0;
};

} // namespace

std::unique_ptr<OneDnnConvolution> createOneDnnConvolution(const ConvolutionProblem &problem,
                                                           ConvolutionDirection direction) {
  // Gradients of a few channels fill a small part of a vector: a third of the rate of our own columns.
  const bool fewChannels = direction == ConvolutionDirection::InputGrad && problem.groups == 1 && problem.inputs < 16;
  // Halves are summed in single precision until they are complete, which oneDNN does not promise.
  if (!library().engine || problem.type != DTCC_F32 || fewChannels || problem.samples == 0)
    return nullptr;
  auto convolution = std::make_unique<Convolution>(direction);
  if (!convolution->init(problem))
    return nullptr;
  return convolution;
}

} // namespace dtcc::rt

#else

namespace dtcc::rt {

std::unique_ptr<OneDnnConvolution> createOneDnnConvolution(const ConvolutionProblem &, ConvolutionDirection) {
  return nullptr;
}

} // namespace dtcc::rt

#endif
