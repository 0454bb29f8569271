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
  let summary = "norms, softmax, rotary embedding, gathers, experts and sums of integers as simpler ops";
  let description = [{
    What the kernel generator computes is cells and reductions: composites without a
    library op are rewritten to these, on local shapes. Attention, embedding, cross
    entropy and contractions stay; `graph.experts` becomes grouped products. The new ops
    keep the phase of the old: CSE then leaves what the backward pass computes again of a
    norm or an expert there. Example (tests/passes/exec/expand-composites.mlir):
    `graph.rms_norm` becomes a mean of squares, `graph.rsqrt` and two products; in expand-integers.mlir reductions and
    running sums of integers become additions of halves.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def SplitAccumulation : Pass<"exec-split-accumulation"> {
  let summary = "accumulate the terms of a sum one by one";
  let description = [{
    A gradient that is a sum (a tied embedding's two, a classifier's by chunks) need not
    exist: each term is accumulated into the bucket where it is made. Example
    (tests/passes/exec/split-accumulation.mlir): `accumulate(add(a, b))` becomes
    `accumulate(a)` and `accumulate(b) again`.
  }];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def ChunkClassifier : Pass<"exec-chunk-classifier"> {
  let summary = "compute loss and its gradient over chunks of rows, so that logits are never whole";
  let description = [{
    Logits [rows, classes] are the largest tensor of a language model, and are read
    once: by the cross entropy and by its gradient. From the product that makes them to
    the products that read their gradient, everything is done for one chunk of rows at
    a time, of at most `chunk-bytes` of logits unless that takes over 256 chunks. Row
    results are joined, sums are added up. Nothing is computed twice. Example
    (tests/passes/exec/chunk-classifier.mlir): 4 samples of 256 tokens and 50257 classes
    become 4 chunks.
  }];
  let options = [Option<"chunkBytes", "chunk-bytes", "int64_t", "int64_t(64) << 20", "largest logits of a chunk">];
  let dependentDialects = ["::dtcc::spmd::SpmdDialect"];
}

def NarrowLosses : Pass<"exec-narrow-losses"> {
  let summary = "let gradients of logits be stored in the halves that products read";
  let description = [{
    A `graph.cast` to halves of the gradient of a cross entropy, which nobody else reads, becomes the type of that
    gradient: a pass over the logits less, the largest values of a step. Loss and statistics are f32 as before, and what
    is rounded is the same. Example (tests/passes/exec/narrow-losses.mlir): a gradient that two products read in bf16.
  }];
  let dependentDialects = ["::dtcc::graph::GraphDialect"];
}

def FoldEpilogues : Pass<"exec-fold-epilogues"> {
  let summary = "let products add biases, take activations and sum gradients of biases";
  let description = [{
    What the target's library of matrix products does with a result before it is stored costs no pass over memory and no
    launch: `graph.contract` becomes `exec.product` where a row is added to its result, where gelu (by tanh) is taken of
    it or its gradient multiplied by gelu's slope, and where the gradient of a weight is beside that of its bias, a sum
    of one of its factors. Left alone is what a kernel that stays would do in passing, and what cublasLt (cublasLt.h of
    CUDA 12 and 13) does not take: a bias or a sum of another type than the result; activations of another type
    than the factors, or whose rows do not divide by 8. Example (tests/passes/exec/fold-epilogues.mlir): a product, its bias
    and gelu become one op with two results, one of which the backward pass reads.
  }];
  let options = [Option<"bias", "bias", "bool", "false", "products add a row">,
                 Option<"gelu", "gelu", "bool", "false", "products take gelu and multiply by its slope">,
                 Option<"biasGradient", "bias-gradient", "bool", "false", "products sum the rows of a factor">];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def Fuse : Pass<"exec-fuse"> {
  let summary = "put ops that are one kernel into exec.fused";
  let description = [{
    Every elementwise op, broadcast and reduction of f32 ends in an `exec.fused` with
    the neighbours that share its loops: see codegen/KernelDomain.h for what one kernel
    can be. Splat constants, broadcasts and iotas are repeated in each kernel that reads
    them, f32 of halves and sums where that halves what it reads
    (tests/passes/exec/fuse-repeat.mlir). The order of ops with effects does not change. What the backward pass makes of
    values of the forward pass stays there, unless it is smaller than what it reads: in
    a forward kernel it would be kept instead. Example (tests/passes/exec/fuse.mlir): a
    residual sum and the layer norm after it become one kernel with two results.
  }];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def GenerateKernels : Pass<"exec-generate-kernels", "::mlir::ModuleOp"> {
  let summary = "replace exec.func by the code of its kernel";
  let description = [{
    Each `exec.func` becomes an `llvm.func` of the type `dtcc_kernel` with the same name
    and the attributes `dtcc.extent`, `dtcc.grain`, `dtcc.flops` and `dtcc.bytes`: loops in
    scf, cells in arith, math and vector, memory in llvm. Example
    (tests/passes/exec/generate-kernels.mlir): a bias and gelu over [8, 24] become one
    loop over 192 cells.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def GenerateGpuKernels : Pass<"exec-generate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "replace exec.func by the code of its kernel on a GPU";
  let description = [{
    Each `exec.func` becomes an `llvm.func` with the same name, marked `nvvm.kernel`, and the
    attributes `dtcc.grid`, `dtcc.block` (blocks, threads a block), `dtcc.flops` and
    `dtcc.bytes`. Its parameters are the record of the rank and the buffers, inputs first,
    aligned as the views of the `exec.kernel` that name it. Example (tests/passes/exec/generate-gpu-kernels.mlir): rows
    of a softmax are walked by a block each, which folds them by shuffles and shared memory.
  }];
}

def Bufferize : Pass<"exec-bufferize", "::mlir::ModuleOp"> {
  let summary = "turn spmd.program into exec.program: every value gets a place, every op its commands";
  let description = [{
    Unstack, slice, transpose and most reshapes become views; the operands of stack and
    concat, gradients and gathered shards are written in place where their producers
    can; elementwise kernels and all-reduces take the memory of an operand that dies.
    Contractions become matrix products over merged dimensions. Equal fused bodies over
    equally laid out buffers become one `exec.func`. Example
    (tests/passes/exec/bufferize.mlir): the gradient of a weight is a product that adds
    to its bucket, with no buffer of its own. Wide rows of matrices stand apart where their length is no multiple of what
    the library of products wants (tests/passes/exec/bufferize-rows.mlir): logits of 50,257 classes.
  }];
  let options = [Option<"packsRows", "packs-rows", "bool", "false",
                        "rows wait in one piece to be sent to experts: give them room">,
                 Option<"plansWorkspace", "plans-workspace", "bool", "false",
                        "library ops share a workspace that exec-reserve-workspace plans: give them none of their own">,
                 Option<"usesHost", "uses-host", "bool", "false",
                        "the host has memory of its own: what is to lie or to wait there does">,
                 Option<"rowAlignment", "row-alignment", "int64_t", "0",
                        "wide rows of matrices that products read or write start at multiples of so many bytes">];
  let dependentDialects = ["::dtcc::exec::ExecDialect", "::mlir::LLVM::LLVMDialect", "::dtcc::graph::GraphDialect"];
}

def AssignStreams : Pass<"exec-assign-streams", "::dtcc::exec::ProgramOp"> {
  let summary = "let collectives and messages run beside the commands that compute";
  let description = [{
    Collectives and sends of a communicator, most of which have something to hide behind in a
    phase, go to a stream of their own. Each waits for the command that stands before it, the
    first command that needs its bytes waits for it, and at most `in-flight` are on their
    way when the next is issued. A kernel that adds what a reduction brings to state moves
    behind the work that follows, up to the next reduction: else it would wait at once. Where communicators of parameters
    alone move, what else moves has another stream: others wait for messages, not for gradients.
    An action ends when its streams have ended. Example (tests/passes/exec/assign-streams.mlir):
    a product between a reduce-scatter and the norm of its result. Copies to memory of the host have a stream, and those
    from there another; the first stream waits for one to the host `behind` commands later at the latest, since what it
    copies stays till then (tests/passes/exec/offload-values.mlir).
  }];
  let options = [Option<"inFlight", "in-flight", "int64_t", "2", "collectives on their way besides the last one">,
                 Option<"behind", "behind", "int64_t", "12", "commands beside which a copy to the host is on its way">];
}

def SeparateParameters : Pass<"exec-separate-parameters", "::dtcc::exec::ProgramOp"> {
  let summary = "give parameters a communicator of their own where only that hides their exchanges";
  let description = [{
    exec-assign-streams moves all exchanges of a communicator or none. Where reductions of gradients and gathers of
    parameters (`ofParameters`) share one with exchanges of activations that are wanted at once, they get a second
    one of the same ranks, if they would move in some phase and the whole does not, and are at least `least` of the bytes that the group exchanges: NCCL holds some 0.5 GiB for each communicator. Groups over the stages of a pipeline stay
    as they are: each stage is another program. Example (tests/passes/exec/separate-parameters.mlir):
    ```mlir
    exec.communicator @over.cp over ["cp"]               // keys and values, wanted at once
    exec.communicator @over.cp.parameters over ["cp"] {ofParameters}    // made here
    exec.collective reduce_scatter sum on @over.cp.parameters ins(..) outs(..) {ofParameters}
    ```
  }];
  let options = [Option<"least", "least", "double", "0.1",
                        "of the bytes that a group exchanges, the part from which a second communicator is worth it">];
}

def OffloadValues : Pass<"exec-offload-values", "::dtcc::exec::ProgramOp"> {
  let summary = "let what the backward pass wants later wait with the host";
  let description = [{
    A buffer with `spmd.on_host` (what a forward op makes of which the plan says so) is copied to memory of the host
    behind the last command that touches it before the longest time in which none does, and back, into another
    buffer, `ahead` commands before the next. In a pipeline that time is from the phase that makes it to each later
    one of the micro-batch; a phase that reads it fetches it for itself, unless one before leaves something else
    there. What is wanted within twice `ahead` commands stays; in a phase of few, `ahead` is an eighth of them.
    exec-assign-streams puts the copies on streams of their own. Example
    (tests/passes/exec/offload-values.mlir):
    ```mlir
    exec.buffer @kept : 64 in @activations {spmd.on_host}   // also @kept.host in @host, @kept.back0 in @activations
    exec.kernel @make outs(%kept : memref<16xf32>)
    exec.copy ins(%all : memref<64xi8>) outs(%host : memref<64xi8>) {name = "to_host"}
    ...
    exec.copy ins(%host : memref<64xi8>) outs(%back : memref<64xi8>) {name = "from_host"}
    exec.kernel @read ins(%kept_again : memref<16xf32>)     // of @kept.back0
    ```
  }];
  let options = [Option<"ahead", "ahead", "int64_t", "12", "commands beside which a copy is on its way">];
}

def AssignSlots : Pass<"exec-assign-slots", "::dtcc::exec::ProgramOp"> {
  let summary = "memory for the micro-batches that are in flight";
  let description = [{
    In a program with actions, a buffer that several phases of a micro-batch use, or that
    the host fills for it, gets as many slots as its micro-batches need at a time. From
    the actions: the time from the first to the last run that touches it.
    ```mlir
    exec.program @step.0 mesh @mesh stage 0 over "pp" actions ["f 0", "f 1", "b 0", "b 1"] {
      exec.buffer @saved : 64 in @activations        // becomes 128: two micro-batches at a time
      exec.phase @f repeat 2 { %x = exec.view @saved[0] : memref<16xf32> ... }
      exec.phase @b repeat 2 { %x = exec.view @saved[0] : memref<16xf32> ... }
    }
    ```
    A view becomes `exec.view @saved[0 + slot * 64 mod 2]`.
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "where slots start, in bytes">];
}

def ReserveWorkspace : Pass<"exec-reserve-workspace", "::dtcc::exec::ProgramOp"> {
  let summary = "plan the scratch memory of library ops, and of messages, on GPUs";
  let description = [{
    Adds an arena `@operations` with one buffer, as large as what the library op that needs
    most asks for when it is bound on a GPU (runtime/abi/GpuWorkspace.h), so that it counts
    as memory of the plan. Ops of a stream run in order and share it. Example
    (tests/passes/exec/reserve-workspace.mlir): a product plans 32 MiB for cublasLt.
    Ops of several streams have a piece each, in the order of the streams.
    Adds an arena `@messages` where stages send: a send copies its message there and goes
    on, and each has room for as many as may be under way.
  }];
  let dependentDialects = ["::dtcc::exec::ExecDialect"];
}

def PlanArena : Pass<"exec-plan-arena", "::dtcc::exec::ProgramOp"> {
  let summary = "give every buffer an offset in its arena";
  let description = [{
    Buffers whose intervals of commands do not overlap share bytes: largest first, each
    into the smallest gap that holds it. Example (tests/passes/exec/plan-arena.mlir):
    three buffers in a chain need the memory of two.
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "where buffers start, in bytes">];
}

def Verify : Pass<"exec-verify", "::mlir::ModuleOp"> {
  let summary = "check that no command sees bytes that it must not";
  let description = [{
    By the bytes alone: views stay inside their buffers in every slot and on every rank;
    buffers in use at the same time share no byte; nothing is read that nobody wrote;
    commands of two streams that touch the same bytes, one of them writing, are ordered
    by an event; collectives over one communicator stand on one stream in a phase; memory of the host is touched by
    updates and by copies alone. Collectives have no predicate and the program is one text for all
    ranks, so that their order is the same everywhere. It changes nothing. Examples are
    in tests/passes/exec/verify-errors.mlir.
  }];
}

def VerifyMessages : Pass<"exec-verify-messages", "::mlir::ModuleOp"> {
  let summary = "check that the stages of a pipeline never wait for each other for ever";
  let description = [{
    Runs the messages and the collectives between the programs of all stages side by side,
    each in its own order: a send waits where as many messages of its channel are on
    their way as its program has sends, a receive for its message, a collective for all
    members. All must end, messages and collectives agree on both sides, and nothing be
    left unreceived. It changes nothing. Refused, from tests/passes/exec/verify-messages-errors.mlir:
    ```mlir
    exec.program @step.0 mesh @mesh stage 0 over "pp" { exec.phase @a { receive from 1; send to 1 } }
    exec.program @step.1 mesh @mesh stage 1 over "pp" { exec.phase @a { receive from 0; send to 0 } }
    ```
  }];
}

def FoldDimensions : Pass<"exec-fold-dimensions", "::mlir::ModuleOp"> {
  let summary = "fold dimensions of views that lie as one in memory";
  let description = [{
    Views of kernels, fills, messages and collectives each for itself, both sides of a copy together. A block stays a block,
    library ops keep their dimensions. Kernels are generated already: they read addresses alone. Example
    (tests/passes/exec/fold-dimensions.mlir):
    ```mlir
    %x = exec.view @x[0] : memref<4x2x2x8xf32, strided<[128, 32, 16, 1]>>     // before
    %x = exec.view @x[0] : memref<4x4x8xf32, strided<[128, 16, 1]>> // 2 x 2 lie as 4
    ```
  }];
}

def PriceCommands : Pass<"exec-price-commands", "::mlir::ModuleOp"> {
  let summary = "say what each command takes on a machine";
  let description = [{
    `seconds` of every command, by the search's cost model: the null device runs a program by them, and `--info` forecasts
    its step. Kernels are generated already, since their bytes are known then. Example
    (tests/passes/exec/price-commands.mlir): a product, a kernel and an all-reduce on two H100s.
  }];
  let options = [Option<"cluster", "cluster", "std::string", "\"cpu:1\"", "a preset, as of --cluster">];
}

#endif // DTCC_PASSES_EXEC_PASSES
