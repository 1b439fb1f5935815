# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What each NIC of each host carries, measured: one TCP stream at a time."""

from . import hosts
from .errors import BenchError, SampleError

_PORT = 7077
_SECONDS = 0.35


class Capacity:
    """Payload in bytes per second: tx[host][nic] and rx[host][nic]."""

    def __init__(self, tx, rx):
        self.tx = tx
        self.rx = rx

    def total(self, src, dst):
        """From one host to another, over all NICs."""
        return sum(map(min, self.tx[src], self.rx[dst]))

    def wire(self, src, dst, nic):
        return min(self.tx[src][nic], self.rx[dst][nic])


def measure(cluster):
    """Every host sends to the next one, so each direction of each NIC is used
    once; it is credited with what came through."""
    nics = range(len(cluster.rates))
    tx = [[0.0 for _ in nics] for _ in range(cluster.hosts)]
    rx = [[0.0 for _ in nics] for _ in range(cluster.hosts)]
    for src in range(cluster.hosts):
        dst = (src + 1) % cluster.hosts
        for nic, speed in enumerate(_streams(cluster, src, dst, nics)):
            tx[src][nic] = rx[dst][nic] = speed
    return Capacity(tx, rx)


def _streams(cluster, src, dst, nics):
    addresses = [hosts.address(dst, nic) for nic in nics]
    tool = hosts.TOOLS / "wire"
    try:
        with hosts.HostProgram(
                cluster, dst, [tool, "receive", _PORT, *addresses],
                "listening") as receiver, hosts.HostProgram(
                cluster, src, [tool, "send", _PORT, _SECONDS, *addresses]
                ) as sender:
            sender.wait(60)
            speeds = [float(line) for line in receiver.wait(10)]
    except SampleError as error:
        raise BenchError(f"what the wires carry: {error}") from None
    if len(speeds) != len(addresses):
        raise BenchError(f"what the wires carry: {len(speeds)} speeds for"
                         f" {len(addresses)} NICs")
    return speeds
