"""Run the statement that is the argument, and print which modules are loaded then."""

import sys

exec(sys.argv[1])
print(*sorted(sys.modules), file=sys.stderr)
