# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# plans.py BUILD: every axis of parallelism over three or four hosts of one or two ranks each, as many as hosts.py makes:
# the losses are those of ranks that are threads of one process, bit for bit.
import pathlib, subprocess, sys, tempfile

from jobs import HOSTS, build, check, ended, losses, model
from launchers import by_hand, start

# Options of plans, by the number of ranks; the batch of 24 divides by each.
PLANS = {3: ["--mesh=dp=3 --zero=1", "--mesh=pp=3 --microbatches=4 --schedule=1f1b"],
         4: ["--mesh=dp=4 --zero=3", "--mesh=tp=4", "--mesh=dp=2,tp=2 --zero=2", "--mesh=pp=4 --microbatches=4"],
         6: ["--mesh=dp=6 --zero=1", "--mesh=pp=3,dp=2 --microbatches=4 --zero=1", "--mesh=dp=3,tp=2"],
         8: ["--mesh=dp=8 --zero=1", "--mesh=pp=2,dp=2,tp=2 --microbatches=4"]}


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tokens").write_bytes(bytes(i * i % 31 for i in range(20000)))
        for each in (1, 2):
            for number, plan in enumerate(PLANS[HOSTS * each]):
                program = root / f"program-{HOSTS * each}-{number}"
                subprocess.run([build / "bin/dtcc", model, "--bind=batch=24,seq=33", *plan.split(), "-o", program], check=True,
                               stderr=subprocess.DEVNULL)
                words = [f"--tokens={root}/tokens:u8", "--steps=3", "--threads=1"]
                subprocess.run([program, *words, f"--metrics={program}.alone"], check=True, stdout=subprocess.DEVNULL)
                job = start(lambda *arguments: by_hand(*arguments, each=each), root, program, *words,
                            f"--metrics={program}.hosts", "--hang-timeout=60")
                statuses = job.wait(120)
                job.kill()
                want = losses(pathlib.Path(f"{program}.alone"))
                good = set(statuses) == {0} and losses(pathlib.Path(f"{program}.hosts")) == want and len(want) == 3
                check(good, f"{plan} trains on {HOSTS} hosts of {each} as in one process", statuses, job.said())
    ended()


if HOSTS not in (3, 4):
    sys.exit("plans.py is for three or four hosts: hosts.py 3 python3 plans.py build")
main()
