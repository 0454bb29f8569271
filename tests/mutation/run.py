# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks the compiler in one place at a time and demands that a named, short set of tests sees it.

Changes files of this checkout, builds, tests, and puts them back, whatever happens; refuses to start where they have
changes of their own. Prints a row a mutation. A mutation that no longer fits its file is an error: change it with the
code that it breaks.

    python3 tests/mutation/run.py                 # all, some minutes
    python3 tests/mutation/run.py --only zero     # those whose name has this
    python3 tests/mutation/run.py --list
"""
import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


@dataclass
class Test:
    """What is built, and what is run in the build folder."""
    targets: tuple
    command: str


def unit(name, only="*"):
    return Test((name,), f"tests/unit/{name} --gtest_filter='{only}'")


OPS = unit("spmd-test", "OpTest.*")
RESHARDS = unit("spmd-test", "ReshardTest.*")
RANDOM = unit("spmd-random-plans")
SCHEDULES = unit("plan-schedule")
COST = unit("cost-model")
COMPILE = Test(("dtcc", "dtcc-opt", "dtcc-plan"), "lit-22 -q -j 2 tests/passes/exec tests/compiler")
CONTEXT = Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/e2e --filter context-parallel-gpt2")
OFFLOAD = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter offload-values")
FUSION = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter fuse")
STREAMS = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter assign-streams")
IMAGES = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter channels-last")
KERNELS = unit("codegen-kernel")
DEVICES = Test(("runtime-core", "dtcc_emulated_cuda", "dtcc_emulated_nccl"),
               "LD_LIBRARY_PATH=tests/emulator DTCC_EMULATED_GPUS=4 tests/unit/runtime-core --gtest_filter='*Executor*'")


NCCL = Test(("nccl-suite", "dtcc_emulated_cuda", "dtcc_emulated_nccl"),
            "LD_LIBRARY_PATH=tests/emulator DTCC_EMULATED_GPUS=4 tests/unit/nccl-suite")

CUDNN = Test(("cuda-kernel-suite", "dtcc_emulated_cuda", "dtcc_emulated_cublaslt", "dtcc_emulated_cudnn"),
             "LD_LIBRARY_PATH=tests/emulator tests/unit/cuda-kernel-suite "
             "--gtest_filter='CudaKernels.ComputeWhat*:CudaKernels.A*'")
PREDICATES = Test(CUDNN.targets, CUDNN.command.split(" --gtest")[0] + " --gtest_filter='CudaKernels.DoNothing*'")
EMBEDDINGS = Test(CUDNN.targets, CUDNN.command.split(" --gtest")[0] + " --gtest_filter='EmbeddingGradients.*:CudaWorkspace.*'")
TUNE = Test(("dtcc", "dtcc_rt", "dtcc_emulated_cuda", "dtcc_emulated_cublaslt", "dtcc_emulated_cudnn"),
            "lit-22 -q -j 2 tests/e2e --filter cuda-tune")
CHOICES = Test(("dtcc", "dtcc_rt"), "lit-22 -q tests/e2e --filter programs/tune")
IMPORT = unit("onnx-node-conformance")
RECURRENT = Test(("dtcc",), "lit-22 -q tests/e2e --filter recurrent")
ESTIMATES = Test(("dtcc-plan",), "lit-22 -q tests/tools --filter 'dtcc-plan/(estimated-time|one-price).test'")
SHORT = Test(("dtcc", "dtcc_rt"), "lit-22 -q tests/e2e --filter short-rows")
CHANNELS = unit("plan-schedule", "Rendezvous.*")
CHOICE = unit("plan-choice")
OFFLOAD = Test(("dtcc", "dtcc-opt", "dtcc-plan"), "lit-22 -q tests/passes --filter '(offload|verify-host-errors)'")
CLOCK = unit("runtime-core", "StepClock.*:Forecast.*")
PRICES = Test(("dtcc", "dtcc-opt", "dtcc-plan"),
              "lit-22 -q tests/passes tests/compiler --filter '(price-commands|bufferize-experts|spmd/stages|units-by-machine)'")
FORECASTS = Test(("dtcc", "dtcc-plan", "dtcc_rt"), "lit-22 -q tests/e2e --filter forecast-plans")
ROWS = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter '(bufferize-rows|narrow-losses)'")
SEPARATE = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter '(separate-parameters|verify-errors)'")
PLACES = Test(("dtcc-opt",), "lit-22 -q tests/passes --filter '(spmd/stages|assign-streams|separate-parameters)'")
CHUNKS = Test(("dtcc", "dtcc-opt", "dtcc_rt"), "lit-22 -q tests/passes tests/e2e --filter '(chunk-exchanges|chunked-exchanges)'")
FILL = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter '(fill-exchanges|assign-streams|verify-errors)'")
DEFER = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter defer-gathers")
DEFERRED = Test(("dtcc", "dtcc_rt"), "lit-22 -q tests/e2e --filter cuda-deferred-gathers")
ADVANCE = Test(("dtcc-opt",), "lit-22 -q tests/passes --filter '(advance-updates|early-updates)'")
WINDOWS = unit("runtime-kernels", "Winograd.*:MaxPool.*")
COPIES = unit("runtime-files", "StridedCopy.*")
WORKSPACE = Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter reserve-workspace")
WINNER = Test(("dtcc", "dtcc-plan", "dtcc_rt"), "lit-22 -q tests/tools --filter forecast-winner")


@dataclass
class Mutation:
    name: str
    file: str
    old: str
    new: str
    test: Test


MUTATIONS = [
    Mutation("winner: the first plan by estimate", "compiler/planning/ConfirmPlans.cpp",
             "if (tried.report.seconds < best->report.seconds)", "if (tried.report.seconds < 0)", WINNER),
    Mutation("winner: evaluation is in the forecast", "compiler/planning/ForecastProgram.cpp",
             "if (spmd::isOfEvaluation(phase.getSymName()))", "if (phase.getSymName().empty())", WINNER),
    Mutation("fusion: a difference is repeated beside its store", "passes/exec/local/Repetition.cpp",
             "readers.size() == 1 && mayKeepOperands(op, *group), along", "mayKeepOperands(op, *group), along", FUSION),
    Mutation("fusion: a sum over ranks lies between two kernels that become one", "passes/exec/local/Fuse.cpp",
             " || liesBetween(group, reader)", "", FUSION),
    Mutation("fusion: kernels wait for whatever is stored", "passes/exec/local/Fuse.cpp",
             "constexpr double kSmall = 1.0 / 16", "constexpr double kSmall = 16", FUSION),
    Mutation("fusion: what a difference alone reads is left behind", "passes/exec/local/Repetition.cpp",
             "!isUsedHere && !staysKernel(op)", "!isUsedHere && along.size() > 99", 
             Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/e2e --filter golden-resnet")),
    Mutation("read ahead: samples of the next step over those on their way", "runtime/launch/RankRun.cpp",
             "    device->awaitUploads(rooms.front());\n", "",
             Test(("dtcc", "dtcc_rt"), "lit-22 -q tests/e2e --filter cuda-evaluation")),
    Mutation("sums: all samples in few blocks", "passes/exec/local/SplitSums.cpp", "columns < kBusyColumns &&", "false &&",
             IMAGES),
    Mutation("sums: halves are rounded twice", "passes/exec/local/SplitSums.cpp",
             "isRounded ? builder.getF32Type() : op.getType().getElementType()", "op.getType().getElementType()",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter split-sums")),
    Mutation("sums: a row of millions of cells in one go", "passes/exec/codegen/KernelGenerator.cpp",
             "if (reduces.empty() || size <= chunk)", "if (true)",
             Test(("dtcc", "dtcc_rt"), "lit-22 -q tests/e2e --filter long-sums")),
    Mutation("joins: a part that waits alone keeps the whole", "passes/exec/bufferize/MovementRules.cpp",
             "if (!isLonger || !b.waits(x))", "if (!isLonger || true)",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter bufferize-waiting-parts")),
    Mutation("products: a copy transposes keys", "passes/exec/bufferize/ProductRules.cpp",
             "term.size(letter) > 1 && term.stride(letter) == 1", "term.size(letter) < 1",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter bufferize-products")),
    Mutation("muon: cells above the blocks of a symmetric product", "runtime/kernels/Orthogonalization.cpp",
             "sums + j * side + i", "sums + i * side + j", unit("runtime-kernels", "*Orthogonal*")),
    Mutation("muon: matrices are priced by their FLOP alone", "planner/cost/Kernels.cpp",
             "return once + matrix.steps", "return 0 * once + matrix.stepFlops / productRate(Width::B16) * 5 + 0",
             COST),
    Mutation("slots: the last action of a value is no part of its life", "passes/exec/commands/AssignSlots.cpp",
             "ends.begin()->first < value.life.begin", "ends.begin()->first <= value.life.begin + 1",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter assign-slots")),
    Mutation("slots: micro-batches of two stages are told apart by number alone", "passes/exec/commands/Verify.cpp",
             "content->second != Content{run.slot, touch.order}", "content->second.microBatch != run.slot",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter verify-slots")),
    Mutation("slots: a program ignores their order", "runtime/image/Image.h", "(order ? order[slot] : slot) * stride",
             "slot * stride",
             Test(("runtime-core",), "tests/unit/runtime-core --gtest_filter='*SlotsOfAnOrder*'")),
    Mutation("winograd: kernels of the gradient are not turned", "runtime/kernels/vector/Winograd.cpp",
             "at == 0 ? 3 : at == 3 ? 0 : at", "at", WINDOWS),
    Mutation("winograd: the last row of an odd image", "runtime/kernels/vector/Winograd.cpp",
             "const bool two = 2 * tileRow + 1 < p.result[0];", "const bool two = true;", WINDOWS),
    Mutation("maxima: the last of equal cells", "runtime/kernels/vector/Pooling.cpp", "!(value <= held)", "!(value < held)",
             WINDOWS),
    Mutation("copies: columns behind the squares of a tile", "runtime/image/StridedCopy.cpp", "r < row ? column : 0", "column",
             COPIES),
    Mutation("linearity: relu of partial sums", "dialects/graph/ops/ElementwiseOps.cpp", "DTCC_ELEMENTWISE(ReluOp, 1, {})",
             "DTCC_ELEMENTWISE(ReluOp, 1, {{0}})", OPS),
    Mutation("linearity: a partial sum plus a whole value", "dialects/graph/ops/ElementwiseOps.cpp",
             "DTCC_ELEMENTWISE(AddOp, 1, {{0, 1}})", "DTCC_ELEMENTWISE(AddOp, 1, {{0}, {1}})", OPS),
    Mutation("padding: a product sums anything", "dialects/graph/ops/ContractionOps.cpp",
             "setFactorKind(map, factor, FactorKind::Reduce, PaddingNeed::Neutral);",
             "setFactorKind(map, factor, FactorKind::Reduce, PaddingNeed::Any);", OPS),
    Mutation("padding: everything is zero there", "passes/spmd/layout/Padding.cpp",
             ": PaddingContent::Finite;\n}", ": PaddingContent::Zero;\n}",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/spmd --filter verify")),
    Mutation("reshard: the order of joined axes", "passes/spmd/reshard/ReshardPlanner.cpp",
             "last->axes.insert(last->axes.end(), move", "last->axes.insert(last->axes.begin(), move", RESHARDS),
    Mutation("reshard: zero-fill of a maximum", "passes/spmd/reshard/Moves.cpp",
             "if (layout.partial.empty() || layout.reduction == Reduction::Sum)\n    if (to.reduction == Reduction::Sum)",
             "if (true)\n    if (true)", RESHARDS),
    Mutation("update: squares are not summed", "passes/spmd/partition/UpdatePhase.cpp",
             "    squares = allReduce(builder, loc, squares, axes);\n", "", RANDOM),
    Mutation("update: a sharded parameter's squares once a rank", "passes/spmd/partition/UpdatePhase.cpp",
             "contains(bucket.key.flat, axis.name) || contains(bucket.key.sharded, axis.name)",
             "contains(bucket.key.flat, axis.name)", RANDOM),
    Mutation("update: gradients are not summed between groups", "passes/spmd/partition/UpdatePhase.cpp",
             "if (!contains(bucket.key.flat, axis))\n      rest", "if (false)\n      rest", RANDOM),
    Mutation("zero: a stage's gradients whole", "planner/parallelism/StateTable.cpp", '{2, "SHARD_GRAD_OP", false, true,',
             '{2, "SHARD_GRAD_OP", false, false,', Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/e2e --filter zero-stages")),
    Mutation("zero: shares of an odd length", "passes/spmd/partition/Buckets.cpp", "alignmentOf(bucket.key) * mesh.product(bucket.key.flat)",
             "kBucketAlignment", RANDOM),
    Mutation("zero: gathered parameters are not gathered", "passes/spmd/partition/UpdatePhase.cpp",
             "if (!bucket.key.flat.empty() && !stateRow(bucket.key.stage).compute)", "if (false)", RANDOM),
    Mutation("arena: an offset too low", "passes/exec/commands/PlacedBuffers.cpp", "end = std::max(end, newEnd);",
             "end = std::max(end, newEnd - 64);", COMPILE),
    Mutation("arena: a gap too small", "passes/exec/commands/PlacedBuffers.cpp", "gap >= bytes", "gap + 64 >= bytes",
             COMPILE),
    Mutation("arena: a run that is met in part is passed as met by nobody", "passes/exec/commands/PlacedBuffers.cpp",
             "run.all.end < lifetime.intervals.front().begin", "run.all.end <= lifetime.intervals.back().end", COMPILE),
    Mutation("updates: before the last reader of a parameter", "passes/exec/commands/AdvanceUpdates.cpp",
             "access.writes ? std::max(touched.read, touched.written) : touched.written", "touched.written", ADVANCE),
    Mutation("updates: a reduction is waited for at once", "passes/exec/commands/AdvanceUpdates.cpp",
             "waits && next != reductions.end()", "false", ADVANCE),
    Mutation("updates: anything between the gradients of a bucket", "passes/exec/bufferize/UpdateRules.cpp",
             "  fillGaps(op.getBucketAttr(), b);\n", "", ADVANCE),
    Mutation("offload: what comes back does not wait for what goes", "passes/exec/commands/AssignStreams.cpp",
             "addWait(at, eventOf(its.issued[end]));", "", OFFLOAD),
    Mutation("offload: memory of what goes is free at once", "passes/exec/commands/Liveness.cpp",
             "windows.push_back({std::min(first, at), other ?", "windows.push_back({std::min(first, at), false ?", OFFLOAD),
    Mutation("offload: what a phase left for the next is fetched once more", "passes/exec/commands/OffloadValues.cpp",
             "if (llvm::none_of(readers, [](const PhaseUses &each) { return each.writes; })) {", "if (true) {", OFFLOAD),
    Mutation("streams: a communicator of parameters' own where all may move", "passes/exec/commands/SeparateParameters.cpp",
             "!together.contains(name) && ", "", SEPARATE),
    Mutation("streams: a stage decides for the others", "passes/exec/commands/SeparateParameters.cpp", "!axis ||", "true ||",
             SEPARATE),
    Mutation("streams: activations go with the parameters", "passes/exec/commands/SeparateParameters.cpp",
             "op.getOfParameters() && own != made.end()", "own != made.end()", SEPARATE),
    Mutation("streams: a communicator for next to nothing", "passes/exec/commands/SeparateParameters.cpp",
             "hidden.lookup(name) < least * all.lookup(name)", "false", SEPARATE),
    Mutation("streams: one group in two orders", "passes/exec/commands/Verify.cpp", "first != op.getStream())", "false)", SEPARATE),
    Mutation("messages: an evaluation's room is a step's", "planner/schedule/ExchangeProgram.cpp",
             "Send && ran.contains(number))", "Send)",
             Test(("dtcc",), "lit-22 -q tests/e2e --filter pipeline-skips")),
    Mutation("streams: messages behind reductions of gradients", "passes/exec/commands/AssignStreams.cpp",
             "    if (sunk.empty())\n", "    if (true)\n", STREAMS),
    Mutation("streams: what holds no memory is waited for", "passes/exec/commands/AssignStreams.cpp",
             "    if (holdsMemory(at))\n", "", STREAMS),
    Mutation("streams: a small bucket keeps the large ones", "passes/exec/commands/ExchangeSlack.cpp",
             "ofParameters ? bytes : commands", "commands", PLACES),
    Mutation("streams: exchanges of activations stay if only some can hide", "passes/exec/commands/ExchangeSlack.cpp",
             "ofActivations ? 4 : 2", "2", FILL),
    Mutation("streams: gathers of parameters wait for exchanges", "passes/exec/commands/FillExchanges.cpp",
             "collective.getKind() != CollectiveKind::AllGather", "true", FILL),
    Mutation("gathers: copies that the update writes again are deferred", "passes/exec/commands/DeferGathers.cpp",
             " && !touched.contains(buffer)", "", DEFER),
    Mutation("gathers: stages wait for those of the phase that they reach", "passes/exec/commands/DeferGathers.cpp",
             "gather.reader.run - (gather.reader.run > 0)", "gather.reader.run", DEFER),
    Mutation("gathers: all of a phase in one run", "passes/exec/commands/DeferGathers.cpp",
             "used <= kLittle * length", "true", DEFER),
    Mutation("gathers: an evaluation computes with old copies", "runtime/launch/Executor.cpp",
             "if (!std::exchange(areCopiesOld, false))", "if (true)", DEFERRED),
    Mutation("chunks: parts with rows of each rank are slices", "passes/exec/local/ChunkExchanges.cpp",
             "if (cut.ranks == 1)\n    return slice", "if (true)\n    return slice", CHUNKS),
    Mutation("chunks: gradients are cut too", "passes/exec/local/ChunkExchanges.cpp",
             "(phase != graph::Phase::Forward && phase != graph::Phase::Recompute)", "phase == graph::Phase::Update", CHUNKS),
    Mutation("chunks: products along an inner dimension are cut", "passes/exec/local/ChunkExchanges.cpp",
             "return isOutermost ?", "return isOutermost || product.op ?", CHUNKS),
    Mutation("streams: a gradient moves behind its reduction", "passes/exec/commands/FillExchanges.cpp",
             "!llvm::is_contained(chosen, i) && conflict(commands[at], commands[i])", "false", FILL),
    Mutation("streams: an exchange is raised past what makes its value", "passes/exec/commands/FillExchanges.cpp",
             " &&\n             !conflict(commands[to - 1], commands[at])", "", FILL),
    Mutation("streams: what has an exchange beside it is given to another", "passes/exec/commands/FillExchanges.cpp",
             "commands[i].taken = true;\n      move", "move", FILL),
    Mutation("streams: messages behind gradients", "passes/exec/commands/AssignStreams.cpp", "lasting.empty() ||", "true ||",
             PLACES),
    Mutation("pipeline: a stage reduced before its last gradient", "passes/spmd/program/PlaceUnits.cpp",
             "dealOut(reductions, ready + 1, end - ready - 1);", "dealOut(reductions, ready, end - ready - 1);", PLACES),
    Mutation("schedule: a weight gradient too early", "planner/schedule/generators/ZeroBubble.cpp", "if (k >= rank)",
             "if (k >= rank - 1)", SCHEDULES),
    Mutation("schedule: warm-up of interleaved stages", "planner/schedule/generators/Interleaved.cpp",
             "behind * 2 + (pattern.stagesPerRank - 1)", "behind + (pattern.stagesPerRank - 1)", SCHEDULES),
    Mutation("accumulation: a kernel adds before the first term is there", "passes/exec/bufferize/UpdateRules.cpp",
             "if (!comesInTurn(op))", "if (false && !comesInTurn(op))",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter bufferize-accumulate")),
    Mutation("accumulation: a term that others read is added to", "passes/exec/bufferize/UpdateRules.cpp",
             "if (isAddedTo(op) && !isReadOnce(op.getX()))", "if (false && isAddedTo(op) && !isReadOnce(op.getX()))",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter bufferize-accumulate")),
    Mutation("accumulation: a term that stands twice is added before it is there", "passes/exec/local/SplitAccumulation.cpp",
             "behind = last;", "", Test(("dtcc-opt",), "lit-22 -q tests/passes/exec --filter split-accumulation")),
    Mutation("attention: rows of halves at the offsets of f32", "runtime/kernels/ops/AttentionCommand.cpp",
             "tensor.isHalf = view.dtype != DTCC_F32;", "tensor.isHalf = false;",
             Test(("dtcc",), "lit-22 -q tests/e2e --filter e2e/parallel/rings.test")),
    Mutation("collective: what another member sent", "runtime/collective/SharedGroup.cpp",
             "(ins[static_cast<size_t>(i)]) + me * bytes", "(ins[static_cast<size_t>(i)]) + i * bytes",
             Test(("collective-suite",), "timeout 200 tests/unit/collective-suite")),
    Mutation("ring: gradients of keys stay where they are made", "passes/spmd/layout/RingAttention.cpp",
             "for (unsigned key : {1, 2})", "for (unsigned key : {2u})", CONTEXT),
    Mutation("ring: the next keys are these", "passes/spmd/layout/RingAttention.cpp", "        value = shift(value);", "        (void)value;", CONTEXT),
    Mutation("zig-zag: the second half ascends from the wrong shard", "runtime/abi/SequenceOrder.h",
             ": (shards + shard) * size", ": (shards + shard + 1) % chunks * size", CONTEXT),
    Mutation("experts: rows for the experts of everybody", "passes/spmd/partition/DispatchExperts.cpp",
             "(layout.padded.empty() ? type.getShape()[0] : layout.padded[0]) / mesh.product(axes)",
             "mesh.product(Axes()) * (layout.padded.empty() ? type.getShape()[0] : layout.padded[0])",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/spmd --filter dispatch")),
    Mutation("experts: room for the rows of a rank alone", "planner/model/BlockPricesBuilder.cpp",
             "SharedBy::Batch ? SharedBy::Group : extent.shared", "SharedBy::Batch ? SharedBy::Batch : extent.shared",
             Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/compiler --filter expert-rows")),
    Mutation("experts: those of all ranks are converted", "planner/placement/PlaceExperts.cpp",
             "shareOut(cast, cast.getFactorMap().operands[0][0], plan);", "(void)plan;",
             Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/compiler --filter expert-memory")),
    Mutation("fusion: gradients of norms in the forward pass", "passes/exec/local/Fuse.cpp", "if (!(waitsInVain(op) &&",
             "if (!(false && waitsInVain(op) &&", FUSION),
    Mutation("fusion: a kernel beside its only reader", "passes/exec/local/Fuse.cpp",
             "if (Group *reader = onlyReader(*group))", "if (Group *reader = nullptr)", FUSION),
    Mutation("fusion: what makes dy stays beside what makes x", "passes/exec/local/Fuse.cpp",
             "if (group != found && !hasSums(*group))", "if (false)", FUSION),
    Mutation("pipeline: every part of a gradient begins it", "passes/spmd/partition/OrderSums.cpp",
             "reduce.setAgain(!begun.insert({reduce.getIntoAttr(), 0}).second)", "reduce.setAgain(false)",
             Test(("dtcc", "dtcc-plan"), "lit-22 -q tests/e2e --filter pipeline-zero")),
    Mutation("cost: the slowest stage waits for itself", "planner/cost/Step.cpp", "  others.add(stage, -1);\n", "", COST),
    Mutation("cost: what nobody reads is computed again", "planner/transformer/Transformer.cpp",
             "!run.stopsEarly || !dense", "!run.stopsEarly || dense", COST),
    Mutation("cost: long sums are never split", "planner/cost/Kernels.cpp", "parts <= kMostSumParts", "parts <= 1", COST),
    Mutation("cost: a ring passes all of its bytes to all", "planner/cost/Collectives.cpp",
             "row.algorithm == Algorithm::Tree ? 1 : (n - 1) / n", "row.algorithm == Algorithm::Tree ? 1 : n / n", COST),
    Mutation("gpu: a warp folds half of its lanes", "passes/exec/codegen/GpuKernelGenerator.cpp",
             "distance = std::min(kWarp, rowThreads) / 2; distance > 0", "distance = kWarp / 4; distance > 0", KERNELS),
    Mutation("gpu: half of a column's threads in a warp are folded", "passes/exec/codegen/GpuKernelGenerator.cpp",
             "distance = kWarp / 2; distance >= across", "distance = kWarp / 4; distance >= across", KERNELS),
    Mutation("gpu: vectors beside the row count", "passes/exec/codegen/KernelBuilder.cpp",
             "here.mask ? here.mask : here.counts", "here.mask", KERNELS),
    Mutation("gpu: what a product lost is lost", "passes/exec/codegen/GpuMath.cpp",
             "fma(bounded, kLow, fma(bounded, kHigh, negate(t)))", "mul(bounded, kLow)", KERNELS),
    Mutation("gpu: nobody waits for the other warps", "passes/exec/codegen/GpuKernelGenerator.cpp",
             "  NVVM::Barrier0Op::create(builder, loc);\n  Value sum = neutral", "  Value sum = neutral", KERNELS),
    Mutation("gpu: collectives do not wait for what they send", "runtime/cuda/CudaDevice.cpp",
             "  gpu.wait(stream.handle, streams[0].end);\n", "", DEVICES),
    Mutation("gpu: inputs do not wait for samples that are sent ahead", "runtime/cuda/CudaDevice.cpp",
             "gpu.wait(gpu.firstStream(), ahead.arrived);", "", DEVICES),
    Mutation("gpu: samples that are sent ahead do not wait for those before", "runtime/cuda/CudaDevice.cpp",
             "{ahead.left, ahead.arrived}", "{}", DEVICES),
    Mutation("gpu: kernels do not wait for what they receive", "runtime/cuda/CudaDevice.cpp",
             "      gpu.wait(stream.handle, other.done);\n", "      (void)other;\n", DEVICES),
    Mutation("gpu: rows that share a block fold over each other", "passes/exec/codegen/GpuKernelGenerator.cpp",
             "distance = std::min(kWarp, rowThreads) / 2", "distance = kWarp / 2", SHORT),
    Mutation("gpu: the greatest is the least", "runtime/cuda/collective/Nccl.cpp", "reduction == DTCC_MIN ? kMinimum : kMaximum",
             "reduction == DTCC_MIN ? kMaximum : kMinimum", DEVICES),
    Mutation("dropout: the step is not in the key", "dialects/graph/reference/RandomKernel.cpp", "c2 = words.low(wideStep)",
             "c2 = words.constant(0)", unit("codegen-kernel", "*Dropout*")),
    Mutation("messages: those of the next action come before the last are copied", "runtime/cuda/collective/NcclMessages.cpp",
             "  gpu.wait(stream, taken);\n", "", NCCL),
    Mutation("rows between GPUs: a second round lies over the first", "runtime/cuda/collective/TokenRows.cpp",
             "begin + packing.first * rowBytes", "begin", NCCL),
    Mutation("rows between GPUs: places of other members' experts keep what lay there", "runtime/cuda/kernels/rows/RowExchange.cu",
             "number < 0 ? Unit{} : waiting", "number < 0 ? waiting[0] : waiting", NCCL),
    Mutation("rows between GPUs: picks beyond the room go out", "runtime/cuda/kernels/rows/RowExchange.cu",
             "number < p.room ? static_cast<int32_t>(number - start) : -1", "static_cast<int32_t>(number - start)", NCCL),
    Mutation("cudnn: a query does not see its own key", "runtime/cuda/ops/AttentionGraph.cpp",
             "select(s, kDnnAtLeast, shifted", "select(s, kDnnGreater, shifted", CUDNN),
    Mutation("cudnn: gradients of queries are not scaled", "runtime/cuda/ops/AttentionGraph.cpp",
             "g.matmul(scaled, keys, dqSums)", "g.matmul(ds, keys, dqSums)", CUDNN),
    Mutation("cudnn: statistics without the greatest score", "runtime/cuda/ops/AttentionGraph.cpp",
             "g.pointwise(kDnnAdd, kDnnF32, {top, log}, lse);", "g.pointwise(kDnnIdentity, kDnnF32, {log}, lse);", CUDNN),
    Mutation("cudnn: tensors that lie otherwise share an engine", "runtime/cuda/ops/LibraryAttention.cpp",
             "out << ' ' << stride;", "(void)stride;", CUDNN),
    Mutation("cudnn: what was bound for the CPU's stream runs there", "runtime/cuda/ops/CudnnOp.h",
             "if (int status = cudnn().setStream(handle, call.stream))", "if (int status = 0)", CUDNN),
    Mutation("cudnn: no room for gradients of shared heads", "runtime/abi/GpuWorkspace.h", "return groups == 1 ? 0 :",
             "return groups >= 1 ? 0 :", CUDNN),
    Mutation("cudnn: sums have no room for the rows that fill a block", "runtime/abi/GpuWorkspace.h",
             "return (count + 63) / 64 * 64;", "return count;", WORKSPACE),
    Mutation("cudnn: an engine's workspace is not asked for", "runtime/cuda/driver/CudnnGraph.cpp",
             "if (bytes > mostWorkspace)", "if (false && bytes > mostWorkspace)", CUDNN),
    Mutation("tune: the slowest way is taken", "runtime/tuning/Tuning.cpp", "std::min_element(least", "std::max_element(least", TUNE),
    Mutation("tune: a way that this runtime has not is its first", "runtime/cuda/driver/TunableOp.cpp",
             "way == ways.end() ? nullptr : way->get()", "(way == ways.end() ? ways.begin() : way)->get()", TUNE),
    Mutation("tune: what follows a product is no part of its problem", "runtime/cuda/ops/LibraryProduct.cpp",
             'number("activation", static_cast<int64_t>(c.activation));', "", TUNE),
    Mutation("tune: an algorithm that fails ends the program", "runtime/tuning/Tuning.cpp", "if (failures++ == 0)",
             "throw;\n        if (failures++ == 0)", TUNE),
    Mutation("tune: a file's choices go before a checkpoint's", "runtime/tuning/Tuning.cpp", "given.merge(choices);\n  return given;",
             "choices.merge(given);\n  return choices;", CHOICES),
    Mutation("tune: a resumed run leaves out the checkpoint's choices", "runtime/launch/RankRun.cpp",
             "shared.options.tune, shared.begin.choices", 'shared.options.tune, ""', CHOICES),
    Mutation("tune: a rank keeps what another cannot take", "runtime/tuning/Tuning.cpp", "refused = onAnyRank(refused, all);",
             "(void)onAnyRank(refused, all);", unit("runtime-files", "TuningTest.*")),
    Mutation("products: a bias behind the library's is read as the result's type", "runtime/cuda/kernels/product/ProductEpilogue.cu",
             "cellAt(p.bias, p.biasType,", "cellAt(p.bias, p.type,", CUDNN),
    Mutation("products: parts of a sum are added up in halves", "runtime/cuda/ops/LibraryProduct.cpp",
             "command.outType != DTCC_F32)", "false)", CUDNN),
    Mutation("products: the library makes what has a predicate", "runtime/cuda/ops/ProductOps.cpp",
             "isPredicated || ", "", PREDICATES),
    Mutation("copies: pairs of cells where a stride is odd", "runtime/cuda/ops/Transposing.cpp",
             "    even &= from % 2 == 0 && to % 2 == 0;\n", "", CUDNN),
    Mutation("experts: a wide product does not wait for its operands", "runtime/cuda/kernels/product/WideHalfProduct.h",
             "awaitCopyGroups<wideStages - 2>", "awaitCopyGroups<wideStages - 1>", CUDNN),
    Mutation("estimates: what a loss stores narrow is moved wide", "planner/model/KernelTraffic.cpp",
             "    return true; // whatever makes it stores it so\n", "    return false;\n", ESTIMATES),
    Mutation("estimates: ranks of tp that are asked for split routers too", "planner/model/PlacementCache.cpp",
             "whole * 100 <= cells", "whole <= 0 * cells", ESTIMATES),
    Mutation("recurrence: a gru's reset gate weighs nothing", "runtime/cuda/kernels/Recurrence.cu",
             "p.x.dstart[unit.state] += read * reset;", "", CUDNN),
    Mutation("embeddings: both partial sums of a segment are in one place", "runtime/cuda/kernels/rows/Embedding.cu",
             "(2 * number + (key != keys[0]))", "(2 * number)", EMBEDDINGS),
    Mutation("embeddings: a run that goes on is whole", "runtime/cuda/kernels/rows/Embedding.cu",
             "if (key == before || key == behind)", "if (key == before)", EMBEDDINGS),
    Mutation("embeddings: a segment of one run has two partial sums", "runtime/cuda/kernels/rows/Embedding.cu",
             "last != head && last == behind", "last == behind", EMBEDDINGS),
    Mutation("embeddings: a run without partial sums replaces its row", "runtime/cuda/kernels/rows/Embedding.cu",
             "isPresent = isFirst || rows[at + j] >= 0;", "isPresent = true;", EMBEDDINGS),
    Mutation("embeddings: partial sums of the first level alone are planned", "runtime/abi/GpuWorkspace.h",
             "segments > 1; segments = (2 * segments + length - 1) / length", "segments > 1; segments = 0", EMBEDDINGS),
    Mutation("offload: units are gathered of masters", "passes/spmd/partition/Buckets.cpp",
             "bucket.copy ? bucket.copy : bucket.values, fromAxes", "bucket.values, fromAxes", OFFLOAD),
    Mutation("offload: slots stay on the device", "passes/spmd/partition/Buckets.cpp",
             "sharedAxes(row.slots, bucket.key.flat), bucket.key.offloaded)", "sharedAxes(row.slots, bucket.key.flat), false)",
             OFFLOAD),
    Mutation("offload: anything may touch memory of the host", "passes/exec/commands/Verify.cpp",
             "if (!command.streams() && !isDenseCopy", "if (false && !isDenseCopy", OFFLOAD),
    Mutation("offload: a program's commands may touch memory of the host", "runtime/image/ImageChecker.cpp",
             "(command.kind != DTCC_LIBRARY || !dtcc_streams(command.op))", "(command.kind != DTCC_LIBRARY)",
             unit("runtime-core", "*Image*")),
    Mutation("channels: merged by who sends alone", "planner/schedule/ExchangeProgram.cpp", "if (agreeOn(groups[number]))",
             "if (true || agreeOn(groups[number]))", CHANNELS),
    Mutation("channels: messages to all stages are of one order", "planner/schedule/ExchangeProgram.cpp",
             "for (auto [phase, slot] : program.runs)\n      for (const StageExchange",
             "for (size_t phase = 0; phase < program.phases.size(); ++phase)\n      for (const StageExchange", CHANNELS),
    Mutation("uniform: a rank's cells are numbered from the first of all", "passes/spmd/layout/LocalForms.cpp",
             "axes.push_back(factor == kNoFactor ?", "axes.push_back(factor >= kNoFactor ?", OPS),
    Mutation("uniform: zero may be drawn", "dialects/graph/reference/RandomKernel.cpp",
             "real(builder, loc, type, 0.5)", "real(builder, loc, type, 0)", unit("codegen-kernel", "*Uniform*")),
    Mutation("recurrent: all directions go forwards", "frontends/onnx/ops/Recurrent.cpp",
             "backwards ? s.length - 1 - i : i", "backwards ? i : i", RECURRENT),
    Mutation("recurrent: both directions have the weights of the first", "frontends/onnx/ops/Recurrent.cpp",
             "Tensor own = cellAt(emit, x, 0, direction);", "Tensor own = cellAt(emit, x, 0, direction * 0);", RECURRENT),
    Mutation("recurrent: gates in PyTorch's order", "frontends/onnx/ops/Recurrent.cpp",
             "emit.mul(of(2, 0), memory.c)", "emit.mul(of(1, 0), memory.c)", RECURRENT),
    Mutation("recurrent: reset after the product where it was asked before", "frontends/onnx/ops/Recurrent.cpp",
             "layer.linearBeforeReset ? memory.h : emit.mul(reset, memory.h)", "memory.h", RECURRENT),
    Mutation("resize: cells are where their corners are", "frontends/onnx/ops/Resize.cpp",
             "double half = (x + 0.5) / axis.scale - 0.5;", "double half = x / axis.scale;", IMPORT),
    Mutation("resize: what lies outside takes its weight along", "frontends/onnx/ops/Resize.cpp",
             "      row[cell] /= kept;", "      row[cell] /= kept > 0 ? 1 : kept;", IMPORT),
    Mutation("resize: smaller images without aliases are as large ones", "frontends/onnx/ops/Resize.cpp",
             "antialias ? std::min(scale, 1.0) : 1", "1", IMPORT),
    Mutation("transposed convolution: kernels are not turned", "frontends/onnx/ops/ConvTranspose.cpp",
             "kernel = reversed(emit, kernel, d + 2);", "(void)kernel;", IMPORT),
    Mutation("windows: pads count as cells", "frontends/onnx/ops/Window.cpp", "before(pads ? -low[d] : 0)",
             "before(-low[d])", IMPORT),
    Mutation("choice: a value is sent as its last reader wants it", "planner/problem/ChoiceProblem.cpp",
             "made |= reader.wants", "made = reader.wants", CHOICE),
    Mutation("choice: the oracle stops before the last candidate", "planner/problem/ChoiceProblem.cpp",
             "++choice[i - 1] == problem.nodes[i - 1].size()", "++choice[i - 1] + 1 >= problem.nodes[i - 1].size()", CHOICE),
    Mutation("forecast: streams run in turn", "runtime/abi/StepClock.h", "overlaps ? row.stream : 0", "overlaps ? 0 : row.stream",
             CLOCK),
    Mutation("forecast: there is always room for a message", "runtime/abi/StepClock.h",
             "if (channel.sent.size() >= channel.room) {", "if (false) {", CLOCK),
    Mutation("forecast: stages run on while others wait", "runtime/abi/StepClock.h",
             "begin = std::max(begin, channel.sent[next]);", "", CLOCK),
    Mutation("padding: dimensions are padded whatever their padding does", "passes/spmd/layout/ApplyPlan.cpp",
             "seen.insert(id).second && !paddable.obstacleOf(id)", "seen.insert(id).second", COMPILE),
    Mutation("rows: what products read lies densely", "passes/exec/bufferize/Bufferizer.cpp", "if (row == columns ||",
             "if (row >= columns ||", ROWS),
    Mutation("losses: sums are of rounded gradients", "passes/exec/local/NarrowLosses.cpp",
             "gradient && gradient.getDlogits().hasOneUse()", "gradient", ROWS),
    Mutation("prices: rows of other ranks' experts are computed", "passes/exec/bufferize/ExpertRules.cpp",
             "double(b.mesh().product(spmd::toAxes(*axes)))", "1.0", PRICES),
    Mutation("prices: the host's link is as fast as memory", "passes/exec/commands/ProgramPrices.cpp",
             "onHost > 0 ? onHost / link : 0", "onHost < 0 ? onHost / link : 0",
             PRICES),
    Mutation("units: a collective starts as fast everywhere", "compiler/pipeline/Pipelines.cpp", "{options.latencyBytes,",
             "{15e3,", PRICES),
    Mutation("units: matrices that ranks share cost nothing", "passes/spmd/partition/FormUnits.cpp",
             "latencyBytes + bytesPerFlop * flopsOfMatrix(buckets[narrow])", "latencyBytes + 0 * bytesPerFlop",
             Test(("dtcc-opt",), "lit-22 -q tests/passes/spmd --filter units")),
    Mutation("pipelines: reductions keep other stages waiting", "passes/spmd/program/PlaceUnits.cpp",
             "if (ready + 1 < end)", "if (false)", PRICES),
    Mutation("search: shapes between have the longest ramp", "planner/problem/StageProblem.cpp",
             "ramp = std::min(ramp, other.ramp);", "ramp = std::max(ramp, other.ramp);",
             unit("spmd-held-search", "*Family*")),
    Mutation("search: experts' gradients are reduced once", "planner/model/PlacementCache.cpp",
             "layer.expertParameters = memory.expertParameters;", "", FORECASTS),
    Mutation("search: a block that takes a tenth of a device is too large", "planner/model/PlacementCache.cpp",
             "*llvm::min_element(block.workingBytes) > all", "*llvm::min_element(block.workingBytes) > 0.1 * all",
             unit("spmd-graph-search", "GraphSearchTest.BestOfAllShapes")),
]


def run(command, limit, folder):
    """(exit status, seconds, output); a run that is too long has failed."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
        return done.returncode, time.monotonic() - began, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return 124, time.monotonic() - began, "too long"


def try_one(mutation, build, jobs):
    """What came of it: the first word is "seen" if the tests failed."""
    path = os.path.join(ROOT, mutation.file)
    with open(path) as stream:
        before = stream.read()
    if before.count(mutation.old) == 0:
        return "does not fit its file any more"
    try:
        with open(path, "w") as stream:
            stream.write(before.replace(mutation.old, mutation.new, 1))
        status, built, output = run(f"ninja -j {jobs} {' '.join(mutation.test.targets)}", 1800, build)
        if status:
            return "does not build: " + next((line for line in output.splitlines() if "error:" in line), output[-200:])
        status, tested, output = run(mutation.test.command, 600, build)
        times = f"built in {built:.0f} s, tested in {tested:.0f} s"
        told = re.search(r"^(\[  FAILED  \] \S+|\S+: Failure|FAIL: .*|.*: error: .*)$", output, re.M)
        if status == 124:
            return f"TOO LONG, {times}"
        return f"seen, {times}: {told[0].strip() if told else f'status {status}'}" if status else f"NOT SEEN, {times}"
    finally:
        with open(path, "w") as stream:
            stream.write(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutations whose name has this")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="a configured build folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    chosen = [m for m in MUTATIONS if arguments.only in m.name]
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation.name}: {mutation.file}: {mutation.test.command}")
        return 0
    files = sorted({m.file for m in chosen})
    if subprocess.run(["git", "status", "--porcelain", *files], cwd=ROOT, capture_output=True, text=True, check=True).stdout:
        sys.exit("the files that are mutated have changes: commit them first")
    tests = list({m.test.command: m.test for m in chosen}.values())
    # A test that fails by itself would see everything.
    for test in tests:
        status, _, output = run(f"ninja -j {arguments.jobs} {' '.join(test.targets)} && {test.command}", 1800, arguments.build)
        if status:
            sys.exit(f"fails without a mutation: {test.command}\n{output[-2000:]}")
    missed = 0
    for mutation in chosen:
        result = try_one(mutation, arguments.build, arguments.jobs)
        missed += not result.startswith("seen")
        print(f"{mutation.name:58} {result}", flush=True)
    # Nobody is left with a broken build.
    run(f"ninja -j {arguments.jobs} {' '.join(sorted({target for test in tests for target in test.targets}))}", 1800,
        arguments.build)
    print(f"{len(chosen) - missed} of {len(chosen)} mutations seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
