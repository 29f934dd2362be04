"""The jobs: each takes a scale (1 for the sizes that the goals name) and yields pieces of work."""

from jobs import bootstrap, checks, counts, files, loop, passes, scores

PEERS = (
    "duckdb",
    "evalstats",
    "inspect_ai",
    "msgspec",
    "numba",
    "orjson",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "scorio",
)
"""Packages that jobs measure where they are installed."""

JOBS = {
    "grade": checks.grading,
    "count": counts.counting,
    "sort": scores.sorting,
    "pass": passes.estimating,
    "means": passes.averaging,
    "best": scores.ordering,
    "verl": scores.resampling,
    "file": files.reading,
    "bootstrap": bootstrap.resampling,
    "loop": loop.looping,
}
