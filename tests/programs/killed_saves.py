"""Save a design again and again in a child that is killed: ``killed_saves.py PATH ROUNDS``.

Print how many rounds changed the file. It must hold the old design or the new one after each round.
"""

import os
import signal
import sys
import time
from pathlib import Path

import darrm

path, rounds = Path(sys.argv[1]), int(sys.argv[2])
problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.3)
designs = [darrm.solve(problem), darrm.solve(problem, shape="monotone")]
designs[0].save(path)
known = {path.read_bytes()}
designs[1].save(path)
known.add(path.read_bytes())
if len(known) != 2:
    sys.exit("the designs are the same")
saves = 0
for i in range(rounds):
    before = path.stat().st_ino
    child = os.fork()
    if child == 0:
        while True:
            for design in designs:
                design.save(path)
    begun = time.monotonic()
    while path.stat().st_ino == before and time.monotonic() < begun + 10:
        time.sleep(0.001)
    time.sleep(0.0013 * i)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    saves += path.stat().st_ino != before
    if path.read_bytes() not in known:
        sys.exit(f"round {i}: neither the old file nor the new one")
    darrm.load(path)
print(saves)
