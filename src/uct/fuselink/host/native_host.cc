/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "native_host.h"

#include "../../../ucs_ext/job.h"
#include "../../../ucs_ext/node.h"
#include "../registry/relay_registry.h"
#include "../ucx.h"
#include "background_thread.h"
#include "native_alarm.h"
#include "native_clock.h"
#include "native_network.h"
#include "native_stream_control.h"
#include "netlink_carrier.h"

#include <algorithm>
#include <cerrno>
#include <sys/random.h>
#include <sys/resource.h>

namespace fuselink {

NativeHost &NativeHost::of_process()
{
    static NativeHost host; /* nothing to destroy: there until the end */
    return host;
}

sched::Nanos NativeHost::now() const
{
    return native_now();
}

void NativeHost::random(void *bytes, size_t size)
{
    constexpr size_t kWhole = 256; /* so many come at once, getrandom(2) says */
    auto *to = static_cast<char *>(bytes);
    while (size != 0) {
        const size_t  part = std::min(size, kWhole);
        const ssize_t got  = getrandom(to, part, 0);
        if (got < 0 && errno != EINTR) {
            ucs_fatal("fuselink: getrandom() failed: %m");
        } else if (got > 0) {
            to   += got;
            size -= static_cast<size_t>(got);
        }
    }
}

uint64_t NativeHost::node_signature(std::string_view lanes)
{
    return fuselink::node_signature(lanes, ucs_get_system_id());
}

uint64_t NativeHost::network_signature()
{
    return fuselink::network_signature(ucs_get_system_id());
}

uint64_t NativeHost::job()
{
    return job_number();
}

Cpus &NativeHost::cpus()
{
    return Cpus::real();
}

Processes &NativeHost::processes()
{
    return Processes::real();
}

Network &NativeHost::network()
{
    static NativeNetwork network;
    return network;
}

StreamControl &NativeHost::streams()
{
    static NativeStreamControl streams;
    return streams;
}

std::unique_ptr<Carrier> NativeHost::watch_carrier(std::string &error)
{
    return NetlinkCarrier::open(error);
}

std::shared_ptr<Board> NativeHost::open_board(std::string &error)
{
    return Board::open(error);
}

std::shared_ptr<RelayRegistry> NativeHost::open_relay_registry(uint8_t      kind,
                                                       std::string &error)
{
    return RelayRegistry::open(kind, error);
}

std::unique_ptr<SharedSegment>
NativeHost::open_segment(uint64_t magic, size_t size, std::string &error)
{
    return SharedSegment::open(magic, size, error);
}

std::unique_ptr<SharedSegment> NativeHost::join_segment(uint64_t magic,
                                                        size_t   size)
{
    return SharedSegment::join(magic, size);
}

uint64_t NativeHost::locked_memory_limit()
{
    struct rlimit memlock;
    return getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 &&
                   memlock.rlim_cur != RLIM_INFINITY ?
               memlock.rlim_cur : kUnlimited;
}

std::unique_ptr<Alarm> NativeHost::make_alarm() const
{
    return NativeAlarm::make();
}

std::unique_ptr<AtWork> NativeHost::begin_work(Background  &work,
                                               std::string &error)
{
    return BackgroundThread::start(work, error);
}

} // namespace fuselink
