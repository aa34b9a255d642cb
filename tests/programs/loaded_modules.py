"""Run the statement that is the argument, and print which top-level modules are loaded then."""

import sys

exec(sys.argv[1])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
