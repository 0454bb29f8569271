//===- LibraryConvolution.cpp - Convolutions by cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/LibraryConvolution.h"

#include "runtime/core/Error.h"
#include "runtime/cuda/kernels/product/Convolution.h"
#include "runtime/cuda/ops/CudnnOp.h"
#include "runtime/cuda/ops/Operands.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <sstream>
#include <utility>

namespace dtcc::rt::cuda {

using namespace dnn;
using enum ConvolutionDirection;

namespace {

int typeOf(dtcc_dtype type) { return type == DTCC_BF16 ? kDnnBf16 : type == DTCC_F16 ? kDnnF16 : kDnnF32; }

/// The spatial dimensions that the library is told of. It knows two or three.
int firstDimension(const Window &w) {
  return w.image[0] == 1 && w.window[0] == 1 && w.result[0] == 1 && w.low[0] == 0 ? 1 : 0;
}

/// Throws CudnnRefusal where the window does not reach the image's end, and no step of a stride makes up for it.
CudnnWindows windowsOf(const Window &w) {
  CudnnWindows made;
  for (int d = firstDimension(w); d < 3; ++d) {
    // The number of results leaves `stride` numbers of padding cells to choose from.
    const int64_t least =
        (w.result[d] - 1) * w.strides[d] + (w.window[d] - 1) * w.dilations[d] + 1 - w.image[d] - w.low[d];
    const int64_t most = least + w.strides[d] - 1;
    if (most < 0)
      throw CudnnRefusal{"a convolution leaves out cells behind its image"};
    made.strides.push_back(w.strides[d]), made.dilations.push_back(w.dilations[d]);
    made.before.push_back(w.low[d]);
    // As many cells as in front where possible, as some engines take no others.
    made.after.push_back(w.low[d] >= least && w.low[d] <= most ? w.low[d] : std::max<int64_t>(least, 0));
  }
  return made;
}

/// Adds a tensor [outer, channels, cells] to the graph.
CudnnGraph::Tensor addTensor(CudnnGraph &graph, dtcc_dtype type, int64_t outer, int64_t outerStride, int64_t channels,
                             int64_t channelStride, const int64_t (&cells)[3], int64_t cellStride, int first) {
  std::vector<int64_t> sizes = {outer, channels}, strides = {outerStride, channelStride};
  for (int d = first; d < 3; ++d) {
    int64_t step = cellStride;
    for (int inner = d + 1; inner < 3; ++inner)
      step *= cells[inner];
    sizes.push_back(cells[d]), strides.push_back(step);
  }
  return graph.memory(typeOf(type), sizes, strides);
}

CudnnGraph graphOf(const LibraryConvolutionForm &form) {
  const ConvolutionProblem &p = form.problem;
  const Window &w = p.window;
  const int first = firstDimension(w);
  CudnnGraph graph;
  const auto typeIf = [&](bool isResult) { return isResult ? p.outType : p.type; };
  const auto image = [&](int64_t channels, const ImageStrides &s, const int64_t (&cells)[3], bool isResult) {
    return addTensor(graph, typeIf(isResult), p.samples, s.sample, p.groups * channels, s.channel, cells, s.cell,
                     first);
  };
  const KernelStrides s = p.kernelStrides();
  const auto x = image(p.inputs, p.imageStrides(), w.image, form.direction == InputGrad);
  const auto kernel = addTensor(graph, typeIf(form.direction == KernelGrad), p.groups * p.outputs, s.output, p.inputs,
                                s.input, w.window, s.cell, first);
  const auto y = image(p.outputs, p.resultStrides(), w.result, form.direction == Forward);
  const int kind = form.direction == Forward ? kForward : form.direction == InputGrad ? kDataGrad : kFilterGrad;
  graph.convolution(kind, x, kernel, y, windowsOf(w));
  // Sums are f32, and equal in every run, as those of our kernels are.
  graph.avoid(kDnnRoundsSums);
  graph.avoid(kDnnAddsInAnyOrder);
  // Engines that transform their operands round the transforms to halves before they multiply them.
  if (p.type != DTCC_F32)
    for (int transform : {kDnnFourier, kDnnWinograd, kDnnWinograd4, kDnnWinograd6, kDnnWinograd13})
      graph.avoid(transform);
  if (p.type == DTCC_F32 && !form.usesTf32) {
    graph.avoid(kDnnTensorCores);
    graph.avoid(kDnnRoundsInputs);
  }
  return graph;
}

/// The form of a command that the library is asked for. The library has no engines that make f32 of halves, so it
/// rounds the kernel's gradient once, after sums in f32.
LibraryConvolutionForm formOf(const ConvolutionCommand &command, ConvolutionDirection direction, const Rank &rank) {
  LibraryConvolutionForm form = {command.problem, direction, rank.image.header().tf32 != 0};
  form.problem.outType = form.problem.type;
  return form;
}

/// The first problem in halves that the library has no engine for: a program may be slower for it. For f32 it has few
/// engines that do not round.
void sayOnce(const ConvolutionProblem &problem, const Rank &rank, const std::string &reason) {
  static std::atomic<bool> said = false;
  if (problem.type != DTCC_F32 && rank.abi.rank == 0 && !said.exchange(true))
    std::cerr << "note: a convolution runs in dtcc's own kernels, which are slower: cuDNN " << cudnn().version() << ": "
              << reason << std::endl;
}

/// A convolution by cuDNN.
class LibraryConvolutionOp final : public CudnnOp<LibraryConvolutionWay> {
public:
  LibraryConvolutionOp(const ConvolutionCommand &command, ConvolutionDirection direction, const Rank &rank,
                       Launcher &launcher)
      : CudnnOp(std::to_string(static_cast<int>(direction)) + " " + convolutionText(command, rank),
                launcher.convolutions()),
        command(command), form(formOf(command, direction, rank)) {
    changesType = form.problem.outType != command.problem.outType;
    if (changesType || command.accumulate != Accumulation::Never)
      addTo = Kernel(launcher, "DirectConvolution", "convolution_parts");
  }

  void run(Rank &rank, const Call &call) override {
    const ConvolutionProblem &c = command.problem;
    const bool adds = accumulates(command.accumulate, rank), isApart = changesType || adds;
    WorkspaceLayout layout;
    void *out = call.buffers[2];
    if (isApart)
      out = at<void>(call, layout.take(convolutionWorkspace(c).kernelGrad()));
    // In the order in which the graph's tensors were made: image, kernel, result.
    void *const first = call.buffers[0], *const second = call.buffers[1];
    const std::vector<void *> addresses = form.direction == Forward     ? std::vector<void *>{first, second, out}
                                          : form.direction == InputGrad ? std::vector<void *>{out, second, first}
                                                                        : std::vector<void *>{second, out, first};
    execute(rank, call, addresses, at<void>(call, layout.bytes()), "a convolution");
    if (!isApart)
      return;
    const int64_t cells = convolutionWorkspace(c).kernelCells();
    addTo(call, partsOf(cells, directThreads), directThreads,
          ConvolutionParts{cells, out, 1, adds, call.buffers[2], static_cast<int32_t>(c.outType),
                           static_cast<int32_t>(form.problem.outType)});
  }

private:
  std::vector<LibraryConvolutionWay> makeWays(size_t most) const override {
    return convolutionWays(form, {handle, nullptr}, convolutionWorkspace(form.problem).engine(), most);
  }

  const ConvolutionCommand command;
  const LibraryConvolutionForm form;
  bool changesType = false; // the library makes another type than the command's result has
  Kernel addTo;             // of a kernel's gradient in the workspace
};

} // namespace

gpu_workspace::LibraryConvolution convolutionWorkspace(const ConvolutionProblem &p) {
  return {p.samples,
          p.groups,
          p.inputs,
          p.outputs,
          p.window.imageCells(),
          p.window.windowCells(),
          p.window.resultCells(),
          static_cast<int64_t>(dtcc_dtype_size(p.type))};
}

std::string convolutionText(const ConvolutionCommand &command, const Rank &rank) {
  const ConvolutionProblem &p = command.problem;
  std::ostringstream out;
  out << typeName(p.type) << " to " << typeName(p.outType)
      << (p.type == DTCC_F32 && rank.image.header().tf32 ? " tf32 " : " ") << p.samples << " x " << p.groups << " x "
      << p.inputs << " x " << p.outputs;
  const Window &w = p.window;
  for (const auto &[name, three] : {std::pair("image", w.image),
                                    {"window", w.window},
                                    {"result", w.result},
                                    {"strides", w.strides},
                                    {"dilations", w.dilations},
                                    {"low", w.low}})
    out << ", " << name << ' ' << three[0] << ' ' << three[1] << ' ' << three[2];
  for (const auto &[name, last] :
       {std::pair("image", p.channelsLast.image), {"kernel", p.channelsLast.kernel}, {"result", p.channelsLast.result}})
    if (last)
      out << ", " << name << " channels last";
  if (command.accumulate != Accumulation::Never)
    out << ", accumulate " << static_cast<int>(command.accumulate);
  return out.str();
}

bool isForCudnn(const ConvolutionCommand &command, const CheckedOperands &operands, const Rank &rank) {
  const gpu_workspace::LibraryConvolution sizes = convolutionWorkspace(command.problem);
  // cuDNN 9.19 gives wrong gradients of f32 kernels on an H100 where images of f32 have their channels last, and the
  // windows are padded on one side alone. Programs have such images in halves only.
  if (command.problem.type == DTCC_F32 && command.problem.channelsLast.any())
    return false;
  // The library knows neither predicates nor empty tensors.
  return !operands.isPredicated() && sizes.samples * sizes.imageCells * sizes.resultCells * sizes.kernelCells() > 0 &&
         areAligned(operands, rank, 16);
}

std::unique_ptr<CudaOp> bindLibraryConvolution(const ConvolutionCommand &command, ConvolutionDirection direction,
                                               Rank &rank, Launcher &launcher) {
  try {
    auto op = std::make_unique<LibraryConvolutionOp>(command, direction, rank, launcher);
    op->takeFirst();
    return op;
  } catch (const CudnnRefusal &refusal) {
    sayOnce(command.problem, rank, refusal.reason);
    return nullptr;
  }
}

std::vector<LibraryConvolutionWay> convolutionWays(const LibraryConvolutionForm &form, const CudnnTarget &target,
                                                   int64_t mostWorkspace, size_t most) {
  auto graph = std::make_shared<CudnnGraph>(graphOf(form));
  std::vector<LibraryConvolutionWay> ways;
  for (CudnnPlan &plan : graph->plans(target, mostWorkspace, most))
    ways.push_back({graph, std::move(plan)});
  return ways;
}

} // namespace dtcc::rt::cuda
