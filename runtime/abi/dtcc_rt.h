//===- dtcc_rt.h - What a compiled program says to the runtime -*- C -*-======//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one contract between the compiler and the runtime. It includes nothing
// but <stdint.h>, and neither side links the other.
//
// A compiled program has one or several worlds (World.h), each of which has two symbols:
//
//   dtcc_image         a position-independent block of bytes: a dtcc_image_header
//                      followed by the sections it points to (all offsets are in
//                      bytes from the start of the image, all arrays are aligned
//                      to 8). It is constant data and the same for every rank;
//                      its size does not depend on the number of ranks.
//   dtcc_kernels       an array of pointers to the generated kernels, whose length
//                      stands in the world
//
// A program for GPUs has the code of its kernels in the image instead, and no pointers.
//
// A program has one *stage*, or one per coordinate of a mesh axis (the stages of a
// pipeline): a stage has its own memory, states and step. A step is a list of
// *actions*. An action runs one *phase* (a range of the command table) for one slot
// (a micro-batch). A *command* is one kernel, library call, collective, message or
// copy over *views*: typed strided boxes at `offset + slot * slot_stride` of an arena.
//
// Every call gets the context of its rank: ranks may be threads of one process,
// so there are no globals.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_DTCC_RT_H
#define DTCC_RUNTIME_ABI_DTCC_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTCC_ABI_MAGIC 0x43435444u /* "DTCC" */
#define DTCC_ABI_VERSION 20u

/// Stands for no string, view, command, communicator, ...
#define DTCC_NONE 0xffffffffu
/// Largest rank of a view, a state or an input. The compiler folds dimensions that lie as one.
#define DTCC_MAX_RANK 16
/// Largest number of mesh axes that shard one dimension.
#define DTCC_MAX_AXES 7

/// Element types. The size in bytes is dtcc_dtype_size's.
typedef enum dtcc_dtype {
  DTCC_F32 = 0,
  DTCC_F64 = 1,
  DTCC_BF16 = 2,
  DTCC_F16 = 3,
  DTCC_I64 = 4,
  DTCC_I32 = 5,
  DTCC_I16 = 6,
  DTCC_I8 = 7,
  DTCC_BOOL = 8, /* one byte, 0 or 1 */
} dtcc_dtype;

static inline int64_t dtcc_dtype_size(uint32_t dtype) {
  switch (dtype) {
  case DTCC_F64:
  case DTCC_I64:
    return 8;
  case DTCC_F32:
  case DTCC_I32:
    return 4;
  case DTCC_BF16:
  case DTCC_F16:
  case DTCC_I16:
    return 2;
  default:
    return 1;
  }
}

/// `count` elements of a section that starts `offset` bytes into the image.
typedef struct dtcc_section {
  uint64_t offset;
  uint64_t count;
} dtcc_section;

/// An axis of the mesh, outermost first. Rank axes number the ranks row-major:
/// rank = ((c0 * n1 + c1) * n2 + c2) ... over the rank axes alone. The time axis
/// numbers the micro-batches of a step and has no part in the rank number.
typedef struct dtcc_axis {
  uint32_t name; /* string */
  uint32_t kind; /* dtcc_axis_kind */
  int64_t size;
} dtcc_axis;
typedef enum dtcc_axis_kind { DTCC_AXIS_RANK = 0, DTCC_AXIS_TIME = 1 } dtcc_axis_kind;

/// An ordered set of mesh axes, outermost first. Its linear index is that of the
/// coordinates in this order: ((c0 * n1 + c1) * n2 ...). Time axes contribute the
/// slot of the running action.
typedef struct dtcc_axes {
  uint8_t count;
  uint8_t ids[DTCC_MAX_AXES]; /* into the axes section */
} dtcc_axes;

/// A group of ranks: those that differ only in `axes`. A rank's index in the
/// group is the linear index of `axes`. With `members`, only some coordinates of the
/// outermost axis take part (bit i: coordinate i); indices then count these alone, and
/// a rank that takes no part is a group by itself. Every rank opens all communicators.
typedef struct dtcc_communicator {
  uint32_t name; /* string */
  uint32_t reserved;
  dtcc_axes axes;
  uint64_t members; /* 0: all */
} dtcc_communicator;

/// One block of memory, allocated before the first step and never again.
typedef struct dtcc_arena {
  uint32_t name; /* string: "state", "activations", "workspace", ... */
  uint32_t kind; /* dtcc_memory */
  uint64_t bytes;
} dtcc_arena;
/// Memory of the device that runs the commands. A program for GPUs may also have host memory, locked so that the GPU
/// reaches it; only commands that stream (dtcc_streams) touch that.
typedef enum dtcc_memory { DTCC_MEMORY_HOST = 0, DTCC_MEMORY_DEVICE = 1 } dtcc_memory;

/// A typed strided box of an arena. Sizes and strides are in elements, offsets
/// in bytes. A rank-0 view is one element. A view may be the rank's own block of
/// a box that lies whole in its memory (its share of a bucket, its slice of a
/// replicated tensor): then it starts index * sizes[d] * strides[d] elements
/// later, with the rank's index in a communicator (without `members`) and d = block_dim.
/// With `slots` = n > 0 there is memory for n slots, which later ones use again:
/// slot s lies at offset + (s mod n) * slot_stride. With `slot_order` = 1 + f it lies at
/// offset + slot_orders[f + s mod n] * slot_stride instead: virtual stages share the memory.
typedef struct dtcc_view {
  uint32_t arena;
  uint8_t dtype; /* dtcc_dtype */
  uint8_t rank;
  uint8_t block_of;  /* 0, or 1 + the communicator's index */
  uint8_t block_dim; /* 0 where block_of is 0 */
  int64_t offset;
  int64_t slot_stride;
  int64_t slots;      /* 0: every slot has its own memory, or all have the same */
  int64_t slot_order; /* 0, or 1 + its first row in slot_orders, of which it has `slots` */
  int64_t sizes[DTCC_MAX_RANK];
  int64_t strides[DTCC_MAX_RANK];
} dtcc_view;

typedef enum dtcc_command_kind {
  DTCC_KERNEL = 0,     /* op: index into dtcc_kernels, in a program for GPUs into gpu_kernels */
  DTCC_LIBRARY = 1,    /* op: dtcc_library_op, see LibraryOps.def */
  DTCC_COLLECTIVE = 2, /* op: dtcc_collective_op */
  DTCC_COPY = 3,       /* operands: from, to; the same shape, any strides */
  DTCC_FILL = 4,       /* operand: what to fill; attribute 0: the element's bits */
  DTCC_SEND = 5,       /* to attribute 0 = index in the communicator; attribute 1: how many may be on their way */
  DTCC_RECEIVE = 6,    /* from attribute 0 */
} dtcc_command_kind;

typedef enum dtcc_library_op {
#define DTCC_LIBRARY_OP(NAME, MNEMONIC, DESCRIPTION) DTCC_LIB_##NAME,
#include "runtime/abi/LibraryOps.def"
  DTCC_LIB_COUNT
} dtcc_library_op;

/// Whether the operands of a dtcc_library_op may lie in memory of a GPU's host.
static inline int dtcc_streams(uint32_t op) {
  switch (op) {
#define DTCC_STREAMING_OP(NAME, MNEMONIC, DESCRIPTION) case DTCC_LIB_##NAME:
#include "runtime/abi/LibraryOps.def"
    return 1;
  default:
    return 0;
  }
}

/// Whether a dtcc_library_op is the rule of an optimizer: its attributes from the third on are the optimizer's
/// settings.
static inline int dtcc_is_rule(uint32_t op) {
  switch (op) {
#define DTCC_RULE_OP(NAME, MNEMONIC, DESCRIPTION) case DTCC_LIB_##NAME:
#define DTCC_STREAMING_RULE_OP(NAME, MNEMONIC, DESCRIPTION) case DTCC_LIB_##NAME:
#include "runtime/abi/LibraryOps.def"
    return 1;
  default:
    return 0;
  }
}

/// Collectives.def says what each of them does, and which operands it has.
typedef enum dtcc_collective_op {
#define DTCC_COLLECTIVE_OP(NAME, C_NAME, ...) DTCC_##C_NAME,
#include "runtime/abi/Collectives.def"
  DTCC_COLLECTIVE_COUNT
} dtcc_collective_op;

typedef enum dtcc_reduction {
#define DTCC_REDUCTION(NAME, C_NAME, ...) DTCC_##C_NAME,
#include "runtime/abi/Reductions.def"
  DTCC_REDUCTION_COUNT
} dtcc_reduction;

/// The part of a step that a command belongs to.
typedef enum dtcc_pass { DTCC_FORWARD = 0, DTCC_BACKWARD = 1, DTCC_UPDATE = 2 } dtcc_pass;

/// The size of a step along a direction, an attribute of DTCC_LIB_APPLY_DIRECTION.
typedef enum dtcc_direction_size {
  DTCC_DIRECTION_PLAIN = 0,    /* the rate */
  DTCC_DIRECTION_BY_TRUST = 1, /* the rate times a trust ratio: LAMB */
  DTCC_DIRECTION_BY_RMS = 2,   /* relative to the parameter: Adafactor */
} dtcc_direction_size;

/// One row of the command table.
typedef struct dtcc_command {
  uint32_t kind; /* dtcc_command_kind */
  uint32_t op;
  uint32_t name;          /* string: what the command computes, for people */
  uint32_t stream;        /* commands of one stream run in order */
  uint32_t first_operand; /* into the operands section (view indices): inputs, outputs, then the workspace, if any */
  uint32_t operand_count;
  uint32_t first_attribute; /* into the attributes section (int64, doubles by their bits) */
  uint32_t attribute_count;
  uint32_t first_wait; /* into the waits section */
  uint32_t wait_count;
  uint32_t communicator; /* of a collective, send or receive; else DTCC_NONE */
  uint32_t predicate;    /* view of one i32: the command runs if it is not 0; or DTCC_NONE. Collectives have none. */
  uint32_t reduction;    /* dtcc_reduction */
  uint32_t only_slot;    /* the command runs in this slot of a step alone; DTCC_NONE: in every slot */
  uint32_t module;       /* string: the module of the user's model that it comes from, or empty; for people */
  uint32_t pass;         /* dtcc_pass; for people */
  int64_t extent;        /* kernels: the trip count of the parallel loop, shared out over the threads of the rank */
  int64_t grain;         /* kernels: least number of iterations worth a thread */
  double flops;          /* of the command on one rank: for the share of peak and traces */
  double bytes;          /* read and written */
  double seconds;        /* that a rank is going to need for it, by the compiler's cost model (StepClock.h) */
} dtcc_command;

/// Wait for `command` (an index of the command table) in this action.
typedef struct dtcc_wait {
  uint32_t command;
} dtcc_wait;

/// Phases of an evaluation that not every evaluation runs.
typedef enum dtcc_phase_use {
  DTCC_PHASE_RUNS = 0,               /* every other phase */
  DTCC_PHASE_EXCHANGES_AVERAGES = 1, /* parameters and their averages change places: around an evaluation of these */
  DTCC_PHASE_GATHERS_PARAMETERS = 2  /* copies of parameters are completed: if a step has run since they were */
} dtcc_phase_use;

typedef struct dtcc_phase {
  uint32_t name; /* string: "forward_backward", "update", ... */
  uint32_t first_command;
  uint32_t command_count;
  uint32_t use; /* dtcc_phase_use */
} dtcc_phase;

/// One entry of a stage's step. Slots number micro-batches. An action begins when all streams of the one before have
/// ended: waits are for commands that run beside each other.
typedef struct dtcc_action {
  uint32_t phase;
  uint32_t slot;
} dtcc_action;

/// Rows [first, first + count) of a section.
typedef struct dtcc_range {
  uint32_t first;
  uint32_t count;
} dtcc_range;

/// Buffers and actions of the ranks of one stage. Views, operands, attributes, waits and
/// communicators are shared by all stages; views of a stage lie in its arenas. A state
/// with copies in several stages has a row of the same name in each, whose content is
/// equal; the first is the one that is saved.
typedef struct dtcc_stage {
  uint32_t name;       /* string */
  uint32_t evaluation; /* how many of the actions, the last ones, are an evaluation; 0: the program has none */
  dtcc_range arenas;
  dtcc_range commands;
  dtcc_range phases;
  dtcc_range actions; /* a step, in order, and behind it an evaluation: the loss without an update, which a step runs
                         not; its sum and count are the scalars of the loss too */
  dtcc_range inputs;
  dtcc_range states;
  dtcc_range buckets;
  dtcc_range segments;
  uint32_t scalars[8]; /* views, by dtcc_scalar */
} dtcc_stage;

/// The actions of a step of `stage`.
static inline dtcc_range dtcc_step_actions(const dtcc_stage *stage) {
  dtcc_range step = {stage->actions.first, stage->actions.count - stage->evaluation};
  return step;
}

/// Layout of one dimension of a whole tensor on the mesh. The local extent is
/// `padded / product of axes`; cells at or past `size` are padding.
typedef struct dtcc_dim {
  int64_t size;
  int64_t padded;
  dtcc_axes axes;
} dtcc_dim;

/// A model input. Dimension 0 counts samples; time axes in `dims` select the
/// micro-batch: the view of slot s receives part s.
typedef struct dtcc_input {
  uint32_t name; /* string */
  uint32_t view; /* DTCC_NONE: the model does not read it */
  uint32_t rank;
  uint32_t role; /* dtcc_input_role */
  dtcc_dim dims[DTCC_MAX_RANK];
  int64_t lower;  /* legal values of an integer input: [lower, upper), or ignore */
  int64_t upper;  /* upper <= lower: not checked */
  int64_t ignore; /* a legal value outside the bounds (ignore_index), or lower */
} dtcc_input;
typedef enum dtcc_input_role {
  DTCC_INPUT_DATA = 0,
  DTCC_INPUT_TOKENS = 1, /* what --tokens fills */
  DTCC_INPUT_LABELS = 2, /* with --tokens: the same tokens; see label_shift of the header */
  /* made of the tokens of a sample by the id that ends or begins a document: */
  DTCC_INPUT_DOCUMENTS = 3, /* number of the document of each token, from 0 */
  DTCC_INPUT_POSITIONS = 4, /* position of each token in its document, from 0 */
} dtcc_input_role;

typedef enum dtcc_state_role {
  DTCC_STATE_PARAMETER = 0,
  DTCC_STATE_BUFFER = 1, /* not trained, saved */
  DTCC_STATE_SLOT = 2,   /* optimizer slot of `parameter`; zero at start */
  /* `parameter` in the type that it is computed in, under the same name: starts and is loaded as that, not saved */
  DTCC_STATE_COMPUTE = 3,
} dtcc_state_role;

typedef enum dtcc_init {
  DTCC_INIT_ZERO = 0,
  DTCC_INIT_CONSTANT = 1, /* init_a */
  DTCC_INIT_NORMAL = 2,   /* mean init_a, deviation init_b; Philox keyed by seed, state and global element */
  DTCC_INIT_UNIFORM = 3,  /* [init_a, init_b) */
  DTCC_INIT_FILE = 4,     /* tensor `name` of the weights */
} dtcc_init;

/// The values of a state: elements of its type, or 8-bit codes of f32 values in blocks, as BlockCodes.h says. A state
/// of codes has the type i8 and no view.
typedef enum dtcc_codes {
  DTCC_CODES_NONE = 0,
  DTCC_CODES_SIGNED = 1,
  DTCC_CODES_UNSIGNED = 2, /* of values of at least 0 */
} dtcc_codes;

/// One tensor of state. `view` is this rank's block (contiguous or not), whose
/// whole is described by `dims`; the saved tensor has the same row-major bytes
/// under `saved_sizes`. With `flat` axes the rank holds only a share of the
/// block: see dtcc_bucket.
typedef struct dtcc_state {
  uint32_t name; /* string: under which it is saved and loaded */
  uint32_t view; /* compute copy; DTCC_NONE if only a share is held (slots) */
  uint32_t rank;
  uint32_t role; /* dtcc_state_role */
  uint32_t dtype;
  uint32_t bucket;    /* index of its bucket */
  uint32_t parameter; /* slots, compute copies: the state they belong to; else DTCC_NONE */
  uint32_t trainable;
  uint32_t saved_rank;
  uint32_t init;  /* dtcc_init */
  uint32_t codes; /* dtcc_codes */
  uint32_t reserved;
  double init_a;
  double init_b;
  int64_t bucket_offset; /* elements from the start of the bucket */
  int64_t saved_sizes[DTCC_MAX_RANK];
  dtcc_dim dims[DTCC_MAX_RANK];
} dtcc_state;

/// One-dimensional storage of the states of one layout. `view` is the whole
/// local bucket or, with `flat` axes, this rank's contiguous slice of it:
/// elements [index * length / n, (index + 1) * length / n). A bucket of codes has their scales behind them
/// (BlockCodes.h).
typedef struct dtcc_bucket {
  uint32_t name; /* string */
  uint32_t view;
  int64_t length; /* elements of the whole local bucket, padding included */
  dtcc_axes flat;
  dtcc_axes sharded; /* axes that shard the states in it: their squares are summed over these */
  uint32_t role;     /* dtcc_state_role; slots and compute copies name their parameters' bucket below */
  uint32_t parameters;
} dtcc_bucket;

/// A range of a bucket that belongs to one parameter.
typedef struct dtcc_segment {
  uint32_t bucket;
  uint32_t state;
  int64_t offset;
  int64_t length;
  double decay;    /* weight decay */
  double lr_scale; /* times the learning rate */
} dtcc_segment;

/// Scalars, and one vector, that the host writes before or reads after a step or an evaluation.
typedef enum dtcc_scalar {
  DTCC_SCALAR_LOSS_SUM = 0,   /* f32, read: sum over the global batch */
  DTCC_SCALAR_LOSS_COUNT = 1, /* f32, read */
  DTCC_SCALAR_GRAD_NORM = 2,  /* f32, read: before clipping */
  DTCC_SCALAR_LR = 3,         /* f32, written */
  DTCC_SCALAR_STEP = 4,       /* i64, written: the number of this step, from 1 */
  DTCC_SCALAR_LOSS_SCALE = 5, /* f32, read: for the next step; state, lies in a bucket */
  DTCC_SCALAR_SKIPPED = 6,    /* f32, read: steps so far that updated nothing */
  /* f32, read after an evaluation. A scalar: how many labels the largest logit names. A vector: the sum of the rows of
     logits whose labels count. */
  DTCC_SCALAR_PREDICTION = 7,
  DTCC_SCALAR_COUNT = 8,
} dtcc_scalar;

/// The optimizer's defaults, which the command line may override.
typedef struct dtcc_training {
  double lr;
  int64_t batch;       /* global samples of one step */
  int64_t tokens;      /* tokens of one step, or 0 if the model has none */
  int64_t label_shift; /* --tokens: label of position t is token t + label_shift; 0 where the model shifts itself */
  uint64_t seed;
} dtcc_training;

/// A generated kernel of a program for GPUs: an entry of its code, launched in `grid` blocks of `block` threads, both
/// one-dimensional. Its parameters are a dtcc_rank in the device's memory (coordinates too), the address of its
/// command's predicate or null, and the address of each operand's view. Arenas start at multiples of 256 bytes; how
/// wide a kernel reads follows from its views' offsets.
typedef struct dtcc_gpu_kernel {
  uint32_t name;  /* string */
  uint32_t block; /* 1 to 1024 */
  int64_t grid;   /* 1 to 2^31 - 1 */
} dtcc_gpu_kernel;

/// All generated kernels for one architecture. A program has them as PTX, which the driver compiles for that
/// architecture and for later ones, and may have them assembled for some.
typedef struct dtcc_gpu_module {
  uint32_t architecture; /* of CUDA, ten times major plus minor: 90 is sm_90 */
  uint32_t kind;         /* dtcc_gpu_code */
  uint64_t offset;       /* bytes of gpu_code */
  uint64_t bytes;        /* PTX: the NUL at its end included */
} dtcc_gpu_module;
typedef enum dtcc_gpu_code {
  DTCC_GPU_PTX = 0,
  DTCC_GPU_CUBIN = 1, /* for that architecture and later ones of the same major number */
} dtcc_gpu_code;

typedef struct dtcc_image_header {
  uint32_t magic;
  uint32_t abi_version;
  uint64_t image_bytes;
  uint32_t model; /* string */
  uint32_t plan;  /* string: the plan as JSON */
  uint32_t cpu;   /* string: the processor the kernels were generated for, e.g. "znver4"; of a program for GPUs empty */
  uint32_t weights; /* string: file name of the weights beside the program, kOwnWeights, or empty */
  dtcc_training training;
  uint32_t stage_axis; /* the mesh axis whose coordinate is a rank's stage; DTCC_NONE: there is one stage */
  uint32_t tf32;       /* GPUs: products of f32 may round their factors to 10 bits of mantissa */
  uint32_t machine;    /* string: what the commands' seconds are of, "8 x h100-sxm"; empty: they have none */
  uint32_t tensors; /* string: how the model's tensors are found and saved, as JSON (runtime/checkpoint/TensorTable.h),
                       or empty: every state under its own name, in its own type */
  uint32_t precision;   /* string: type of products, "f32", "bf16" or "fp16" */
  uint32_t gradients;   /* string: type of gradients, "f32" or "bf16" */
  double peak_flops;    /* a second, of all ranks' devices by their data sheets; 0: not known */
  dtcc_section strings; /* char, each NUL-terminated; a string is its byte offset here */
  dtcc_section axes;    /* dtcc_axis */
  dtcc_section communicators;
  dtcc_section arenas;
  dtcc_section views;
  dtcc_section slot_orders; /* int64_t, see dtcc_view */
  dtcc_section operands;    /* uint32_t */
  dtcc_section attributes;  /* int64_t */
  dtcc_section waits;
  dtcc_section commands;
  dtcc_section phases;
  dtcc_section actions;
  dtcc_section inputs;
  dtcc_section states;
  dtcc_section buckets;
  dtcc_section segments;
  dtcc_section stages;      /* as many as the stage axis is long */
  dtcc_section gpu_kernels; /* the three are empty but in a program for GPUs */
  dtcc_section gpu_modules;
  dtcc_section gpu_code; /* char */
  /* char: the ONNX model without the data of its parameters, for --save=FILE.onnx (runtime/checkpoint/save/SaveOnnx.h);
     empty where the program was not compiled from one */
  dtcc_section onnx_model;
  /* Of all bytes of the image behind the header, and of the header but for this last field: Checksum.h. Whoever writes
     an image seals it, whoever reads one refuses it if a byte is another. */
  uint64_t tables_checksum;
  uint64_t header_checksum;
} dtcc_image_header;

/// The part of a rank that a generated kernel sees.
typedef struct dtcc_rank {
  int64_t rank;
  int64_t ranks;
  int64_t slot;
  uint64_t seed;
  int64_t step;               /* from 1 */
  const int64_t *coordinates; /* one per mesh axis, time axes included (the slot) */
} dtcc_rank;

/// A generated kernel: iterations [begin, end) of its parallel loop. `buffers`
/// holds the address of each operand's view.
typedef void (*dtcc_kernel)(const dtcc_rank *rank, void *const *buffers, int64_t begin, int64_t end);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // DTCC_RUNTIME_ABI_DTCC_RT_H
