"""``python -m triplecast``."""

import sys

from triplecast.cli import main

sys.exit(main())
