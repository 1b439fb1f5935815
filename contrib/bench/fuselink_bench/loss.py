# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A switch of RDMA NICs that loses packets by chance."""

from .hosts import HostProgram

_TAKES_S = 60

# The queue behind a rate has netem in front of it, and at the end what it had; without
# any it would drop everything.
_BEGIN = """
for dev in {devices}; do
    handle=$(tc qdisc show dev $dev | awk '$2 == "tbf" {{ print $3 }}')
    tc qdisc replace dev $dev parent ${{handle}}1 handle 9: \\
        netem limit 20000 loss {loss} || exit
done"""
_END = """
for dev in {devices}; do
    tc -s qdisc show dev $dev |
        awk '/^qdisc/ {{ on = $2 == "netem" }} on && /Sent/ {{ print $7 + 0 }}'
    handle=$(tc qdisc show dev $dev | awk '$2 == "tbf" {{ print $3 }}')
    tc qdisc replace dev $dev parent ${{handle}}1 bfifo limit 16777216 || exit
done"""


class Loss:
    """In a with statement, of a cluster in a guest; `share` is such as "0.1%". Packets
    that have been lost are counted at its end."""

    def __init__(self, cluster, share):
        self._cluster = cluster
        self._share = share
        self.count = 0

    def __enter__(self):
        self._run(_BEGIN)
        return self

    def __exit__(self, *_):
        self.count = sum(map(int, self._run(_END)))

    def _run(self, script):
        devices = " ".join(f"port_h{host}n{nic}"
                           for host in range(self._cluster.hosts)
                           for nic in range(len(self._cluster.nics)))
        # The NICs of all hosts are in the guest's first network namespace.
        return HostProgram(self._cluster, 0, [
            "nsenter", "-t", "1", "-n", "bash", "-c",
            script.format(devices=devices, loss=self._share)]).wait(_TAKES_S)
