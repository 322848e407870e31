"""The options of commands that match by shards."""

from __future__ import annotations

import argparse

PARTITIONS = ("slices", "anchor", "hash", "containment", "merging")
"""`triplecast.partition` states them again, which loads the kernels."""


def add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition",
        choices=PARTITIONS,
        default=PARTITIONS[0],
        help="match slices of the publications by the whole index, or cut the index into shards (default: %(default)s)",
    )
    parser.add_argument(
        "--shards",
        metavar="N",
        type=int,
        default=1,
        help="cut the index into N shards, but for slices (default: %(default)s)",
    )
