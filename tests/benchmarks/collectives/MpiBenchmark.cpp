//===- MpiBenchmark.cpp - Collectives of Open MPI itself ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times MPI's own collectives, for comparison with those of the runtime.
//
//===----------------------------------------------------------------------===//

#include "tests/benchmarks/collectives/Sizes.h"

#include <mpi.h>

using namespace dtcc::rt::bench;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> in(static_cast<size_t>(sizes.back() / 4), 1.0f), out(in.size());
  for (const char *operation : operations)
    for (int64_t bytes : sizes) {
      int count = static_cast<int>(bytes / 4), part = count / ranks;
      if (operation != operations[0] && part == 0)
        continue;
      auto body = [&] {
        if (operation == operations[0])
          MPI_Allreduce(MPI_IN_PLACE, in.data(), count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
        else if (operation == operations[1])
          MPI_Allgather(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
        else if (operation == operations[2])
          MPI_Reduce_scatter_block(in.data(), out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else
          MPI_Alltoall(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
      };
      double seconds = measure(bytes, body, [] { MPI_Barrier(MPI_COMM_WORLD); });
      if (rank == 0)
        print("open-mpi", operation, ranks, bytes, seconds);
    }
  MPI_Finalize();
}
