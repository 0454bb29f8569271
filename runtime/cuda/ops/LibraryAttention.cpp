//===- LibraryAttention.cpp - Attention by cuDNN
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/LibraryAttention.h"

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/ops/Operands.h"

#include <optional>

namespace dtcc::rt::cuda {
namespace {

gpu_workspace::LibraryAttention workspaceOf(const AttentionProblem &p) {
  return {p.batch, p.queries, p.keys, p.kvHeads, p.groups, p.qkSize, p.vSize};
}

/// Addresses of operands are multiples of 16 bytes in every slot.
bool isAligned(const CheckedOperands &operands, const Rank &rank) {
  for (size_t i = 0; i < operands.operandCount(); ++i)
    if (rank.offset(operands.viewIndex(i)) % 16 || operands.operand(i).slot_stride % 16)
      return false;
  return true;
}

class LibraryAttention final : public CudaOp {
public:
  LibraryAttention(AttentionCommand command, AttentionWay way, void *handle)
      : command(std::move(command)), way(std::move(way)), handle(handle) {}

  void run(Rank &rank, const Call &call) override {
    Solver solver(*this, rank, call);
    command.run(rank, call.buffers, solver);
  }

private:
  struct Solver final : AttentionCommand::Solver {
    Solver(LibraryAttention &op, Rank &rank, const Call &call) : op(op), rank(rank), call(call) {}
    void solve(const AttentionProblem &p) override { op.execute(p, rank, call); }
    void fill(const AttentionTensor &, const std::array<int64_t, 5> &, float) override {} // of a part of the keys
    LibraryAttention &op;
    Rank &rank;
    const Call &call;
  };

  void execute(const AttentionProblem &p, Rank &rank, const Call &call) {
    std::vector<void *> addresses = {p.q.data, p.k.data, p.v.data, p.out.data, p.lse.data};
    const gpu_workspace::LibraryAttention sizes = workspaceOf(p);
    WorkspaceLayout layout;
    if (command.backward) {
      addresses.insert(addresses.end(), {p.dout.data, p.dq.data, p.dk.data, p.dv.data});
      addresses.push_back(at<void>(call, layout.take(sizes.dots())));
      if (way.addsInMemory)
        addresses.push_back(at<void>(call, layout.take(sizes.sums())));
    }
    try {
      if (int status = cudnn().setStream(handle, call.stream))
        throw CudnnRefusal{"cudnnSetStream: status " + std::to_string(status)};
      way.graph->execute(handle, way.plan, addresses, at<void>(call, layout.bytes()));
    } catch (const CudnnRefusal &refusal) {
      failWith(Status::Device, "rank ", rank.abi.rank, ": attention: ", refusal.reason);
    }
  }

  const AttentionCommand command;
  AttentionWay way;
  void *handle;
};

} // namespace

std::vector<AttentionWay> attentionWays(const AttentionProblem &problem, const AttentionForm &form,
                                        const CudnnTarget &target, size_t most) {
  const gpu_workspace::LibraryAttention sizes = workspaceOf(problem);
  std::vector<AttentionWay> ways;
  std::optional<CudnnRefusal> refusal;
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
    throw *refusal;
  return ways;
}

std::unique_ptr<CudaOp> bindLibraryAttention(const CheckedOperands &operands, Rank &rank, Launcher &launcher,
                                             bool backward) {
  AttentionCommand command(operands, rank, backward, /*isPart=*/false);
  AttentionForm form;
  form.type = command.type(), form.backward = backward, form.masksKeys = command.masksKeys();
  const AttentionProblem problem = command.problemOf(rank);
  const size_t version = cudnn().problem.empty() ? cudnn().number() : kLeastCudnn;
  // The library does not ask a predicate.
  if (operands.isPredicated() || attentionObstacle(problem, form, version) || !isAligned(operands, rank))
    return nullptr;
  void *handle = launcher.fusions();
  if (!handle)
    return nullptr;
  try {
    std::vector<AttentionWay> ways = attentionWays(problem, form, {handle, nullptr}, 1);
    const gpu_workspace::LibraryAttention sizes = workspaceOf(problem);
    launcher.reserveWorkspace(static_cast<uint64_t>(backward ? sizes.backward() : sizes.forward()));
    return std::make_unique<LibraryAttention>(std::move(command), std::move(ways.front()), handle);
  } catch (const CudnnRefusal &) {
    return nullptr;
  }
}

} // namespace dtcc::rt::cuda
