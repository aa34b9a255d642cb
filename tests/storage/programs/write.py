"""Replace a file, in two writes, and say so; with a further argument end between them, with status 7.

write.py PATH [fails]
"""

import sys

from darrm.storage.atomic import replacing

with replacing(sys.argv[1]) as file:
    file.write(b"a")
    file.flush()
    if sys.argv[2:]:
        sys.exit(7)
    file.write(b"b\n")
print("c", flush=True)
