# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Two jobs of the same kind at once, on the same hosts."""

from concurrent.futures import ThreadPoolExecutor

from . import job
from .errors import SampleError


class TwoJobs:
    def measure(self, run):
        return job.at_a_moment(lambda at: self._both(run, at))

    def _both(self, run, at):
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(job.launch, run, ("--at", f"{at:.3f}"))
                    for _ in range(2)]
            try:
                results = [each.result() for each in both]
            except SampleError:
                run.cluster.end_jobs()
                raise
        speeds = [result["bytes_per_s"] for result in results]
        total = sum(speeds)
        capacity = run.capacity.total(0, 1)
        return {**results[0], "jobs_bytes_per_s": speeds,
                "bytes_per_s": total,
                "bytes": sum(result["bytes"] for result in results),
                "payload_bytes": sum(result["payload_bytes"]
                                     for result in results),
                "checked": min(result["checked"] for result in results),
                "least_share": min(speeds) / total if total else 0.0,
                "left_bytes_per_s": capacity,
                "of_left": total / capacity}
