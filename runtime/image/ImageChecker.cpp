//===- ImageChecker.cpp - What must hold in an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/ImageChecker.h"

#include "runtime/abi/BlockCodes.h"
#include "runtime/abi/Checksum.h"
#include "runtime/abi/Collectives.h"
#include "runtime/abi/GpuWorkspace.h"
#include "runtime/abi/SectionRows.h"
#include "runtime/collective/RowExchange.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace dtcc::rt {
namespace {

using Wide = __int128;

/// Sizes, strides and products of sizes are no larger: 64 bits hold them times any width, and Wide sums of their
/// products.
constexpr int64_t mostElements = int64_t(1) << 56;
/// Positions that labels lie behind their tokens.
constexpr int64_t mostShift = int64_t(1) << 31;

/// Checks one row of one table; `where()` names it in messages.
class RowChecker {
public:
  RowChecker(const Image &image, const char *table, size_t row) : image(image), table(table), row(row) {}

  template <typename Value> void require(bool holds, const char *what, const Value &got) const {
    if (!holds)
      fail("damaged program: ", table, " ", row, ": ", what, ", got: ", got);
  }
  void string(uint32_t offset, const char *what) const {
    if (offset != DTCC_NONE)
      require(offset < image.header().strings.count, what, offset);
  }
  void index(uint64_t value, uint64_t count, const char *what, bool optional = false) const {
    if (!optional || value != DTCC_NONE)
      require(value < count, what, value);
  }
  void range(uint64_t first, uint64_t length, uint64_t count, const char *what) const {
    require(length <= count && first <= count - length, what, first);
  }
  void axes(const dtcc_axes &set, bool timeAllowed) const {
    require(set.count <= DTCC_MAX_AXES, "number of axes of a set must be at most 7", int(set.count));
    for (int i = 0; i < set.count; ++i) {
      index(set.ids[i], image.axes().size(), "an axis must be one of the mesh");
      require(timeAllowed || image.axes()[set.ids[i]].kind == DTCC_AXIS_RANK, "a group may have rank axes only",
              int(set.ids[i]));
      for (int j = 0; j < i; ++j)
        require(set.ids[j] != set.ids[i], "an axis must stand once in a set", int(set.ids[i]));
    }
  }
  /// The product of some sizes, which is at most mostElements.
  int64_t product(int64_t before, int64_t size, const char *what) const {
    require(size >= 0 && (size == 0 || before <= mostElements / size), what, size);
    return before * size;
  }
  /// Whole sizes of a state or input, whose local sizes must be those of `view`.
  void dims(const dtcc_dim *dims, uint32_t rank, bool timeAllowed) const {
    require(rank <= DTCC_MAX_RANK, "rank must be at most 16", rank);
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; ++i) {
      axes(dims[i].axes, timeAllowed);
      elements = product(elements, dims[i].padded, "padded sizes must multiply to at most 2^56");
      require(dims[i].size >= 0 && dims[i].padded >= dims[i].size, "padded size must be at least the size",
              dims[i].padded);
      require(dims[i].padded % image.mesh().extent(dims[i].axes) == 0, "padded size must be a multiple of its shards",
              dims[i].padded);
    }
  }
  void localSizes(const dtcc_dim *dims, uint32_t rank, uint32_t view) const {
    const dtcc_view &v = image.views()[view];
    require(v.rank == rank, "the view must have the rank of the whole", int(v.rank));
    for (uint32_t i = 0; i < rank; ++i)
      require(v.sizes[i] == dims[i].padded / image.mesh().extent(dims[i].axes),
              "the view must have the size of the block", v.sizes[i]);
  }

private:
  const Image &image;
  const char *table;
  size_t row;
};

void checkView(const Image &image, size_t i) {
  RowChecker check(image, "view", i);
  const dtcc_view &view = image.views()[i];
  check.index(view.arena, image.arenas().size(), "arena must exist");
  check.require(view.dtype <= DTCC_BOOL, "element type must be known", int(view.dtype));
  check.require(view.rank <= DTCC_MAX_RANK, "rank must be at most 16", int(view.rank));
  int64_t width = dtcc_dtype_size(view.dtype);
  check.require(view.offset >= 0 && view.offset % width == 0, "offset must be a multiple of the element size",
                view.offset);
  check.require(view.slot_stride >= 0 && view.slot_stride % width == 0,
                "slot stride must be a multiple of the element size", view.slot_stride);
  check.require(view.block_of <= image.communicators().size(), "communicator of a block must exist",
                int(view.block_of));
  check.require(view.block_of == 0 || image.communicators()[view.block_of - 1].members == 0,
                "a block must be of a whole group", int(view.block_of));
  check.require(view.block_of == 0 || view.block_dim < view.rank, "dimension of a block must exist",
                int(view.block_dim));
  bool empty = false;
  int64_t elements = 1;
  Wide last = 0;
  for (int d = 0; d < view.rank; ++d) {
    check.require(view.sizes[d] >= 0, "size must be at least 0", view.sizes[d]);
    check.require(view.strides[d] >= 0, "stride must be at least 0", view.strides[d]);
    check.require(view.strides[d] <= mostElements, "stride must be at most 2^56", view.strides[d]);
    elements = check.product(elements, view.sizes[d], "sizes must multiply to at most 2^56");
    empty |= view.sizes[d] == 0;
    bool block = view.block_of != 0 && d == view.block_dim;
    Wide size = block ? view.sizes[d] * Wide(image.mesh().extent(image.communicators()[view.block_of - 1].axes))
                      : Wide(view.sizes[d]);
    check.require(size <= mostElements, "a box must have at most 2^56 elements", view.sizes[d]);
    last += (size - 1) * view.strides[d];
  }
  if (empty)
    last = -1;
  check.require(view.slots >= 0, "number of slots must be at least 0", view.slots);
  int64_t slots = view.slots > 0 ? std::min(view.slots, image.mesh().slots()) : image.mesh().slots();
  Wide end = Wide(view.offset) + Wide(slots - 1) * view.slot_stride + (last + 1) * width;
  check.require(end <= Wide(image.arenas()[view.arena].bytes), "the view must end inside its arena", int64_t(end));
}

/// Rows, picks and output, what comes back (combine alone), what waits to be sent (GPUs alone, but for a combine with a
/// bound), lists.
void checkRowExchange(const Image &image, const dtcc_command &command, const RowChecker &check) {
  auto views = image.views();
  auto operands = image.operands(command);
  bool combine = command.op == DTCC_COMBINE_ROWS;
  const int64_t room = command.attribute_count == 2 ? image.attributes(command)[1] : 0;
  bool packs = image.isForGpus() && !(combine && room > 0);
  check.require(operands.size() == size_t(4 + combine + packs), "number of operands must fit the command",
                operands.size());
  check.require(command.attribute_count >= 1 && command.attribute_count <= 2 && image.attributes(command)[0] >= 1,
                "an exchange of rows must have a member's number of experts", command.attribute_count);
  check.require(command.attribute_count == 1 || room >= 1, "room for rows must be at least 1", room);
  const dtcc_view &in = views[operands[0]], &ids = views[operands[1]], &out = views[operands[2]];
  const dtcc_view &lists = views[operands.back()];
  for (uint32_t view : operands)
    check.require(isContiguous(views[view]), "operands of a collective must be contiguous", view);
  check.require(in.dtype == out.dtype, "operands of a collective must have one element type", int(out.dtype));
  check.require(ids.dtype == DTCC_I64 || ids.dtype == DTCC_I32, "picks must be integers", int(ids.dtype));
  check.require(lists.dtype == DTCC_I64, "lists must be of type i64", int(lists.dtype));
  check.require(in.rank >= 1 && out.rank >= 1 && ids.rank >= 1 && in.sizes[in.rank - 1] == out.sizes[out.rank - 1] &&
                    ids.sizes[ids.rank - 1] >= 1,
                "rows must have one length", int(in.rank));
  int64_t members = image.mesh().sizeOf(image.communicators()[command.communicator]);
  RowExchange exchange;
  exchange.picks = ids.sizes[ids.rank - 1];
  exchange.tokens = elementCount(ids) / exchange.picks / members;
  exchange.room = room;
  Wide columns = in.sizes[in.rank - 1], mine = Wide(exchange.tokens) * columns;
  Wide all = room > 0 ? Wide(room) * columns : mine * members;
  check.require(Wide(exchange.tokens) * members * exchange.picks == elementCount(ids) &&
                    elementCount(in) == (combine ? all : mine) && elementCount(out) == (combine ? mine : all),
                "sizes of a collective must fit its group", elementCount(out));
  check.require(elementCount(lists) >= exchange.listLength(members), "room for the lists must suffice",
                elementCount(lists));
  if (combine) {
    const dtcc_view &received = views[operands[3]];
    check.require(received.dtype == in.dtype && elementCount(received) >= mine * exchange.copies(members),
                  "room for what comes back must suffice", elementCount(received));
  }
  if (packs) {
    const dtcc_view &packed = views[operands[operands.size() - 2]];
    Wide rows = Wide(members) * gpu_workspace::rowsOfRound(exchange.tokens, exchange.copies(members), members);
    check.require(packed.dtype == in.dtype && elementCount(packed) >= rows * columns,
                  "room for what is sent must suffice", elementCount(packed));
  }
}

void checkOperands(const Image &image, const dtcc_command &command, const RowChecker &check) {
  auto views = image.views();
  auto operands = image.operands(command);
  auto need = [&](size_t count) {
    check.require(operands.size() == count, "number of operands must fit the command", operands.size());
  };
  switch (command.kind) {
  case DTCC_COPY: {
    need(2);
    const dtcc_view &from = views[operands[0]], &to = views[operands[1]];
    check.require(from.dtype == to.dtype && from.rank == to.rank, "both sides of a copy must have one type and rank",
                  int(to.rank));
    for (int d = 0; d < from.rank; ++d)
      check.require(from.sizes[d] == to.sizes[d], "both sides of a copy must have one shape", to.sizes[d]);
    break;
  }
  case DTCC_FILL:
    need(1);
    check.require(command.attribute_count == 1, "a fill must have one attribute", command.attribute_count);
    break;
  case DTCC_SEND:
  case DTCC_RECEIVE: {
    need(1);
    bool sends = command.kind == DTCC_SEND;
    check.require(command.attribute_count == (sends ? 2u : 1u),
                  sends ? "a send must have two attributes" : "a receive must have one attribute",
                  command.attribute_count);
    if (sends)
      check.require(image.attributes(command)[1] >= 1, "room for messages must be at least 1",
                    image.attributes(command)[1]);
    int64_t peer = image.attributes(command)[0];
    check.require(peer >= 0 && peer < image.mesh().sizeOf(image.communicators()[command.communicator]),
                  "peer must be a member of the communicator", peer);
    check.require(isContiguous(views[operands[0]]), "operand of a send must be contiguous", operands[0]);
    break;
  }
  case DTCC_COLLECTIVE: {
    const CollectiveInfo &info = collectiveInfo(command.op);
    if (info.in == Extent::None)
      break;
    if (info.traffic == Traffic::ToPicked) {
      checkRowExchange(image, command, check);
      break;
    }
    need(2);
    const dtcc_view &in = views[operands[0]], &out = views[operands[1]];
    check.require(isContiguous(in) && isContiguous(out), "operands of a collective must be contiguous", operands[0]);
    check.require(in.dtype == out.dtype, "operands of a collective must have one element type", int(out.dtype));
    Wide members = image.mesh().sizeOf(image.communicators()[command.communicator]);
    check.require(info.fits<Wide>(elementCount(in), elementCount(out), members),
                  "sizes of a collective must fit its group", elementCount(out));
    break;
  }
  default:
    break;
  }
}

void checkCommand(const Image &image, size_t i, uint64_t kernelCount) {
  RowChecker check(image, "command", i);
  const dtcc_image_header &header = image.header();
  const dtcc_command &command = image.commands()[i];
  check.string(command.name, "name must be a string");
  check.string(command.module, "module must be a string");
  check.require(command.pass <= DTCC_UPDATE, "pass must be a part of a step", command.pass);
  check.require(command.kind <= DTCC_RECEIVE, "kind must be known", command.kind);
  if (command.kind == DTCC_KERNEL)
    check.index(command.op, image.isForGpus() ? image.gpuCode().kernels.size() : kernelCount, "kernel must exist");
  if (command.kind == DTCC_LIBRARY)
    check.index(command.op, DTCC_LIB_COUNT, "library op must be known");
  if (command.kind == DTCC_COLLECTIVE)
    check.index(command.op, DTCC_COLLECTIVE_COUNT, "collective must be known");
  check.range(command.first_operand, command.operand_count, header.operands.count, "operands must exist");
  check.range(command.first_attribute, command.attribute_count, header.attributes.count, "attributes must exist");
  check.range(command.first_wait, command.wait_count, header.waits.count, "waits must exist");
  for (uint32_t view : image.operands(command))
    check.index(view, image.views().size(), "operand must be a view");
  for (const dtcc_wait &wait : image.waits(command)) {
    check.index(wait.command, image.commands().size(), "a wait must name a command");
    // One stream of program order satisfies a wait only if it looks back.
    check.require(wait.command < i, "a wait must name an earlier command", wait.command);
  }
  bool communicates = command.kind == DTCC_COLLECTIVE || command.kind == DTCC_SEND || command.kind == DTCC_RECEIVE;
  check.index(command.communicator, image.communicators().size(), "communicator must exist", !communicates);
  check.require(command.reduction < DTCC_REDUCTION_COUNT, "reduction must be known", command.reduction);
  check.require(command.only_slot == DTCC_NONE || static_cast<int64_t>(command.only_slot) < image.mesh().slots(),
                "only_slot must be a slot", command.only_slot);
  check.require(command.extent >= 0, "extent must be at least 0", command.extent);
  check.require(std::isfinite(command.seconds) && command.seconds >= 0, "seconds must be a time", command.seconds);
  if (command.predicate != DTCC_NONE) {
    check.index(command.predicate, image.views().size(), "predicate must be a view");
    check.require(image.views()[command.predicate].dtype == DTCC_I32, "predicate must be of type i32",
                  int(image.views()[command.predicate].dtype));
    check.require(command.kind != DTCC_COLLECTIVE, "a collective must have no predicate", command.predicate);
  }
  checkOperands(image, command, check);
}

void checkState(const Image &image, size_t i) {
  RowChecker check(image, "state", i);
  const dtcc_state &state = image.states()[i];
  check.string(state.name, "name must be a string");
  check.require(state.role <= DTCC_STATE_COMPUTE, "role must be known", state.role);
  check.require(state.init <= DTCC_INIT_FILE, "initial value must be known", state.init);
  check.require(state.codes <= DTCC_CODES_UNSIGNED, "codes must be known", state.codes);
  check.require((state.codes != DTCC_CODES_NONE) == (state.role == DTCC_STATE_SLOT && state.dtype == DTCC_I8),
                "slots of type i8 have codes, and nothing else has", state.codes);
  check.require(state.codes == DTCC_CODES_NONE || (state.view == DTCC_NONE && state.bucket_offset % codeBlock == 0),
                "codes must lie in blocks of their bucket alone", state.bucket_offset);
  check.require(state.dtype <= DTCC_BOOL, "element type must be known", state.dtype);
  check.dims(state.dims, state.rank, /*timeAllowed=*/false);
  check.require(state.saved_rank <= DTCC_MAX_RANK, "saved rank must be at most 16", state.saved_rank);
  int64_t saved = 1, whole = 1, block = 1;
  for (uint32_t d = 0; d < state.saved_rank; ++d)
    saved = check.product(saved, state.saved_sizes[d], "saved sizes must multiply to at most 2^56");
  for (uint32_t d = 0; d < state.rank; ++d) {
    whole *= state.dims[d].size;
    block *= state.dims[d].padded / image.mesh().extent(state.dims[d].axes);
  }
  check.require(saved == whole, "saved elements must be those of the whole", saved);
  check.index(state.view, image.views().size(), "view must exist", /*optional=*/true);
  check.index(state.parameter, image.states().size(), "parameter must exist", /*optional=*/true);
  check.index(state.bucket, image.buckets().size(), "bucket must exist", /*optional=*/state.view != DTCC_NONE);
  if (state.view == DTCC_NONE) {
    uint32_t share = image.buckets()[state.bucket].view;
    check.index(share, image.views().size(), "a state without a view must have its bucket's");
    check.require(image.views()[share].dtype == state.dtype, "the bucket must have the state's element type",
                  int(image.views()[share].dtype));
  }
  if (state.view != DTCC_NONE) {
    check.localSizes(state.dims, state.rank, state.view);
    check.require(image.views()[state.view].dtype == state.dtype, "the view must have the state's element type",
                  int(image.views()[state.view].dtype));
  }
  if (state.bucket != DTCC_NONE)
    check.require(state.bucket_offset >= 0 &&
                      Wide(state.bucket_offset) + block <= Wide(image.buckets()[state.bucket].length),
                  "the state must lie inside its bucket", state.bucket_offset);
}

void checkBucket(const Image &image, size_t i) {
  RowChecker check(image, "bucket", i);
  const dtcc_bucket &bucket = image.buckets()[i];
  check.string(bucket.name, "name must be a string");
  check.axes(bucket.flat, false);
  check.axes(bucket.sharded, false);
  check.require(bucket.length >= 0 && bucket.length <= mostElements &&
                    bucket.length % image.mesh().extent(bucket.flat) == 0,
                "length must be a multiple of the flat shares, at most 2^56", bucket.length);
  check.index(bucket.view, image.views().size(), "view must exist", true);
  check.index(bucket.parameters, image.buckets().size(), "parameters' bucket must exist", true);
  if (bucket.view == DTCC_NONE)
    return;
  const dtcc_view &view = image.views()[bucket.view];
  const int64_t share = bucket.length / image.mesh().extent(bucket.flat);
  const bool isCoded = bucket.role == DTCC_STATE_SLOT && view.dtype == DTCC_I8;
  check.require(!isCoded || share % codeBlock == 0, "shares of codes must be whole blocks", share);
  check.require(isContiguous(view) && elementCount(view) == (isCoded ? codedBytes(share) : share),
                "the view must be the rank's dense share", elementCount(view));
}

/// States of one stage have different names, but for compute copies, which have their parameter's; those of one name
/// are the same tensor.
void checkCopies(const Image &image) {
  std::map<std::string_view, const dtcc_state *> first;
  for (const dtcc_stage &stage : image.stages()) {
    std::set<std::string_view> names;
    for (uint32_t i = stage.states.first; i < stage.states.first + stage.states.count; ++i) {
      const dtcc_state &state = image.states()[i];
      std::string_view name = image.string(state.name);
      RowChecker check(image, "state", i);
      bool copies = state.role == DTCC_STATE_COMPUTE;
      check.require(names.insert(name).second != copies,
                    copies ? "a compute copy must have a parameter's name" : "names must differ", name);
      auto [known, isNew] = first.try_emplace(name, &state);
      bool same = (copies || known->second->dtype == state.dtype) && known->second->rank == state.rank;
      for (uint32_t d = 0; same && d < state.rank; ++d)
        same = known->second->dims[d].size == state.dims[d].size;
      check.require(same, "copies of a state must have one shape and type", name);
    }
  }
}

/// The rows of a stage exist, and its commands touch no memory of others.
void checkStage(const Image &image, size_t i) {
  RowChecker check(image, "stage", i);
  const dtcc_image_header &header = image.header();
  const dtcc_stage &stage = image.stages()[i];
  check.string(stage.name, "name must be a string");
  auto rows = [&](const dtcc_range &range, const dtcc_section &section) {
    check.range(range.first, range.count, section.count, "rows must exist");
  };
#define DTCC_STAGE_SECTION(FIELD, TYPE) rows(stage.FIELD, header.FIELD);
#include "runtime/abi/Sections.def"
  check.require(stage.evaluation <= stage.actions.count, "an evaluation must consist of the stage's actions",
                stage.evaluation);
  auto own = [&](uint32_t index, const dtcc_range &range, const char *what) {
    check.require(index - range.first < range.count, what, index);
  };
  auto ownView = [&](uint32_t view) {
    if (view != DTCC_NONE)
      own(image.views()[view].arena, stage.arenas, "memory must be the stage's own");
  };
  for (const dtcc_action &action : rowsOf(stage.actions, image.actions()))
    own(action.phase, stage.phases, "actions must be of the stage's phases");
  for (const dtcc_phase &phase : rowsOf(stage.phases, image.phases()))
    if (phase.command_count > 0) {
      own(phase.first_command, stage.commands, "phases must hold the stage's commands");
      own(phase.first_command + phase.command_count - 1, stage.commands, "phases must hold the stage's commands");
    }
  for (const dtcc_command &command : rowsOf(stage.commands, image.commands())) {
    ownView(command.predicate);
    for (uint32_t view : image.operands(command))
      ownView(view);
    for (const dtcc_wait &wait : image.waits(command))
      own(wait.command, stage.commands, "a wait must name a command of the stage");
  }
  for (const dtcc_input &input : rowsOf(stage.inputs, image.inputs()))
    if (input.view == DTCC_NONE || input.view < image.views().size())
      ownView(input.view);
  for (uint32_t which = 0; which < DTCC_SCALAR_COUNT; ++which) {
    RowChecker scalar(image, "scalar", which);
    uint32_t index = stage.scalars[which];
    scalar.index(index, image.views().size(), "view must exist", true);
    if (index == DTCC_NONE)
      continue;
    ownView(index);
    const dtcc_view &view = image.views()[index];
    scalar.require(view.dtype == (which == DTCC_SCALAR_STEP ? DTCC_I64 : DTCC_F32), "element type must fit",
                   int(view.dtype));
    scalar.require(elementCount(view) == 1 || (which == DTCC_SCALAR_PREDICTION && view.rank == 1 && isContiguous(view)),
                   "the view must hold one element", elementCount(view));
  }
}

void checkInput(const Image &image, size_t i) {
  RowChecker check(image, "input", i);
  const dtcc_input &input = image.inputs()[i];
  check.string(input.name, "name must be a string");
  check.require(input.role <= DTCC_INPUT_POSITIONS, "role must be known", input.role);
  check.require(input.rank >= 1, "an input must have a dimension of samples, rank at least 1", input.rank);
  check.dims(input.dims, input.rank, /*timeAllowed=*/true);
  check.index(input.view, image.views().size(), "view must exist", true);
  if (input.view != DTCC_NONE)
    check.localSizes(input.dims, input.rank, input.view);
}

/// GPUs reach memory of their host over a link: for state that an update takes once a step, and for what waits there.
void checkHostMemory(const Image &image) {
  auto onHost = [&](uint32_t view) {
    return view != DTCC_NONE && image.isOnHost(image.arenas()[image.views()[view].arena]);
  };
  auto isDense = [&](uint32_t view) { return isContiguous(image.views()[view]); };
  constexpr const char *what = "memory of the host must be touched by updates and by copies of dense views alone";
  for (size_t i = 0; i < image.commands().size(); ++i) {
    RowChecker check(image, "command", i);
    const dtcc_command &command = image.commands()[i];
    check.require(!onHost(command.predicate), what, command.predicate);
    auto views = image.operands(command);
    bool copies = command.kind == DTCC_COPY && std::all_of(views.begin(), views.end(), isDense);
    if (!copies && (command.kind != DTCC_LIBRARY || !dtcc_streams(command.op)))
      for (uint32_t view : views)
        check.require(!onHost(view), what, view);
  }
  for (size_t i = 0; i < image.inputs().size(); ++i)
    RowChecker(image, "input", i).require(!onHost(image.inputs()[i].view), what, image.inputs()[i].view);
  for (const dtcc_stage &stage : image.stages())
    for (uint32_t which = 0; which < DTCC_SCALAR_COUNT; ++which)
      RowChecker(image, "scalar", which).require(!onHost(stage.scalars[which]), what, stage.scalars[which]);
}

void checkGpuCode(const Image &image) {
  for (size_t i = 0; i < image.gpuCode().modules.size(); ++i) {
    RowChecker check(image, "module", i);
    const dtcc_gpu_module &module = image.gpuCode().modules[i];
    check.require(module.kind <= DTCC_GPU_CUBIN, "kind of code must be known", module.kind);
    check.range(module.offset, module.bytes, image.header().gpu_code.count, "code must exist");
    if (module.kind == DTCC_GPU_PTX)
      check.require(module.bytes > 0 && image.gpuCode().of(module).back() == 0, "PTX must end with 0", module.bytes);
  }
  for (size_t i = 0; i < image.gpuCode().kernels.size(); ++i) {
    RowChecker check(image, "kernel", i);
    const dtcc_gpu_kernel &kernel = image.gpuCode().kernels[i];
    check.string(kernel.name, "name must be a string");
    check.require(kernel.block >= 1 && kernel.block <= 1024, "threads of a block must be 1 to 1024", kernel.block);
    check.require(kernel.grid >= 1 && kernel.grid < int64_t(1) << 31, "blocks must be 1 to 2^31 - 1", kernel.grid);
  }
  // Memory is that of the one device that the executor asks, or of its host.
  for (size_t i = 0; i < image.arenas().size(); ++i)
    RowChecker(image, "arena", i)
        .require(image.arenas()[i].kind == DTCC_MEMORY_HOST || image.isForGpus(),
                 "memory kind must be that of the program", image.arenas()[i].kind);
}

} // namespace

void checkHeader(const dtcc_image_header &header) {
  if (header.magic != DTCC_ABI_MAGIC)
    fail("damaged program: magic must be ", DTCC_ABI_MAGIC, ", got: ", header.magic);
  if (header.abi_version != DTCC_ABI_VERSION)
    fail("the program was compiled for version ", header.abi_version,
         " of the runtime's interface, and this is version ", DTCC_ABI_VERSION, ": compile it again");
  if (header.header_checksum != dtcc_header_checksum(&header))
    fail("damaged program: the header's checksum must be ", dtcc_header_checksum(&header),
         ", got: ", header.header_checksum);
  if (header.image_bytes < sizeof header)
    fail("damaged program: the image must have a header of ", sizeof header, " bytes, got: ", header.image_bytes);
  if (header.tables_checksum != dtcc_tables_checksum(&header))
    fail("damaged program: the tables' checksum must be ", dtcc_tables_checksum(&header),
         ", got: ", header.tables_checksum);
  if (std::optional<SectionRow> row = misplacedSection(header))
    fail("damaged program: section of ", row->name, " must lie inside the image of ", header.image_bytes,
         " bytes, got: offset ", row->where.offset, ", count ", row->where.count);
  const char *strings = reinterpret_cast<const char *>(&header) + header.strings.offset;
  if (header.strings.count != 0 && strings[header.strings.count - 1] != 0)
    fail("damaged program: the strings must end with 0, got: ", int(strings[header.strings.count - 1]));
}

void checkTables(const Image &image, uint64_t kernelCount) {
  const dtcc_image_header &header = image.header();
  RowChecker top(image, "header", 0);
  for (uint32_t offset : {header.model, header.plan, header.cpu, header.weights, header.machine, header.tensors})
    top.string(offset, "name must be a string");
  top.require(header.training.label_shift >= 0 && header.training.label_shift <= mostShift,
              "labels must lie 0 to 2^31 positions behind their tokens", header.training.label_shift);
  uint64_t outer = 0;
  if (std::string_view model = image.onnxModel(); !model.empty()) {
    top.require(model.size() >= sizeof outer, "the ONNX model must have two parts", static_cast<int64_t>(model.size()));
    std::memcpy(&outer, model.data(), sizeof outer);
    top.require(outer <= model.size() - sizeof outer, "the ONNX model's first part must exist",
                static_cast<int64_t>(outer));
  }
  for (const dtcc_axis &axis : image.axes()) {
    top.string(axis.name, "axis name must be a string");
    top.require(axis.kind <= DTCC_AXIS_TIME, "axis kind must be known", axis.kind);
  }
  for (size_t i = 0; i < image.communicators().size(); ++i) {
    RowChecker check(image, "communicator", i);
    check.string(image.communicators()[i].name, "name must be a string");
    const dtcc_communicator &communicator = image.communicators()[i];
    check.axes(communicator.axes, /*timeAllowed=*/false);
    if (communicator.members != 0) {
      int64_t size = communicator.axes.count ? image.mesh().axes[communicator.axes.ids[0]].size : 0;
      check.require(size >= 64 || communicator.members >> size == 0, "members must be coordinates of the first axis",
                    communicator.members);
    }
  }
  for (size_t i = 0; i < image.arenas().size(); ++i) {
    RowChecker check(image, "arena", i);
    check.string(image.arenas()[i].name, "name must be a string");
    check.require(image.arenas()[i].kind <= DTCC_MEMORY_DEVICE, "memory kind must be known", image.arenas()[i].kind);
    check.require(image.arenas()[i].bytes <= uint64_t(1) << 46, "bytes must be at most 2^46", image.arenas()[i].bytes);
  }
  checkGpuCode(image);
  for (size_t i = 0; i < image.views().size(); ++i)
    checkView(image, i);
  bool staged = header.stage_axis != DTCC_NONE;
  if (staged) {
    top.index(header.stage_axis, image.axes().size(), "the axis of the stages must exist");
    top.require(image.axes()[header.stage_axis].kind == DTCC_AXIS_RANK, "the axis of the stages must number ranks",
                header.stage_axis);
  }
  top.require(Wide(image.stages().size()) == (staged ? image.axes()[header.stage_axis].size : 1),
              "there must be one stage, or one per coordinate of their axis", image.stages().size());
  for (size_t i = 0; i < image.commands().size(); ++i)
    checkCommand(image, i, kernelCount);
  for (size_t i = 0; i < image.phases().size(); ++i) {
    RowChecker check(image, "phase", i);
    check.string(image.phases()[i].name, "name must be a string");
    check.range(image.phases()[i].first_command, image.phases()[i].command_count, image.commands().size(),
                "commands must exist");
    check.require(image.phases()[i].use <= DTCC_PHASE_GATHERS_PARAMETERS, "use must be known", image.phases()[i].use);
  }
  for (size_t i = 0; i < image.actions().size(); ++i) {
    RowChecker check(image, "action", i);
    check.index(image.actions()[i].phase, image.phases().size(), "phase must exist");
    check.index(image.actions()[i].slot, static_cast<uint64_t>(image.mesh().slots()), "slot must be a micro-batch");
  }
  for (size_t i = 0; i < image.stages().size(); ++i)
    checkStage(image, i);
  for (size_t i = 0; i < image.inputs().size(); ++i)
    checkInput(image, i);
  for (size_t i = 0; i < image.buckets().size(); ++i)
    checkBucket(image, i);
  for (size_t i = 0; i < image.states().size(); ++i)
    checkState(image, i);
  checkCopies(image);
  checkHostMemory(image);
  for (size_t i = 0; i < image.segments().size(); ++i) {
    RowChecker check(image, "segment", i);
    const dtcc_segment &segment = image.segments()[i];
    check.index(segment.bucket, image.buckets().size(), "bucket must exist");
    check.index(segment.state, image.states().size(), "state must exist");
    check.require(segment.offset >= 0 && segment.length >= 0 &&
                      Wide(segment.offset) + segment.length <= Wide(image.buckets()[segment.bucket].length),
                  "the segment must lie inside its bucket", segment.offset);
  }
}

} // namespace dtcc::rt
