//===- Passes.td - Passes to the exec level
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_EXEC_PASSES
#define DTCC_PASSES_EXEC_PASSES

include "mlir/Pass/PassBase.td"

def ExpandComposites : Pass<"exec-expand-composites"> {
  let summary = "expand norms, softmax, rotary embedding, gathers, experts and integer sums to simpler ops";
  let description = [{
    Input: an `spmd.program` on local tensors. Output: the same program without composites that have no library op.

    Norms, softmax and rotary embedding become elementwise ops and reductions, for which the kernel generator makes
    code. `graph.experts` becomes grouped products, and sums of integers become trees of elementwise additions.
    Attention, embedding, cross entropy and contractions stay, because the library computes them.

    Guarantees: each composite that is left has a library op. The new ops keep the phase of the old one: CSE does not
    merge what the backward pass recomputes of a norm or an expert with the values of the forward pass.

    Example (tests/passes/exec/expand-composites.mlir): `graph.rms_norm` becomes a mean of squares, `graph.rsqrt` and
    two products. In expand-integers.mlir reductions and running sums of integers become trees of additions.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def SplitAccumulation : Pass<"exec-split-accumulation"> {
  let summary = "accumulate the terms of a sum one by one";
  let description = [{
    Input: an `spmd.program` in which `spmd.accumulate` may read a sum. Output: the same program with one
    `spmd.accumulate` for each term, placed where the term is computed.

    A gradient that is a sum need not exist as a tensor. Such are the two gradients of a tied embedding, and the
    gradient of a chunked classifier.

    Guarantees: the bucket holds the same sum. The terms are added in the order in which they are computed.

    Example (tests/passes/exec/split-accumulation.mlir): `accumulate(add(a, b))` becomes `accumulate(a)` and
    `accumulate(b) again`.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def ChunkClassifier : Pass<"exec-chunk-classifier"> {
  let summary = "compute the loss and its gradient over chunks of rows, so that logits are never whole";
  let description = [{
    Input: an `spmd.program` on local tensors. Output: the same program, with the loss and its gradient computed chunk
    by chunk.

    Logits [rows, classes] are the largest tensor of a language model, and only the cross entropy and its gradient
    read them. The pass cuts the ops from the product that computes the logits to the products that read their
    gradient into chunks of rows. A chunk has at most `chunk-bytes` of logits, unless that takes over 256 chunks.
    Results that have rows are concatenated, and sums over rows are added. Masks and constants of the logits' size that
    only these ops read are made chunk by chunk, too.

    Guarantees: no value is computed twice. A loss that cannot be cut, because an op has no common dimension of rows,
    stays whole.

    Example (tests/passes/exec/chunk-classifier.mlir): 4 samples of 256 tokens and 50257 classes become 4 chunks.
  }];
  let options = [Option<"chunkBytes", "chunk-bytes", "int64_t", "int64_t(64) << 20", "largest logits of a chunk">];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def ChunkExchanges : Pass<"exec-chunk-exchanges", "::mlir::ModuleOp"> {
  let summary = "compute products of a forward pass some rows at a time, so that one part travels while the next is made";
  let description = [{
    Input: an `spmd.program` on local tensors. Output: the same program, in which products whose results are summed over
    ranks, and products of what is gathered from them, are cut into parts of their rows, each with its exchange.

    Nothing else can run beside these exchanges: gradients of weights, which run beside those of a backward pass
    (exec-fill-exchanges), do not exist yet. The number of parts is the one that takes least on the machine; products
    stay whole where none saves time. Where rows are also what the ranks share out, a part has some rows of each rank.
    Parts of a product with a bias leave the bias to a kernel, which counts as time.

    Guarantees: each cell is computed once, from the same operands.

    Example (tests/passes/exec/chunk-exchanges.mlir): a product, the sum of its result over tp, a gather and two products.
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"8xh100\"", "a preset, as of --cluster">,
                 Option<"parts", "parts", "int64_t", "0", "number of parts of each product that can be cut; 0: the number that the cost model finds fastest">];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def ChannelsLast : Pass<"exec-channels-last"> {
  let summary = "let images lie with their channels last";
  let description = [{
    Input: an `spmd.program` on local tensors, whose norms are cells and sums. Output: the same program, in which what
    stands between convolutions of 16-bit images has the form [n, s.., c] (n samples, s cells of an image, c channels,
    perhaps in groups), and convolutions and pooling ops read and write transposes of it.

    Tensor cores multiply along channels. With these last a convolution of one pixel is one matrix product, cuDNN has
    kernels that need no copies (Rationale.md of the graph dialect says why the graph keeps [n, c, s..]), and a sum over
    all cells of a channel has its columns side by side. A sum over the cells and channels of a group (a group norm's) is one over the cells of
    each channel, and then over channels.

    Reshapes that split or join channels, or cells, keep the form, and so do broadcasts and sums of cells, images that
    are joined, and collectives. Where a network has its channels last by transposes of its own, as between the
    convolutions of ConvNeXt or around attention, these are changes of the form and move nothing. The products that make
    images for convolutions are found from these convolutions backwards.

    Guarantees: values are those of before, in another order of their cells; sums add the same terms in another order.
    Weights lie as they did. Ops that are not known here read a transpose, which exec-bufferize copies where they need
    dense memory. Images of f32 stay: their products are not done by tensor cores.

    Example (tests/passes/exec/channels-last.mlir): a convolution, a norm over the batch, relu, and a convolution of one
    pixel, with their gradients; a norm over groups of channels.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def NarrowLosses : Pass<"exec-narrow-losses"> {
  let summary = "store what a cross entropy computes in the types that its readers need";
  let description = [{
    Input: an `spmd.program` in which the gradient of a cross entropy has a `graph.cast` to a 16-bit float as its only
    reader, or rows of logarithms that only gradients read. Output: the same program with the cast folded into the type of
    the gradient, and these logarithms in f64.

    Gradients of logits are the largest values of a step, and the pass saves one pass over them.

    Guarantees: the loss stays f32. The logarithm of each row's sum is stored in f64 where only gradients read it: in f32 its
    rounding would be the largest error of the gradient. The gradient is computed in f32 and rounded once, as before.

    Example (tests/passes/exec/narrow-losses.mlir): a gradient that two products read in bf16.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def FoldEpilogues : Pass<"exec-fold-epilogues"> {
  let summary = "fold biases, gelu and bias gradients into the products of the library";
  let description = [{
    Input: an `spmd.program` on local tensors. Output: the same program with `exec.product` in place of each
    `graph.contract` that the target's library can extend by an epilogue.

    An epilogue costs no pass over memory and no kernel launch. There are three: adding a row (the bias) to the
    result; taking gelu (by tanh) of the result, or multiplying its gradient by the slope of gelu; and, beside the
    gradient of a weight, the sum of the rows of one factor (the gradient of the bias).

    Guarantees: an epilogue is folded only if no kernel that stays would compute it at no cost, and only if cublasLt
    (12 and 13) supports it. cublasLt does not support a bias or a sum of another type than the result, activations of
    another type than the factors, nor activations whose rows do not divide by 8.

    Example (tests/passes/exec/fold-epilogues.mlir): a product, its bias and gelu become one op with two results, one
    of which the backward pass reads.
  }];
  let options = [Option<"bias", "bias", "bool", "false", "products add a row">,
                 Option<"gelu", "gelu", "bool", "false", "products apply gelu, or multiply by its slope">,
                 Option<"biasGradient", "bias-gradient", "bool", "false", "products sum the rows of a factor">];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def SplitSums : Pass<"exec-split-sums"> {
  let summary = "sum the rows of few columns in two steps";
  let description = [{
    Input: an `spmd.program` on local tensors. Output: the same program, in which a `graph.reduce` of many rows to few
    columns is one over the inner of its dimensions and a small one over the outer ones.

    On a GPU a block adds up the rows of some columns. Few columns keep few multiprocessors busy: the gradients of a norm
    of 96 channels read their operand at 8 to 15 % of the rate of copies on an H200. With the samples of a micro-batch, or the
    lines of images, summed by themselves there are blocks for all.

    Guarantees: the same terms are added, in another order, in f32; a sum of halves is rounded once, at the end.

    Example (tests/passes/exec/split-sums.mlir):
    ```mlir
    %y = graph.reduce sum %x [0, 1] : (tensor<64x512x96xf32>) -> tensor<96xf32>
    ```
    becomes
    ```mlir
    %samples = graph.reduce sum %x [1] : (tensor<64x512x96xf32>) -> tensor<64x96xf32>
    %y = graph.reduce sum %samples [0] : (tensor<64x96xf32>) -> tensor<96xf32>
    ```
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def Fuse : Pass<"exec-fuse"> {
  let summary = "group the ops of one kernel into exec.fused";
  let description = [{
    Input: an `spmd.program` without composites that need expansion. Output: the same program, in which every
    elementwise op, broadcast and reduction stands in an `exec.fused` together with the neighbours that share its
    loops (codegen/KernelDomain.h says which ops one kernel can hold).

    Splat constants, broadcasts and iotas are repeated in each kernel that reads them. A cast from a 16-bit float to
    f32, or a sum, is repeated if this halves the bytes that the kernel reads. If one kernel is the only reader, the op
    is also repeated when its operands are about as large: they are kept in its place, and the result is never stored
    (tests/passes/exec/fuse-repeat.mlir). A kernel whose values only one other kernel reads is merged into that kernel;
    small sums that other ops read do not prevent this.

    Guarantees: ops with effects keep their order. An op of the backward pass that reads values of the forward pass
    stays in the backward pass, unless its result is smaller than these values: a forward kernel would have to keep
    the result.

    Example (tests/passes/exec/fuse.mlir): a residual sum and the layer norm after it become one kernel with two
    results.
  }];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def GenerateKernels : Pass<"exec-generate-kernels", "::mlir::ModuleOp"> {
  let summary = "replace each exec.func by the code of its kernel for processors";
  let description = [{
    Input: a module with an `exec.program` and the `exec.func`s that its kernels name. Output: the same module, with
    an `llvm.func` of the type `dtcc_kernel` in place of each `exec.func`.

    Loops are in scf, scalars in arith, math and vector, memory accesses in llvm.

    Guarantees: the function has the name of the `exec.func` and the attributes `dtcc.extent`, `dtcc.grain`,
    `dtcc.flops` and `dtcc.bytes`. No `exec.func` is left.

    Example (tests/passes/exec/generate-kernels.mlir): a bias and gelu over [8, 24] become one loop over 192 cells.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def GenerateGpuKernels : Pass<"exec-generate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "replace each exec.func by the code of its kernel for GPUs";
  let description = [{
    Input: a module with an `exec.program` and the `exec.func`s that its kernels name. Output: the same module, with
    an `llvm.func` marked `nvvm.kernel` in place of each `exec.func`.

    Guarantees: the function has the name of the `exec.func` and the attributes `dtcc.grid` (blocks), `dtcc.block`
    (threads of a block), `dtcc.flops` and `dtcc.bytes`. Its parameters are the record of the rank and the buffers,
    inputs first, aligned as the views of the `exec.kernel`s that name it. No `exec.func` is left.

    Example (tests/passes/exec/generate-gpu-kernels.mlir): one block computes each row of a softmax, by shuffles and
    shared memory.
  }];
}

def Bufferize : Pass<"exec-bufferize", "::mlir::ModuleOp"> {
  let summary = "turn spmd.program into exec.program: a buffer for every value, commands for every op";
  let description = [{
    Input: an `spmd.program` on local tensors with `exec.fused` and library ops. Output: an `exec.program` of commands
    on views of buffers, and an `exec.func` for each different kernel.

    Unstack, slice, transpose and most reshapes become views. Operands of stack and concat, gradients and gathered
    shards are written in place if their producers can do so. Elementwise kernels and all-reduces reuse the memory of
    an operand that dies. Contractions become matrix products over merged dimensions. Equal fused bodies over buffers
    with equal layouts share one `exec.func`. Wide rows of matrices are padded if their length is no multiple of the
    library's alignment, as logits of 50,257 classes (tests/passes/exec/bufferize-rows.mlir).

    Guarantees: no tensor value is left outside of `exec.func`. Buffers have sizes and no offsets, which
    exec-plan-arena chooses.

    Example (tests/passes/exec/bufferize.mlir): the gradient of a weight is a product that adds to its bucket, without
    a buffer of its own.
  }];
  let options = [Option<"packsRows", "packs-rows", "bool", "false",
                        "give rows that are sent to experts a contiguous buffer">,
                 Option<"plansWorkspace", "plans-workspace", "bool", "false",
                        "leave the workspace of library ops to exec-reserve-workspace">,
                 Option<"usesHost", "uses-host", "bool", "false",
                        "host memory is separate from device memory, and holds offloaded buffers">,
                 Option<"rowAlignment", "row-alignment", "int64_t", "0",
                        "alignment of wide rows of matrices that products read or write, in bytes">,
                 Option<"splitsSums", "splits-sums", "bool", "false",
                        "sum the products of single images instead of copying all images into one product">,
                 Option<"channelsLast", "channels-last", "bool", "false",
                        "let convolutions of halves read and write images and kernels with their channels last">];
  let dependentDialects = ["::dtcc::exec::ExecDialect", "::mlir::LLVM::LLVMDialect", "::dtcc::graph::GraphDialect"];
}

def FillExchanges : Pass<"exec-fill-exchanges", "::mlir::ModuleOp"> {
  let summary = "place work behind exchanges of activations that they do not depend on";
  let description = [{
    Input: an `exec.program` whose commands all run on the compute stream. Output: the same commands in another order.

    Collectives and messages of activations move up to behind the last command that they depend on. Commands that an
    exchange does not depend on, most of them gradients of weights, move behind it, until they take as long
    as it does on the machine. exec-assign-streams then runs the exchange beside them.

    Guarantees: two commands that share a buffer keep their order, and so do exchanges. For one exchange a command moves
    past at most 64 others.

    Example (tests/passes/exec/fill-exchanges.mlir): the gradient of a weight moves behind the reduce-scatter of the
    gradient of its input.
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"8xh100\"", "a preset, as of --cluster">];
}

def AssignStreams : Pass<"exec-assign-streams", "::dtcc::exec::ProgramOp"> {
  let summary = "overlap collectives, messages and host copies with computation";
  let description = [{
    Input: an `exec.program` whose commands all run on the compute stream. Output: the same program, with collectives,
    messages and copies on side streams, and events that order them.

    A communicator moves to a side stream if most of its collectives and sends in a phase have commands to overlap
    with; a quarter is enough if it exchanges activations alone. Each of these waits for the command before it, and the first command that needs its bytes waits for it. At
    most `in-flight` others that hold memory are unfinished when the next one is issued. The kernel that accumulates a reduced gradient
    moves down to just before the next reduction, because it would otherwise wait for its own reduction at once. If
    communicators of parameters alone move, the other communicators that move get another side stream, so that other
    ranks do not wait for messages behind gradients. Copies to host memory and copies from it have a stream each. The
    compute stream waits for a copy to the host at most `behind` commands later, because the copied buffer stays
    occupied until then (tests/passes/exec/offload-values.mlir).

    Guarantees: all collectives of one communicator in a phase are on one stream, in the order of the program. An
    action ends when all its streams have ended.

    Example (tests/passes/exec/assign-streams.mlir): a product between a reduce-scatter and the norm of its result.
  }];
  let options = [Option<"inFlight", "in-flight", "int64_t", "kExchangesInFlight", "unfinished collectives when another is issued">,
                 Option<"behind", "behind", "int64_t", "12", "commands that may overlap with a copy to the host">];
}

def SeparateParameters : Pass<"exec-separate-parameters", "::dtcc::exec::ProgramOp"> {
  let summary = "give parameter collectives a communicator of their own where only that overlaps them";
  let description = [{
    Input: an `exec.program` in which collectives of parameters (`ofParameters`) and of activations may share a
    communicator. Output: the same program, with a second communicator of the same ranks for the parameters.

    exec-assign-streams moves all collectives of a communicator or none. Gradient reductions and parameter gathers
    that share a communicator with activations, whose collectives are needed at once, would therefore stay exposed.
    The pass adds a communicator only if the group as a whole does not move, the parameter collectives would then move
    in some phase, and they are at least `least` of the bytes that the group communicates. The bound is there because
    NCCL holds some 0.5 GiB for each communicator.

    Guarantees: groups over the stages of a pipeline stay as they are, because each stage has a program of its own.

    Example (tests/passes/exec/separate-parameters.mlir):
    ```mlir
    exec.communicator @over.cp over ["cp"]               // keys and values, needed at once
    exec.communicator @over.cp.parameters over ["cp"] {ofParameters}    // added by this pass
    exec.collective reduce_scatter sum on @over.cp.parameters ins(..) outs(..) {ofParameters}
    ```
  }];
  let options = [Option<"least", "least", "double", "0.1",
                        "least fraction of a group's bytes for which a second communicator is added">];
}

def AdvanceUpdates : Pass<"exec-advance-updates", "::dtcc::exec::ProgramOp"> {
  let summary = "move early updates into the backward pass";
  let description = [{
    Input: an `exec.program` whose commands all run on the compute stream. Output: the same program. If it has the
    attribute `graph.early` (--update=early), commands of its update phase stand in the phase before.

    Such a command moves behind the last command that touches one of its buffers, one of both writing: gradients are then
    alive until their update. If that is a collective, the command moves on to just before the next reduction of
    gradients, so that the collective overlaps with the work between. A command that shares no buffer with the phase
    before stays, and so do those that depend on it.

    Guarantees: commands that touch the same bytes keep their order. A command that moved has the attribute `of_update`.

    Example (tests/passes/exec/advance-updates.mlir):
    ```mlir
    exec.phase @microbatch {
      exec.kernel @make_gradient outs(%g1 : memref<16xf32>)     // of @grads.1
      exec.library "sgd" ins(%g1, ..) outs(%p1 : ..) [..]       // moved here from @update
      exec.kernel @make_gradient outs(%g0 : memref<16xf32>)     // of @grads.0, in the bytes of @grads.1
    }
    ```
  }];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def DeferGathers : Pass<"exec-defer-gathers", "::mlir::ModuleOp"> {
  let summary = "gather updated parameters in the next step, before they are read";
  let description = [{
    Input: an `exec.program` whose commands all run on the compute stream. Output: the same program. Gathers of compute
    buckets (16-bit copies of parameters that ZeRO 1 or 2 updates in shares) stand in the step's first forward passes
    instead of its update phase.

    Each gather moves before a command of a run of the step, and gets the slot of that run. The place is chosen by the
    prices of the commands on the machine: the gather ends before the first command that reads the bucket, and one
    gather after the other. In a stage of a pipeline the gathers that a phase needs are dealt out over the runs before it. If the program has an evaluation, a phase `gather_parameters` is added before it, with copies
    of all these gathers. The runtime leaves this phase out if no step has run since the copies were complete.

    Guarantees: gathers whose result a step also writes elsewhere stay, as those of early updates do. Gathers over a
    communicator have one order, which is the same on all of its ranks.

    Example (tests/passes/exec/defer-gathers.mlir):
    ```mlir
    exec.phase @microbatch repeat 2 {
      exec.kernel @layer0 ..
      exec.collective all_gather sum on @over.dp slot 0 ins(%mine : ..) outs(%w1 : ..)    // moved here from @update
      exec.kernel @layer1 ins(%w1 : ..) ..
    }
    ```
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"8xh100\"", "a preset, as of --cluster">];
}

def OffloadValues : Pass<"exec-offload-values", "::dtcc::exec::ProgramOp"> {
  let summary = "offload saved activations to host memory";
  let description = [{
    Input: an `exec.program` with `spmd.on_host` on the buffers that the plan offloads. Output: the same program, in
    which each such buffer is copied to the arena `@host` and back.

    The pass looks for the longest interval in which no command uses the buffer. The copy to the host follows the last
    command before the interval. The copy back goes to another buffer and stands `ahead` commands before the first use
    after the interval. In a pipeline the interval lies between the phase that writes the buffer and each later phase
    of the micro-batch that reads it. Such a phase copies the buffer back for itself, unless an earlier phase leaves
    another value there.

    Guarantees: a buffer that is used again within twice `ahead` commands stays in device memory; in a short phase
    `ahead` is an eighth of its commands. All commands still run on the compute stream: exec-assign-streams moves the
    copies.

    Example (tests/passes/exec/offload-values.mlir):
    ```mlir
    exec.buffer @kept : 64 in @activations {spmd.on_host}   // also @kept.host in @host, @kept.back0 in @activations
    exec.kernel @make outs(%kept : memref<16xf32>)
    exec.copy ins(%all : memref<64xi8>) outs(%host : memref<64xi8>) {name = "to_host"}
    ...
    exec.copy ins(%host : memref<64xi8>) outs(%back : memref<64xi8>) {name = "from_host"}
    exec.kernel @read ins(%kept_again : memref<16xf32>)     // of @kept.back0
    ```
  }];
  let options = [Option<"ahead", "ahead", "int64_t", "12", "commands that overlap with a copy from the host">];
}

def AssignSlots : Pass<"exec-assign-slots", "::dtcc::exec::ProgramOp"> {
  let summary = "give buffers a slot for each micro-batch in flight";
  let description = [{
    Input: an `exec.program`, with actions if it is a stage of a pipeline. Output: the same program, in which a buffer
    has as many slots as micro-batches need it at a time, and views choose the slot of their micro-batch.

    This concerns buffers that several phases of a micro-batch use, and inputs that the host writes. The number of
    slots follows from the order of the actions: a micro-batch needs its slot from the first to the last action that
    uses the buffer.

    Virtual stages of an interleaved schedule are full at different times. Their buffers of one size become one, if it
    needs fewer slots than they do by themselves, and an `exec.slot_order` for each stage says which micro-batch has which
    slot: the least one that is free when it begins. A rank of 4 with 7 virtual stages so keeps 31 sets of values
    instead of 43.

    Guarantees: rule V9 of docs/verification.md. A program without actions stays as it is.

    Example (tests/passes/exec/assign-slots.mlir):
    ```mlir
    exec.program @step.0 mesh @mesh stage 0 over "pp" actions [f 0, f 1, b 0, b 1] {
      exec.buffer @saved : 64 in @activations        // becomes 128: two micro-batches at a time
      exec.phase @f repeat 2 { %x = exec.view @saved[0] : memref<16xf32> ... }
      exec.phase @b repeat 2 { %x = exec.view @saved[0] : memref<16xf32> ... }
    }
    ```
    A view becomes `exec.view @saved[0 + slot * 64 mod 2]`.
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "alignment of slots, in bytes">];
}

def ReserveWorkspace : Pass<"exec-reserve-workspace", "::dtcc::exec::ProgramOp"> {
  let summary = "plan the workspace of library ops, and of messages, on GPUs";
  let description = [{
    Input: an `exec.program` with streams. Output: the same program with an arena `@operations` for the workspace of
    library ops, and an arena `@messages` if the program sends messages.

    Ops of one stream run in order and share a piece of the workspace, which is as large as the largest need of an op
    (runtime/abi/GpuWorkspace.h). Each stream has a piece of its own. A send copies its message to `@messages` and
    returns; the arena has room for as many messages as may be in flight.

    Guarantees: the workspace that a library asks for when an op is bound on a GPU counts as memory of the plan.

    Example (tests/passes/exec/reserve-workspace.mlir): a product plans 32 MiB for cublasLt.
  }];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def PlanArena : Pass<"exec-plan-arena", "::dtcc::exec::ProgramOp"> {
  let summary = "give every buffer an offset in its arena";
  let description = [{
    Input: an `exec.program` whose buffers have sizes. Output: the same program, whose buffers have offsets and whose
    arenas have sizes.

    Buffers whose live ranges do not overlap share bytes. The pass places the largest buffer first, each into the
    smallest gap that holds it.

    Guarantees: buffers that are live at the same time share no byte, which exec-verify checks.

    Example (tests/passes/exec/plan-arena.mlir): three buffers in a chain need the memory of two.
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "alignment of buffers, in bytes">];
}

def Verify : Pass<"exec-verify", "::mlir::ModuleOp"> {
  let summary = "check that no command reads or overwrites wrong bytes";
  let description = [{
    Input: an `exec.program` with planned arenas. Output: the same program, unchanged.

    Guarantees, by the bytes alone: views stay inside their buffers in every slot and on every rank. Buffers that are
    live at the same time share no byte. Each byte that is read was written before. A command that reads the bytes it
    writes goes through them in one order. Two commands of different streams that use the same bytes, one of them
    writing, are ordered by an event. Collectives of one communicator are on one
    stream in a phase. Only updates and copies use host memory of a GPU program. Collectives have no predicate, and
    all ranks run the same text, so that they have one order everywhere.

    Example: tests/passes/exec/verify-errors.mlir has a program for each rule that is refused.
  }];
}

def VerifyMessages : Pass<"exec-verify-messages", "::mlir::ModuleOp"> {
  let summary = "check that the stages of a pipeline cannot deadlock";
  let description = [{
    Input: the final `exec.program`s of all stages. Output: the same programs, unchanged.

    The pass runs the messages of all stages, and the collectives between them, side by side, each program in its own
    order. A send waits while as many messages of its channel are in flight as its program has sends. A receive waits
    for its message, and a collective for all members.

    Guarantees: every program ends, both sides agree on each message and collective, and no message is left
    unreceived.

    Example of a refused module, from tests/passes/exec/verify-messages-errors.mlir:
    ```mlir
    exec.program @step.0 mesh @mesh stage 0 over "pp" { exec.phase @a { receive from 1; send to 1 } }
    exec.program @step.1 mesh @mesh stage 1 over "pp" { exec.phase @a { receive from 0; send to 0 } }
    ```
  }];
}

def FoldDimensions : Pass<"exec-fold-dimensions", "::mlir::ModuleOp"> {
  let summary = "merge dimensions of views that are contiguous in memory";
  let description = [{
    Input: an `exec.program` whose kernels are generated. Output: the same program, whose views have as few dimensions
    as their strides allow.

    A row of the command table has room for DTCC_MAX_RANK dimensions, and a tensor in its finest dimensions may have
    more. The two views of a copy are folded together, all other views alone.

    Guarantees: a view addresses the same bytes. A block dimension (the shard that a view selects by rank) stays a
    dimension, and views of library ops keep all dimensions. Generated kernels read only the addresses of their views.

    Example (tests/passes/exec/fold-dimensions.mlir):
    ```mlir
    %x = exec.view @x[0] : memref<4x2x2x8xf32, strided<[128, 32, 16, 1]>>     // before
    %x = exec.view @x[0] : memref<4x4x8xf32, strided<[128, 16, 1]>>           // 2 x 2 are contiguous and become 4
    ```
  }];
}

def PriceCommands : Pass<"exec-price-commands", "::mlir::ModuleOp"> {
  let summary = "estimate the seconds of each command on a machine";
  let description = [{
    Input: an `exec.program` whose kernels are generated, since their bytes are known then. Output: the same program,
    with the attribute `seconds` on every command.

    The seconds come from the cost model of the search. `--info` runs the program on the null device by these seconds,
    and so forecasts the step.

    Guarantees: nothing but the attribute changes.

    Example (tests/passes/exec/price-commands.mlir): a product, a kernel and an all-reduce on two H100s.
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"cpu:1\"", "a preset, as of --cluster">];
}

#endif // DTCC_PASSES_EXEC_PASSES
