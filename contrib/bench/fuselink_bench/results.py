# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""What was measured for one case, by transport."""

from statistics import mean, median

from . import rates


class CaseResults:
    def __init__(self, case, cluster_rates):
        self.case = case
        self.rates = list(cluster_rates)
        self.samples = {}     # transport name: [Sample]
        self.failures = {}    # transport name: [why]
        self.left_out = {}    # transport name: why
        self.capacities = []  # measured for each round, where it counts

    def add(self, sample):
        self.samples.setdefault(sample.transport, []).append(sample)

    def fail(self, transport, why):
        self.failures.setdefault(transport, []).append(why)

    def values(self, transport, metric=None):
        return [sample.value(metric or self.case.metric)
                for sample in self.samples.get(transport, [])]

    def middle(self, transport, key):
        """Median of something else that the samples tell, None if they do
        not."""
        values = [sample.result[key]
                  for sample in self.samples.get(transport, [])
                  if key in sample.result]
        return median(values) if values else None

    def best_baseline(self):
        """(name, typical value) of the best that is not fuselink, None if
        one was not measured."""
        names = [transport.name for transport in self.case.transports
                 if not transport.fuselink]
        values = {name: self.typical(name) for name in names}
        if not values or None in values.values():
            return None
        best = (min if self.case.lower_is_better else max)(values,
                                                           key=values.get)
        return best, values[best]

    def typical(self, transport):
        """The median; of what is bound by the CPU the best quartile, because
        other work on the machine makes it worse and never better."""
        values = sorted(self.values(transport),
                        reverse=not self.case.lower_is_better)
        if not values:
            return None
        if self.case.cpu_bound:
            return values[(len(values) - 1) // 4]
        return median(values)

    def bound(self):
        """Bytes per second that the wires can carry, None without a limit
        or where bandwidth is not what is measured."""
        total = self.case.ceiling or rates.total(self.rates)
        if (total is None or self.case.node or
                self.case.metric not in ("bytes_per_s", "time_s")):
            return None
        return total * self.case.directions

    def wire_share(self, transport):
        bound = self.bound()
        speeds = self.values(transport, "bytes_per_s") if bound else []
        return median(speeds) / bound if speeds else None

    def ratio(self, transport, over):
        """Typical value as a factor of that of `over`."""
        mine, other = self.typical(transport), self.typical(over)
        return mine / other if mine and other else None

    def nic_bytes(self, transport, host="host0", way="tx"):
        """{nic: bytes a job moved, the mean: a job's choice of NIC for its
        messages differs from that of the next}."""
        samples = self.samples.get(transport, [])
        names = [f"nic{i}" for i in range(len(self.rates))]
        return {nic: mean(sample.nics[host][nic][way] for sample in samples)
                for nic in names} if samples else {}

    def worst_nic_share(self, transport):
        """(bytes of fair share, which NIC) of the NIC that moved least of
        what its rate calls for, over all jobs, hosts and directions."""
        speeds = [rates.bytes_per_s(rate) or 1.0 for rate in self.rates]
        worst = (float("inf"), "no NIC")
        for sample in self.samples.get(transport, []):
            for host, way, nics in sample.loaded():
                total = sum(nics.values())
                for i, speed in enumerate(speeds):
                    fair = total * speed / sum(speeds)
                    share = nics[f"nic{i}"] / fair
                    worst = min(worst, (share, f"{host} nic{i} {way}"))
        return worst
