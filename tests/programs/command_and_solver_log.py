"""``darrm``, while HiGHS writes a log of its work to the file that the first argument names."""

import sys

import highspy

from darrm.cli import main

solver_run = highspy.Highs.run


def logged_run(solver: highspy.Highs) -> highspy.HighsStatus:
    for option, value in (("output_flag", True), ("log_to_console", False), ("log_file", sys.argv[1])):
        solver.setOptionValue(option, value)
    return solver_run(solver)


if __name__ == "__main__":
    highspy.Highs.run = logged_run
    sys.exit(main(sys.argv[2:]))
