//===- LibraryAttention.cpp - Attention by cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/LibraryAttention.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/driver/TunableOp.h"
#include "runtime/cuda/ops/CudnnOp.h"
#include "runtime/cuda/ops/Operands.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <limits>
#include <sstream>

namespace dtcc::rt::cuda {
namespace {

gpu_workspace::LibraryAttention workspaceOf(const AttentionProblem &p) {
  return {p.batch, p.queries, p.keys, p.kvHeads, p.groups, p.qkSize, p.vSize};
}

/// The key of a problem among the library's plans: all that the library is told and that neither is fixed nor follows.
std::string textOf(const AttentionProblem &p, const AttentionForm &form) {
  std::ostringstream out;
  out.precision(std::numeric_limits<float>::max_digits10);
  out << "attention" << (form.backward ? " gradient " : " ") << typeName(form.type) << ' ' << p.batch << " x "
      << p.kvHeads << " x " << p.groups << ", " << p.queries << " x " << p.keys << " x " << p.qkSize << " x " << p.vSize
      << ", scale " << p.scale << (p.causal ? ", causal " + std::to_string(p.causalOffset) : "") << ", from "
      << p.firstQuery << ", window " << p.windowLeft << ' ' << p.windowRight;
  for (const AttentionTensor *x : {&p.q, &p.k, &p.v, &p.out, &p.lse, &p.dout, &p.dq, &p.dk, &p.dv}) {
    out << ';';
    for (int64_t stride : x->strides)
      out << ' ' << stride;
  }
  return out.str();
}

/// Tells once, of the first problem, that the library supports problems of this kind but has no engine for this one.
void sayOnce(const Rank &rank, const std::string &reason) {
  static std::atomic<bool> said = false;
  if (rank.abi.rank == 0 && !said.exchange(true))
    std::cerr << "note: attention runs in dtcc's own kernels, which are slower: cuDNN " << cudnn().version() << ": "
              << reason << std::endl;
}

/// Attention by cuDNN.
class LibraryAttention final : public CudnnOp<AttentionWay> {
public:
  LibraryAttention(AttentionCommand command, const AttentionProblem &problem, const AttentionForm &form, void *handle)
      : CudnnOp(textOf(problem, form), handle), command(std::move(command)), form(form), of(problem) {}

  void run(Rank &rank, const Call &call) override {
    Solver solver(*this, rank, call);
    command.run(rank, call.buffers, solver);
  }

private:
  struct Solver final : AttentionCommand::Solver {
    Solver(LibraryAttention &op, Rank &rank, const Call &call) : op(op), rank(rank), call(call) {}
    void solve(const AttentionProblem &p) override { op.solve(p, rank, call); }
    void fill(const AttentionTensor &, const std::array<int64_t, 5> &, float) override {} // of a part of the keys
    LibraryAttention &op;
    Rank &rank;
    const Call &call;
  };

  std::vector<AttentionWay> makeWays(size_t most) const override {
    return attentionWays(of, form, {handle, nullptr}, most);
  }

  void solve(const AttentionProblem &p, Rank &rank, const Call &call) {
    std::vector<void *> addresses = {p.q.data, p.k.data, p.v.data, p.out.data, p.lse.data};
    const gpu_workspace::LibraryAttention sizes = workspaceOf(p);
    WorkspaceLayout layout;
    if (command.backward) {
      addresses.insert(addresses.end(), {p.dout.data, p.dq.data, p.dk.data, p.dv.data});
      addresses.push_back(at<void>(call, layout.take(sizes.dots())));
      if (way->addsInMemory)
        addresses.push_back(at<void>(call, layout.take(sizes.sums())));
    }
    execute(rank, call, addresses, at<void>(call, layout.bytes()), "attention");
  }

  const AttentionCommand command;
  const AttentionForm form;
  const AttentionProblem of;
};

} // namespace

std::vector<AttentionWay> attentionWays(const AttentionProblem &problem, const AttentionForm &form,
                                        const CudnnTarget &target, size_t most) {
  const gpu_workspace::LibraryAttention sizes = workspaceOf(problem);
  std::vector<AttentionWay> ways;
  CudnnRefusal refusal;
  auto add = [&](bool addsInMemory, int64_t workspace) {
    AttentionForm wanted = form;
    wanted.addsInMemory = addsInMemory;
    try {
      auto graph = std::make_shared<CudnnGraph>(attentionGraph(problem, wanted));
      for (CudnnPlan &plan : graph->plans(target, workspace, most - ways.size()))
        ways.push_back({graph, std::move(plan), addsInMemory});
    } catch (const CudnnRefusal &reason) {
      refusal = reason;
    }
  };
  if (!form.backward) {
    add(false, sizes.forward());
  } else {
    // Engines for Hopper and Blackwell add up where they are told to; those for Ampere in their workspace.
    const int64_t workspace = sizes.backward() - sizes.dots();
    add(true, workspace - sizes.sums());
    if (ways.size() < most)
      add(false, workspace);
  }
  if (ways.empty())
    throw refusal;
  return ways;
}

std::unique_ptr<CudaOp> bindLibraryAttention(const CheckedOperands &operands, Rank &rank, Launcher &launcher,
                                             bool backward, std::function<std::unique_ptr<CudaOp>()> makeOwn) {
  const AttentionCommand command(operands, rank, backward, /*isPart=*/false);
  AttentionForm form;
  form.type = command.type(), form.backward = backward, form.hasMasks = command.hasMasks();
  const AttentionProblem problem = command.problemOf(rank);
  const size_t version = cudnn().problem.empty() ? cudnn().number() : kLeastCudnn;
  // The library does not ask a predicate.
  if (operands.isPredicated() || attentionObstacle(problem, form, version) || !areAligned(operands, rank, 16))
    return nullptr;
  void *handle = launcher.fusions();
  if (!handle)
    return nullptr;
  // Kernels of ours need less workspace, and no other.
  auto makeLibrarys = [=, &rank, &launcher]() -> std::unique_ptr<CudaOp> {
    try {
      auto op = std::make_unique<LibraryAttention>(command, problem, form, handle);
      op->takeFirst();
      const gpu_workspace::LibraryAttention sizes = workspaceOf(problem);
      launcher.reserveWorkspace(static_cast<uint64_t>(backward ? sizes.backward() : sizes.forward()));
      return op;
    } catch (const CudnnRefusal &refusal) {
      sayOnce(rank, refusal.reason);
      return nullptr;
    }
  };
  return TunableOp::make("cudnn " + cudnn().version(), textOf(problem, form),
                         {{"cudnn", makeLibrarys}, {"ours", std::move(makeOwn)}});
}

} // namespace dtcc::rt::cuda
