"""``python -m triplecast.kernels`` compiles all kernels; given units, it compiles them for the process that waits."""

from __future__ import annotations

import sys

from triplecast.kernels.compiling import FIRST, LATER, compile_for_others, compile_kernels, is_compiled

if len(sys.argv) > 1:
    compile_for_others(tuple(sys.argv[1:]))
else:
    compile_kernels(units=(*FIRST, *LATER))
sys.exit(not is_compiled(sys.argv[1:] or (*FIRST, *LATER)))
