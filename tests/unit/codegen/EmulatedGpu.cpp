//===- EmulatedGpu.cpp - GPU kernels on the threads of a test
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/codegen/EmulatedGpu.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include <algorithm>
#include <ucontext.h>

using namespace mlir;

namespace dtcc::test {
namespace {

constexpr size_t kStack = 64 << 10;
constexpr int64_t kWarp = 32;

enum class Wait { Nothing, Shuffle, Barrier, Ended };

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(kStack);
  Wait wait = Wait::Nothing;
  /// What it brings to a shuffle, and from whom it takes; then what it got.
  float value = 0;
  int32_t mask = 0;
};

/// One block at a time.
struct Block {
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  int64_t current = 0, number = 0;
  void (*kernel)(void **) = nullptr;
  void **arguments = nullptr;

  void pause(Wait wait) {
    fibers[current].wait = wait;
    swapcontext(&fibers[current].context, &scheduler);
  }
  /// Lets those go on that have met. False if nobody has.
  bool release();
  bool run();
};
Block *running = nullptr;

void beginFiber() {
  running->kernel(running->arguments);
  running->fibers[running->current].wait = Wait::Ended;
}

bool Block::release() {
  auto all = [](auto begin, auto end, Wait wait) {
    return std::all_of(begin, end, [&](const Fiber &fiber) { return fiber.wait == wait; });
  };
  bool released = false;
  for (auto warp = fibers.begin(); warp < fibers.end(); warp += kWarp) {
    if (!all(warp, warp + kWarp, Wait::Shuffle))
      continue;
    std::vector<float> brought;
    for (auto lane = warp; lane < warp + kWarp; ++lane)
      brought.push_back(lane->value);
    for (int64_t lane = 0; lane < kWarp; ++lane) {
      warp[lane].value = brought[lane ^ warp[lane].mask];
      warp[lane].wait = Wait::Nothing;
    }
    released = true;
  }
  if (all(fibers.begin(), fibers.end(), Wait::Barrier)) {
    for (Fiber &fiber : fibers)
      fiber.wait = Wait::Nothing;
    released = true;
  }
  return released;
}

bool Block::run() {
  for (Fiber &fiber : fibers) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, beginFiber, 0);
    fiber.wait = Wait::Nothing;
  }
  do {
    for (current = 0; current < int64_t(fibers.size()); ++current)
      if (fibers[current].wait == Wait::Nothing)
        swapcontext(&scheduler, &fibers[current].context);
  } while (release());
  return std::all_of(fibers.begin(), fibers.end(), [](const Fiber &fiber) { return fiber.wait == Wait::Ended; });
}

extern "C" {
int32_t emulated_thread() { return int32_t(running->current); }
int32_t emulated_block() { return int32_t(running->number); }
void emulated_barrier() { running->pause(Wait::Barrier); }
float emulated_shuffle(float value, int32_t mask) {
  Fiber &fiber = running->fibers[running->current];
  fiber.value = value;
  fiber.mask = mask;
  running->pause(Wait::Shuffle);
  return fiber.value;
}
}
} // namespace

void emulateGpu(ModuleOp module) {
  OpBuilder builder(module.getBodyRegion());
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  auto declare = [&](StringRef name, Type result, ArrayRef<Type> parameters) {
    return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, LLVM::LLVMFunctionType::get(result, parameters));
  };
  LLVM::LLVMFuncOp thread = declare("emulated_thread", i32, {}), block = declare("emulated_block", i32, {});
  LLVM::LLVMFuncOp barrier = declare("emulated_barrier", none, {});
  LLVM::LLVMFuncOp shuffle = declare("emulated_shuffle", f32, {f32, i32});
  auto call = [&](Operation *op, LLVM::LLVMFuncOp callee, ValueRange operands) {
    builder.setInsertionPoint(op);
    auto made = LLVM::CallOp::create(builder, op->getLoc(), callee, operands);
    op->replaceAllUsesWith(made->getResults());
    op->erase();
  };
  module.walk([&](Operation *op) {
    if (isa<NVVM::ThreadIdXOp>(op))
      call(op, thread, {});
    else if (isa<NVVM::BlockIdXOp>(op))
      call(op, block, {});
    else if (isa<NVVM::Barrier0Op>(op))
      call(op, barrier, {});
    else if (auto shfl = dyn_cast<NVVM::ShflOp>(op))
      call(op, shuffle, {shfl.getVal(), shfl.getOffset()});
  });
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    for (NamedAttribute attr : llvm::to_vector(function->getDiscardableAttrs()))
      if (attr.getName().strref().starts_with("nvvm."))
        function->removeDiscardableAttr(attr.getName());
}

void bindEmulatedGpu(ExecutionEngine &engine) {
  engine.registerSymbols([](llvm::orc::MangleAndInterner intern) {
    llvm::orc::SymbolMap map;
    auto add = [&](const char *name, auto *function) {
      map[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
    };
    add("emulated_thread", emulated_thread);
    add("emulated_block", emulated_block);
    add("emulated_barrier", emulated_barrier);
    add("emulated_shuffle", emulated_shuffle);
    return map;
  });
}

bool launch(void (*packed)(void **), std::vector<void *> arguments, int64_t grid, int64_t block) {
  Block now;
  now.fibers.resize(block);
  now.kernel = packed;
  now.arguments = arguments.data();
  running = &now;
  bool met = true;
  for (now.number = 0; now.number < grid && met; ++now.number)
    met = now.run();
  running = nullptr;
  return met;
}

} // namespace dtcc::test
