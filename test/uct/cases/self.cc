/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Device `self`: a process that talks to itself. */

#include "../stack/stream.h"
#include "cases.h"

namespace fltest {
namespace {

void all(Session &)
{
    constexpr size_t kSize = 3 << 20;

    Domain domain = Domain::of_device("self");
    Worker worker;
    Iface iface(domain, worker, "self");
    Endpoint ep(iface, iface.address());
    StreamReceiver receiver(Stream::random(1, iface), iface, 9);
    StreamSender sender(Stream::random(1, iface), ep, 9);
    sender.send(20000);
    receiver.expect(20000);

    Memory from(domain, kSize), to(domain, kSize);
    Remote remote(domain, to.describe());
    fill(from.data(), kSize, 1);
    Op put, get, flush;
    ep.put_zcopy(from.iov(1, kSize - 3), remote, 2, &put);
    ep.finish(put, "put");
    require_pattern(to.at(2), kSize - 3, 1, "put", 1);
    REQUIRE(to.at(0)[0] == 0 && to.at(1)[0] == 0 && to.at(kSize - 1)[0] == 0,
            "the put wrote beside its place");
    fill(to.data(), kSize, 2);
    ep.fence();
    ep.get_zcopy(from.iov(3, 1000), remote, 77, get);
    ep.finish(get, "get");
    require_pattern(from.at(3), 1000, 2, "get", 77);
    require_pattern(from.at(1003), 1000, 1, "beside the get", 1003);
    ep.flush(flush);
    ep.finish(flush, "flush");
    ep.flush_now();
}

} // namespace

std::vector<Case> self_cases()
{
    return {{"self.all", all, nullptr}};
}

} // namespace fltest
