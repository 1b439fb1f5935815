# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""One measurement: a job, the NICs' counters around it, and whether to
believe it."""

import json
import math
import time
from dataclasses import dataclass

from fuselink_cluster import JobTimeout

from . import rates
from .errors import SampleError

_PREFIX = "BENCH-RESULT "

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


def measure(cluster, case, transport, number, programs, timeout):
    """Runs a case once; raises SampleError if it fails or is not credible."""
    words, env = transport.launch(cluster.nics)
    program = [str(programs / case.program), *map(str, case.options)]
    before = cluster.counters()
    start = time.monotonic()
    try:
        status, out, err = cluster.mpirun(
            [*case.placement, *words, *program], env, timeout)
    except JobTimeout as error:
        raise SampleError(str(error)) from None
    seconds = time.monotonic() - start
    nics = _difference(before, cluster.counters())
    if status != 0:
        raise SampleError(f"exit status {status}: {_last_words(err or out)}")
    sample = Sample(case.name, transport.name, number, _result(out, err),
                    nics, seconds)
    _check_value(sample, case)
    _check_wire(sample, case, cluster)
    _check_counters(sample, case, transport)
    return sample


def _difference(before, after):
    return {host: {nic: {way: count - before[host][nic][way]
                         for way, count in counts.items()}
                   for nic, counts in nics.items()}
            for host, nics in after.items()}


def _last_words(text):
    """The line of an error message that tells most: ours, else the last."""
    lines = [line.strip() for line in text.splitlines()
             if line.strip(" -*=\n")]
    told = [line for line in lines
            if line.startswith(("bench:", "cluster:")) or "ERROR" in line]
    return (told or lines or ["it said nothing"])[-1][:200]


def _result(out, err):
    lines = [line for line in out.splitlines() if line.startswith(_PREFIX)]
    if len(lines) != 1:
        raise SampleError(f"{len(lines)} results instead of one:"
                          f" {_last_words(err or out)}")
    return json.loads(lines[0].removeprefix(_PREFIX))


def _check_value(sample, case):
    value = sample.result.get(case.metric, 0)
    if not (math.isfinite(value) and value > 0):
        raise SampleError(f"{case.metric} is {value}")
    if sample.result["checked"] < 1:
        raise SampleError("no data was verified")


def _check_wire(sample, case, cluster):
    total = rates.total(cluster.rates)
    speed = sample.result.get("bytes_per_s")
    if total is None or case.node or speed is None:
        return
    bound = total * case.directions
    if speed > bound * _WIRE_TOLERANCE:
        raise SampleError(f"{speed / 1e6:.1f} MB/s is faster than the wire"
                          f" ({bound / 1e6:.1f} MB/s)")


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
    others = data - sent["nic0"]
    if transport.one_nic and others > 0.01 * payload + _NOISE_BYTES:
        raise SampleError(f"{others / 1e6:.1f} MB went over other NICs than"
                          " nic0")


def _by_nic(nics):
    turned = {}
    for host, counts in nics.items():
        for nic, count in counts.items():
            turned.setdefault(nic, {})[host] = count
    return turned
