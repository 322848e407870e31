#!/usr/bin/env bash
# Makes the virtual environment $VENV with every pinned dependency and this project in it. Idempotent; called by `make setup`.
set -euo pipefail
started=$(date +%s)
missing() { echo "setup: $1 is missing; install $2 and run make again" >&2; exit 2; }
command -v "$PYTHON" >/dev/null || missing "$PYTHON" "Python 3.11 or later (Debian, Ubuntu: python3)"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  missing "Python 3.11 or later" "it, or name one with make PYTHON=/path/to/python3 (found: $("$PYTHON" --version))"
"$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || missing "Python's venv module" "the package python3-venv (Debian, Ubuntu)"
[ -x "$VENV/bin/python" ] && "$VENV/bin/python" -c '' 2>/dev/null || { rm -rf "$VENV"; "$PYTHON" -m venv "$VENV"; }
pip() { "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }
pip --require-hashes -r requirements-build.lock
pip --require-hashes --no-build-isolation -r requirements.lock
pip --no-build-isolation --no-deps --editable .
"$VENV/bin/python" -m triplecast.kernels
touch "$VENV/ready"
echo "set-up: $(($(date +%s) - started)) s" >&2
