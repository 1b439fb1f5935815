# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One measurement: a job, the NICs' counters around it, and whether to
believe it."""

import math
import time
from dataclasses import dataclass

from . import job
from . import lower_bound
from . import rates
from .errors import SampleError

# A token bucket gives away one burst at the start; more than that is not
# faster than the wire but wrong.
_WIRE_TOLERANCE = 1.02
# Of the payload, headers come on top: less on the NICs went another way.
_PAYLOAD_SEEN = 0.99
# Connection set-up and whatever the kernel says on an idle NIC.
_NOISE_BYTES = 2e6


@dataclass
class Sample:
    case: str
    transport: str
    round: int
    result: dict        # what the program printed
    nics: dict          # {host: {nic: {"rx": bytes, "tx": bytes}}} it moved
    seconds: float      # for the whole job, start to end

    def value(self, metric):
        return self.result[metric]

    def sent(self, host, nic):
        return self.nics[host][nic]["tx"]

    def loaded(self):
        """[(host, direction, {nic: bytes})] of directions that carried data,
        not only acknowledgements."""
        sums = {(host, way): {nic: count[way]
                              for nic, count in counts.items()
                              if nic.startswith("nic")}
                for host, counts in self.nics.items()
                for way in ("tx", "rx")}
        most = max(sum(nics.values()) for nics in sums.values())
        return [(host, way, nics) for (host, way), nics in sums.items()
                if sum(nics.values()) > 0.3 * most]


def measure(run, number):
    """Measures a case once; raises SampleError if a job fails or the result
    is not credible."""
    cluster, case, transport = run.cluster, run.case, run.transport
    before = cluster.counters()
    start = time.monotonic()
    result = case.procedure.measure(run)
    seconds = time.monotonic() - start
    nics = _difference(before, cluster.counters())
    if run.capacity and "phases" in result:
        _add_bound(result, run.capacity)
    sample = Sample(case.name, transport.name, number, result, nics, seconds)
    _check_value(sample, case)
    _check_wire(sample, case, cluster)
    _check_counters(sample, case, transport)
    return sample


def measure_sizes(run, count):
    """Results of one job that measures so many sizes; raises SampleError if
    it fails or one of them is not credible."""
    cluster, case, transport = run.cluster, run.case, run.transport
    before = cluster.counters()
    start = time.monotonic()
    results = job.launch_all(run, count)
    seconds = time.monotonic() - start
    nics = _difference(before, cluster.counters())

    def sample(result):
        return Sample(case.name, transport.name, 0, result, nics, seconds)

    for result in results:
        _check_value(sample(result), case)
        _check_wire(sample(result), case, cluster)
    payload = sum(result["payload_bytes"] for result in results)
    _check_counters(sample({"payload_bytes": payload}), case, transport)
    return results


def _add_bound(result, capacity):
    """The time of one call that the wires allow, on the same hosts."""
    phases = result["phases"]
    if result["program"] != "flow":
        result["bound_s"] = lower_bound.seconds(phases, capacity)
        result["one_nic_bound_s"] = lower_bound.one_nic_per_rank(phases,
                                                                 capacity)
        result["over_bound"] = result["time_s"] / result["bound_s"] - 1


def _difference(before, after):
    return {host: {nic: {way: count - before[host][nic][way]
                         for way, count in counts.items()}
                   for nic, counts in nics.items()}
            for host, nics in after.items()}


def _check_value(sample, case):
    value = sample.result.get(case.metric, math.nan)
    # Of a transfer nothing at all may go on beside a computation.
    if not (math.isfinite(value)
            and (value > 0 or (case.computes and value == 0))):
        raise SampleError(f"{case.metric} is {value}")
    if sample.result["checked"] < 1:
        raise SampleError("no data was verified")


def _check_wire(sample, case, cluster):
    total = rates.total(cluster.rates)
    speed = sample.result.get("bytes_per_s")
    if total is None or case.node or speed is None:
        return
    bound = (case.ceiling or total) * case.directions
    if speed > bound * _WIRE_TOLERANCE:
        raise SampleError(f"{speed / 1e6:.1f} MB/s is faster than the wire"
                          f" ({bound / 1e6:.1f} MB/s)")
    if sample.result.get("over_bound", 0) < 1 / _WIRE_TOLERANCE - 1:
        raise SampleError(f"{sample.result['time_s']:.4f} s is shorter than"
                          " the wires allow"
                          f" ({sample.result['bound_s']:.4f} s)")


def _check_counters(sample, case, transport):
    """Did the payload go where it is said to have gone?"""
    payload = sample.result["payload_bytes"]
    sent = {name: sum(counts["tx"] for counts in nics.values())
            for name, nics in _by_nic(sample.nics).items()}
    data = sum(count for nic, count in sent.items() if nic.startswith("nic"))
    if case.node:
        if data > 0.01 * payload + _NOISE_BYTES:
            raise SampleError(f"{data / 1e6:.1f} MB went over NICs although"
                              " all ranks are on one host")
        return
    if data < _PAYLOAD_SEEN * payload:
        raise SampleError(f"the NICs sent {data / 1e6:.1f} MB of a payload of"
                          f" {payload / 1e6:.1f} MB: the rest went elsewhere")
    _check_bound_nics(sample, transport)
    others = data - sent["nic0"]
    if transport.one_nic and others > 0.01 * payload + _NOISE_BYTES:
        raise SampleError(f"{others / 1e6:.1f} MB went over other NICs than"
                          " nic0")


def _check_bound_nics(sample, transport):
    """With a NIC bound to each rank, one NIC carries all that the hot rank
    gets from other hosts."""
    hotspot = sample.result.get("hotspot", 0)
    if not transport.bound or hotspot == 0:
        return
    hot = max(sample.result["phases"][0]["ranks"], key=lambda rank: rank["rx"])
    counts = sample.nics[f"host{hot['host']}"]
    nics = {nic: count["rx"] for nic, count in counts.items()
            if nic.startswith("nic")}
    most = max(nics.values()) / sum(nics.values())
    total = sum(rank["rx"] for rank in sample.result["phases"][0]["ranks"]
                if rank["host"] == hot["host"])
    if most < 0.95 * hot["rx"] / total:
        raise SampleError(f"the hot rank's NIC carried {most:.0%} of the"
                          " bytes: its rank was not bound to it")


def _by_nic(nics):
    turned = {}
    for host, counts in nics.items():
        for nic, count in counts.items():
            turned.setdefault(nic, {})[host] = count
    return turned
