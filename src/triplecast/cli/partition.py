"""The options of commands that match by shards, or on a cluster."""

from __future__ import annotations

import argparse

PARTITIONS = ("slices", "anchor", "hash", "containment", "merging")
"""`triplecast.partition` states them again, which loads the kernels."""


def add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partition",
        choices=PARTITIONS,
        default=PARTITIONS[0],
        help="cut publications into slices, or the index into shards (default: %(default)s)",
    )
    parser.add_argument(
        "--shards", metavar="N", type=int, default=1, help="into N shards, but for slices (default: %(default)s)"
    )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", metavar="URL", help="match on the Spark cluster of this master (default: here)")
    parser.add_argument(
        "--snapshots",
        metavar="ADDRESS",
        help="share the index with the cluster's machines in this folder or at this address, as s3://BUCKET/PREFIX "
        "(default: they read the folder)",
    )
    add_partition(parser)
