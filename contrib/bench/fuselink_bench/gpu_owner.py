# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A GPU's link to the host has an owner, who sends memory of that GPU now and then,
while another job's memory goes over it to other NICs: how much of what he has alone
the owner keeps."""

from .errors import SampleError
from .lenders import REALTIME
from .owner import Owner

# The link of the other job's own GPU: it has more only from the owner's.
_LINK = 13.75e6


class GpuOwner(Owner):
    nic = "nic1"
    owner_environment = {"CUDA_VISIBLE_DEVICES": "1", **REALTIME}
    other_environment = {"CUDA_VISIBLE_DEVICES": "0", **REALTIME}
    other_nics = ["nic0", "nic2", "nic3"]

    def measure(self, run):
        result = super().measure(run)
        return {**result, "kept_share": sum(result["curve"])
                / max(sum(result["alone_curve"]), 1.0)}

    def _check_borrowed(self, run, borrowed, beside, other):
        if other["bytes_per_s"] < 1.02 * _LINK:
            raise SampleError(
                f"the other job had {other['bytes_per_s'] / 1e6:.1f} MB/s: its"
                " own GPU's link carries that, it has borrowed none")
