//===- CommandChecker.cpp - Checks of the commands of an image -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/CommandChecker.h"

#include "runtime/abi/Collectives.h"
#include "runtime/image/RowChecker.h"
#include "runtime/image/RowCommand.h"

#include <cmath>

namespace dtcc::rt {
namespace {

void checkRowExchange(const Image &image, const dtcc_command &command, const RowChecker &check) {
  auto views = image.views();
  auto operands = image.operands(command);
  auto attributes = image.attributes(command);
  check.require(attributes.size() >= 1 && attributes.size() <= 2 && attributes[0] >= 1,
                "an exchange of rows must have a member's number of experts", command.attribute_count);
  check.require(attributes.size() == 1 || (attributes[1] >= 1 && attributes[1] <= mostElements),
                "room for rows must be from 1 to 2^56", attributes.back());
  const bool combines = command.op == DTCC_COMBINE_ROWS;
  const RowOperands places(combines, /*isBounded=*/attributes.size() == 2, image.isForGpus());
  check.require(operands.size() == places.count(), "number of operands must fit the command", operands.size());
  const dtcc_view &in = views[operands[places.rows]], &ids = views[operands[places.picks]];
  const dtcc_view &out = views[operands[places.out]], &lists = views[operands[places.lists()]];
  for (uint32_t view : operands)
    check.require(isContiguous(views[view]), "operands of a collective must be contiguous", view);
  check.require(in.dtype == out.dtype, "operands of a collective must have one element type", int(out.dtype));
  check.require(ids.dtype == DTCC_I64 || ids.dtype == DTCC_I32, "picks must be integers", int(ids.dtype));
  check.require(lists.dtype == DTCC_I64, "lists must be of type i64", int(lists.dtype));
  check.require(in.rank >= 1 && out.rank >= 1 && ids.rank >= 1 && in.sizes[in.rank - 1] == out.sizes[out.rank - 1] &&
                    ids.sizes[ids.rank - 1] >= 1,
                "rows must have one length", int(in.rank));
  const RowExchange exchange = rowExchangeOf(command, image);
  const Wide columns = exchange.columns, mine = exchange.tokens * columns, there = exchange.rowsOfExperts() * columns;
  check.require(Wide(exchange.tokens) * exchange.members * exchange.picks == elementCount(ids) &&
                    elementCount(in) == (combines ? there : mine) && elementCount(out) == (combines ? mine : there),
                "sizes of a collective must fit its group", elementCount(out));
  check.require(elementCount(lists) >= exchange.listLength(), "room for the lists must suffice", elementCount(lists));
  auto checkRoom = [&](size_t operand, Wide rows, const char *what) {
    const dtcc_view &room = views[operands[operand]];
    check.require(room.dtype == in.dtype && elementCount(room) >= rows * columns, what, elementCount(room));
  };
  if (places.isReturned)
    checkRoom(places.returned(), exchange.rowsReturned(), "room for what comes back must suffice");
  if (places.isPacked)
    checkRoom(places.packed(), exchange.rowsPacked(), "room for what is sent must suffice");
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

} // namespace

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

} // namespace dtcc::rt
