# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""A NIC has an owner, who sends now and then, while another job uses all NICs:
how much of what he has alone the owner gets, and how soon.

The owner runs twice, alone and beside the other job. What counts is how much of
his data had arrived so long after the begin of a burst. A batch is what a path
is given at a time, UCX_FUSELINK_CHUNK_TIME; it is long here against what the
clock and the scheduler of a small machine blur. Where nothing is set it is four
times what the NIC's queue holds.
"""

from concurrent.futures import ThreadPoolExecutor

from . import job
from .errors import SampleError

_NIC = "nic1"
_BATCH = 0.04
# Messages are long enough to be shared out as bulk data, not sent as they are.
_COMMON = {"UCX_FUSELINK_CHUNK_TIME": f"{_BATCH * 1e3:.0f}ms",
           "UCX_RNDV_THRESH": "16k"}
_OWNER = _COMMON | {"UCX_FUSELINK_OWN": _NIC, "UCX_FUSELINK_DEVICES": _NIC}
_OTHER = _COMMON | {"UCX_FUSELINK_OWN": "none"}
# Of what the NIC carries while its owner rests the other job uses this part,
# or it has borrowed nothing and there is nothing to see.
_BORROWED = 0.3


class Owner:
    """`other` is the job beside that of the case."""

    nic = _NIC
    batch = _BATCH
    owner_environment = _OWNER
    other_environment = _OTHER
    other_nics = None         # None: all
    shared_end = ("host0", "tx")      # where both jobs use the NIC
    owner_placement = other_placement = None    # None: that of the case

    def __init__(self, other):
        self.other = other

    def measure(self, run):
        alone = job.at_a_moment(lambda at: self._owner(run, at))
        before = self._sent(run)
        beside, other = job.at_a_moment(lambda at: self._both(run, at))
        sent = self._sent(run) - before
        self._check_borrowed(run, sent - beside["payload_bytes"], beside,
                             other)
        step = beside["step_s"]
        first, second = (round(n * self.batch / step) for n in (1, 2))

        def part(begin, end):
            return (sum(beside["curve"][begin:end])
                    / max(sum(alone["curve"][begin:end]), 1.0))

        return {**beside, "alone_bytes_per_s": alone["bytes_per_s"],
                "alone_curve": alone["curve"],
                "payload_bytes": (alone["payload_bytes"]
                                  + beside["payload_bytes"]
                                  + other["payload_bytes"]),
                "other_bytes_per_s": other["bytes_per_s"],
                "borrowed_bytes": sent - beside["payload_bytes"],
                "first_batch_share": part(0, first),
                "owner_share": part(first, second),
                "later_share": part(second, None)}

    def _sent(self, run):
        host, direction = self.shared_end
        return run.cluster.counters()[host][self.nic][direction]

    def _owner(self, run, at):
        return job.launch(run, ("--at", f"{at:.3f}"), nics=[self.nic],
                          environment=self.owner_environment,
                          placement=self.owner_placement)

    def _both(self, run, at):
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(self._owner, run, at),
                    pool.submit(job.launch, run, ("--at", f"{at:.3f}"),
                                self.other, self.other_nics,
                                self.other_environment,
                                self.other_placement)]
            try:
                return [each.result() for each in both]
            except SampleError:
                run.cluster.end_jobs()
                raise

    def _check_borrowed(self, run, borrowed, beside, _other):
        rests = (beside["bursts"] * run.case.option("--pause")
                 * run.capacity.wire(0, 1, int(self.nic[3:])))
        if borrowed < _BORROWED * rests:
            raise SampleError(
                f"the other job sent {borrowed / 1e6:.1f} MB over {self.nic}, which"
                f" carries {rests / 1e6:.1f} MB while its owner rests: it has"
                " not borrowed it")


def _between(src, dst):
    return ("-np", "2", "--host", f"{src}:1,{dst}:1")


class UnnamedOwner(Owner):
    """Nobody says whose the NIC is: the owner has no other, the other job has all."""

    batch = 0.08
    owner_environment = {"UCX_FUSELINK_DEVICES": _NIC}
    other_environment = None


class ReceivingOwner(UnnamedOwner):
    """The two jobs send from different hosts, and share the NIC of the third."""

    shared_end = ("host2", "rx")
    owner_placement = _between("host0", "host2")
    other_placement = _between("host1", "host2")
