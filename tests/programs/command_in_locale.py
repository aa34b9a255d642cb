"""The command ``darrm`` in the locale of the environment, which must write 1,5."""

import locale
import sys

from darrm.cli import main

if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    if f"{1.5:n}" != "1,5":
        sys.exit("this locale has no decimal comma")
    sys.exit(main(sys.argv[1:]))
