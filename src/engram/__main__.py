"""`python -m engram` is the `engram` command."""

import sys

from engram.surfaces.cli import main

sys.exit(main())
