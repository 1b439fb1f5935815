# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""The columns: how a job is told which transport to use."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from .errors import BenchError
from .hosts import TOOLS
from .options import names_of

# Open MPI takes its UCX layer for these NICs only when told so.
_PML_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any",
            "--mca", "pml_ucx_devices", "any"]

_OSC_UCX = ["--mca", "osc", "ucx,sm", "--mca", "osc_ucx_tls", "any", "--mca",
            "osc_ucx_devices", "any"]
_PML_UCX_OSC = [*_PML_UCX, *_OSC_UCX]

# UCX 1.13 has 6 lanes to a peer; one carries active messages.
_UCX_LANES = 6


@dataclass(frozen=True)
class Transport:
    name: str
    title: str
    # Settings for a cluster with these NICs: {variable: value}, mpirun words.
    settings: callable
    fuselink: bool = False
    nics: str = ""            # of an RDMA cluster: only those
    one_nic: bool = False
    bound: bool = False       # every rank has one NIC, by its local rank
    beside: bool = False      # of the program's two transports one has one NIC
    policy: str = ""          # of fuselink, "" for the default
    environment: dict = field(default_factory=dict)
    lends: bool = False       # others lend it their GPUs
    library: str = ""         # of fuselink, if not the one that is measured

    def launch(self, nics):
        """(mpirun arguments, environment) for a cluster with these NICs."""
        variables, words = self.settings(nics)
        args = list(words)
        for name, value in {**variables, **self.environment}.items():
            args += ["-x", f"{name}={value}"]
        env = {"FUSELINK": "1"} if self.fuselink else {}
        if self.library:
            env["FUSELINK_LIB"] = self.library
        if self.nics:
            env["FUSELINK_CLUSTER_NICS"] = self.nics
        return args, env


    def wrapper(self, nics):
        """Words in front of the program."""
        if self.beside:
            return [str(TOOLS / "one-nic")]
        return ([str(TOOLS / "nic-of-rank"), str(len(nics))] if self.bound
                else [])


def _ucx(nics):
    return {"UCX_TLS": "tcp,self,sm", "UCX_NET_DEVICES": nics[0]}, _PML_UCX


def _ucx_bound(_nics):
    return {"UCX_TLS": "tcp,self,sm"}, _PML_UCX


def _ucx_default(nics):
    return {"UCX_NET_DEVICES": ",".join(nics)}, _PML_UCX


def _ucx_tuned(nics):
    rails = min(len(nics), _UCX_LANES)
    return {"UCX_TLS": "tcp,self,sm", "UCX_NET_DEVICES": ",".join(nics),
            "UCX_MAX_RNDV_RAILS": rails}, _PML_UCX


def _ob1(nics):
    return {}, ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self,vader",
                "--mca", "btl_tcp_if_include", ",".join(nics)]


def _fuselink(_nics):
    return {}, []


# On an RDMA cluster each host's NICs have names of their own: contrib/cluster
# sets the devices, and the case says how many of them.
def _rc(_nics):
    return {"UCX_TLS": "rc,self,sm"}, _PML_UCX_OSC


def _rc_tuned(nics):
    rails = min(len(nics), _UCX_LANES)
    return {"UCX_TLS": "rc,self,sm", "UCX_MAX_RNDV_RAILS": rails,
            "UCX_MAX_EAGER_RAILS": rails}, _PML_UCX_OSC


def _fuselink_rc(_nics):
    return {"UCX_FUSELINK_RAIL_TLS": "rc_verbs"}, []


# Two transports in one job, each by variables of its own. MPI keeps out of it.
def _beside_rc(_nics):
    return {"ONE_UCX_TLS": "rc,self,sm", "OTHER_UCX_TLS": "fuselink",
            "UCX_FUSELINK_RAIL_TLS": "rc_verbs"}, [
                "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", "mgmt0"]


def _sm(_nics):
    return {"UCX_TLS": "sm,self"}, _PML_UCX


# Memory of GPUs: beside the network's transports those that copy it.
_GPU_TLS = "tcp,self,sm,cuda_copy,cuda_ipc"


def _gpu_ucx(nics):
    return {"UCX_TLS": _GPU_TLS, "UCX_NET_DEVICES": nics[0]}, _PML_UCX


def _gpu_ucx_bound(_nics):
    return {"UCX_TLS": _GPU_TLS}, _PML_UCX


def _gpu_ucx_tuned(nics):
    variables, words = _ucx_tuned(nics)
    return variables | {"UCX_TLS": _GPU_TLS}, words


def _gpu_fuselink(copies, relay):
    def settings(nics):
        return {"UCX_FUSELINK_DEVICES": ",".join(nics),
                "UCX_FUSELINK_GPU_COPIES": copies,
                "UCX_FUSELINK_RELAY": relay}, []
    return settings


UCX = Transport("ucx", "UCX tcp, one NIC", _ucx, one_nic=True)
UCX_DEFAULT = Transport("ucx-default", "UCX, all NICs, as it comes",
                        _ucx_default)
UCX_TUNED = Transport("ucx-tuned", "UCX tcp, all NICs, tuned", _ucx_tuned)
OB1 = Transport("ob1", "Open MPI ob1 with btl tcp, all NICs", _ob1)
FUSELINK = Transport("fuselink", "fuselink, all NICs", _fuselink,
                     fuselink=True)
UCX_BOUND = Transport("ucx-bound", "UCX tcp, one NIC bound to each rank",
                      _ucx_bound, bound=True)
POLICIES = tuple(
    Transport(f"fuselink-{policy}", f"fuselink, policy {policy}", _fuselink,
              fuselink=True, policy=policy,
              environment={"UCX_FUSELINK_SCHED": policy})
    for policy in ("single", "stripe", "finish", "idle", "plan", "auto"))
# Ranks that share cores and poll: Open MPI does not know that where a resource manager
# gives it its nodes.
FUSELINK_YIELDS = replace(FUSELINK, name="fuselink-yields",
                          title="fuselink, ranks that yield")
CROWDED = (*(replace(one, title=f"{one.title}, ranks that do not yield",
                     environment={"OMPI_MCA_mpi_yield_when_idle": "0"})
             for one in (UCX, UCX_TUNED, OB1, FUSELINK)), FUSELINK_YIELDS)
SM = Transport("sm", "UCX sm,self", _sm)

RC = Transport("rc", "UCX rc_verbs, one NIC", _rc, one_nic=True, nics="0")
RC_DEFAULT = Transport("rc-default", "UCX rc_verbs, all NICs, as it comes",
                       _rc)
RC_TUNED = Transport("rc-tuned", "UCX rc_verbs, all NICs, tuned", _rc_tuned)
FUSELINK_RC = Transport("fuselink", "fuselink over rc_verbs, all NICs",
                        _fuselink_rc, fuselink=True)
BESIDE_RC = Transport("beside-rc", "UCX rc_verbs, one NIC, and fuselink over"
                      " rc_verbs, all NICs, in turn", _beside_rc,
                      fuselink=True, beside=True)

GPU_UCX = Transport("ucx", "UCX tcp, the GPU's own NIC", _gpu_ucx, one_nic=True)
GPU_UCX_BOUND = Transport("ucx-bound", "UCX tcp, each GPU's own NIC",
                          _gpu_ucx_bound, bound=True)
GPU_UCX_TUNED = Transport("ucx-tuned", "UCX tcp, all NICs, tuned",
                          _gpu_ucx_tuned)
FUSELINK_UCP = Transport("fuselink-ucp", "fuselink, all NICs, copies by UCP",
                         _gpu_fuselink("n", "n"), fuselink=True)
FUSELINK_OWN = Transport("fuselink-own", "fuselink, all NICs, copies over the"
                         " GPU's own link", _gpu_fuselink("y", "n"),
                         fuselink=True)
FUSELINK_GPU = Transport("fuselink", "fuselink, all NICs, copies over others'"
                         " links too", _gpu_fuselink("y", "auto"), fuselink=True,
                         lends=True)

# What the parts of it bring, one after the other.
ABLATION = tuple(
    Transport(name, title, _gpu_fuselink("y", relay), fuselink=True,
              environment=environment)
    for name, relay, environment, title in (
        ("own", "n", {"UCX_FUSELINK_BOARD": "n",
                      "UCX_FUSELINK_SCHED": "stripe"},
         "no relays, fixed shares of the NICs"),
        ("relay", "auto", {"UCX_FUSELINK_BOARD": "n",
                           "UCX_FUSELINK_SCHED": "stripe"}, "relays"),
        ("relay-owner", "auto", {"UCX_FUSELINK_SCHED": "idle"},
         "and NICs have owners, who come first"),
        ("relay-view", "auto", {"UCX_FUSELINK_SCHED": "finish"},
         "and the load of both ends"))) + (FUSELINK_GPU,)

GPU = (GPU_UCX, GPU_UCX_TUNED, FUSELINK_UCP, FUSELINK_OWN, FUSELINK_GPU)
GPU_ALLTOALLV = (GPU_UCX_BOUND, GPU_UCX_TUNED, FUSELINK_UCP, FUSELINK_OWN,
                 FUSELINK_GPU)
NETWORK = (UCX, UCX_DEFAULT, UCX_TUNED, OB1, FUSELINK)
NODE = (SM, FUSELINK)
SKEW = (UCX_BOUND, UCX_TUNED, OB1, FUSELINK, *POLICIES)
RDMA = (RC, RC_DEFAULT, RC_TUNED, FUSELINK_RC)
BY_NAME = {transport.name: transport for transport in
           (BESIDE_RC, FUSELINK_YIELDS, *GPU, *GPU_ALLTOALLV, *ABLATION, *RDMA, *NETWORK, *NODE,
            *SKEW)}


def with_windows(transport):
    """The same for MPI windows, of which Open MPI's settings may want others:
    where messages take UCX they do, too, and ob1 has those that are made of
    messages, as its TCP has no others."""
    def settings(nics):
        variables, words = transport.settings(nics)
        more = (_OSC_UCX if "ucx" in words else
                ["--mca", "osc", "pt2pt"] if "ob1" in words else [])
        return variables, [*words, *more]
    return replace(transport, settings=settings)


def chosen(text):
    """Names of --transports A,B,...; None for all."""
    if text is None:
        return None
    return names_of("--transports", text, BY_NAME)


def before(library, base=FUSELINK):
    """fuselink as another build has it."""
    path = Path(library)
    if not path.is_file():
        raise BenchError(f"--before '{library}': no such library")
    return replace(base, name="before", title=f"fuselink, {path}",
                   library=str(path.resolve()))


def variant(text):
    """A transport with other settings: NAME=BASE:VAR=VALUE[,VAR=VALUE...]."""
    match = re.fullmatch(r"([\w.-]+)=([\w-]+):(\w+=.*)", text)
    if (not match or match[1] in BY_NAME or match[2] not in BY_NAME):
        raise BenchError(f"--variant '{text}': accepted:"
                         " NAME=BASE:VARIABLE=VALUE[,VARIABLE=VALUE...] with"
                         " a new name and a base of " + ", ".join(BY_NAME))
    base = BY_NAME[match[2]]
    # A value may be a list: only a comma before the next NAME= separates.
    pairs = [pair.partition("=") for pair in re.split(r",(?=\w+=)", match[3])]
    return replace(base, name=match[1], title=f"{base.title}, {match[3]}",
                   environment={key: value for key, _, value in pairs})
