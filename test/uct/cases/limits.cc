/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Where something runs out or is not there: files, buffers, room in a message,
 * addresses that do not answer. */

#include "../stack/link.h"
#include "cases.h"
#include "wire/address.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fltest {
namespace {

namespace wire = fuselink::wire;

constexpr size_t  kMega = 1 << 20;
constexpr uint8_t kId   = 7;

void allow_files(int count)
{
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(count);
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Of those that it may have, a process uses a connection for each NIC of each peer. */
void more_files(Session &)
{
    allow_files(256);
    Domain domain;
    Worker worker;
    Iface  first(domain, worker, "rails");
    rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
            limit.rlim_cur == std::min<rlim_t>(limit.rlim_max, 1 << 16),
            "%lu descriptors, of %lu that there may be", limit.rlim_cur, limit.rlim_max);
    allow_files(300);
    Iface second(domain, worker, "rails");
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 300,
            "%lu descriptors, though the program wants 300", limit.rlim_cur);
}

/* Where no NIC registers memory: with any cost UCP would send long messages in pieces, each
 * of them copied. One of 16 kB with UCP's headers is a piece. */
void free_registration(Session &)
{
    Domain domain;
    REQUIRE(domain.attr().reg_cost.c == 0 && domain.attr().reg_cost.m == 0,
            "registration over TCP costs %g s and %g s a byte",
            domain.attr().reg_cost.c, domain.attr().reg_cost.m);
    Worker      worker;
    Iface       rails(domain, worker, "rails");
    const auto &am = rails.attr().cap.am;
    REQUIRE(am.max_zcopy > 3 * am.max_bcopy && am.max_bcopy >= (16 << 10) + 256,
            "messages of %zu bytes at once, copies of %zu", am.max_zcopy, am.max_bcopy);
}

/* What the user wants to receive in may be less than what fuselink would send. */
void small_receive_buffers(Session &)
{
    Domain      domain;
    Worker      worker;
    Iface       rails(domain, worker, "rails");
    const auto &am = rails.attr().cap.am;
    REQUIRE(am.max_bcopy > 7 << 10 && am.max_bcopy <= 8 << 10, "copies of %zu bytes",
            am.max_bcopy);
}

/* Opens a second interface with every number of files that is too small for it,
 * and uses what there is then. The first has UCX's own machinery running, which
 * ends the process where it gets no file. */
void files_for_rails(Session &)
{
    unsigned opened = 0;
    constexpr int kMost = 45;
    for (int more = 0; more < kMost; ++more) {
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork() failed");
        if (pid == 0) {
            bool ok = false;
            try {
                Domain domain;
                Worker worker;
                Iface first(domain, worker, "rails");
                int lowest = open("/dev/null", O_RDONLY);
                close(lowest);
                allow_files(lowest + more);
                Iface iface(domain, worker, "rails");
                worker.for_seconds(0.005);
                uct_iface_event_arm(iface.handle(), UCT_EVENT_RECV);
                worker.for_seconds(0.005);
                ok = true;
            } catch (const Failed &) {
            }
            _exit(ok ? 7 : 0);
        }
        int status;
        waitpid(pid, &status, 0);
        REQUIRE(WIFEXITED(status), "with %d files it ends with status %x",
                more, status);
        opened += WEXITSTATUS(status) == 7;
    }
    REQUIRE(opened != 0 && opened != kMost, "it opened %u times", opened);
}

/* Some paths of a peer get no socket: the others carry everything. */
void files_for_paths(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 4 * kMega});
    link.settle();
    if (session.active()) {
        int reserve = open("/dev/null", O_RDONLY); /* the lowest free one */
        close(reserve);
        allow_files(reserve + 2);
        Op put;
        link.ep().put_zcopy(link.memory().iov(0, 4 * kMega), link.remote(), 0,
                            &put);
        link.ep().finish(put, "put over the paths that are left");
        link.ep().am_short(30, 0);
        link.ep().flush_now();
    }
    link.meet();
}

/* The longest get_bcopy, whatever the two sides' messages hold. */
void longest_get_bcopy(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kMega});
    fill(link.memory().data(), kMega, 4 + session.active());
    link.settle();
    if (session.active()) {
        size_t most = link.iface().attr().cap.get.max_bcopy;
        std::vector<char> data(most);
        Op get;
        link.ep().get_bcopy(data.data(), most, link.remote(), 100, get);
        link.ep().finish(get, "get_bcopy");
        require_pattern(data.data(), most, 4, "get_bcopy", 100);
    }
    link.meet();
}

void few_buffers(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 16 * kMega});
    link.settle();
    if (session.active()) {
        Op put, get;
        link.ep().put_zcopy(link.memory().iov(0, 8 * kMega), link.remote(), 0,
                            &put);
        link.ep().get_zcopy(link.memory().iov(8 * kMega, 8 * kMega),
                            link.remote(), 8 * kMega, get);
        link.ep().finish(put, "put");
        link.ep().finish(get, "get");
    }
    link.meet();
}

/* --- addresses --- */

wire::RailTable table_of(const Address &address)
{
    wire::RailTable table;
    REQUIRE(wire::unpack_iface_address(
                {address.iface.data(), address.iface.size()}, table),
            "a published address cannot be read");
    return table;
}

/* Only one address of the peer answers, and not the one that is tried first. */
void next_address(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kMega, .connect = false});
    if (session.active()) {
        Address peer          = link.peer_address();
        wire::RailTable table = table_of(peer);
        uint64_t mix = table_of(link.iface().address()).uuid ^ table.uuid;
        mix ^= mix >> 32;
        mix ^= mix >> 16;
        size_t count = table.rails.size();
        for (size_t i = 0; i < count; ++i) {
            if (i != (mix + 2) % count) {
                table.rails[i].iface_address.assign(2, 0);
                table.rails[i].iface_address[1] = 9; /* discard */
            }
        }
        peer.iface.assign(peer.iface.size(), 0);
        wire::pack_iface_address(table, peer.iface);
        Endpoint ep(link.iface(), peer);
        Op put;
        ep.put_zcopy(link.memory().iov(0, kMega), link.remote(), 0, &put);
        ep.finish(put, "put");
        REQUIRE(link.iface().errors().empty(), "the error handler was called");
        link.meet();
    } else {
        link.meet();
    }
}

/* An address of transports that we do not have is one for other lanes. */
void foreign_transport(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.connect = false});
    if (session.active()) {
        Address peer  = link.peer_address();
        auto reached = [&] {
            return uct_iface_is_reachable(
                link.iface().handle(),
                reinterpret_cast<uct_device_addr_t *>(peer.device.data()),
                reinterpret_cast<uct_iface_addr_t *>(peer.iface.data()));
        };
        REQUIRE(reached(), "the peer counts as not reachable");
        wire::RailTable table = table_of(peer);
        for (auto &rail : table.rails) {
            rail.tl_hash ^= 0x55aa;
        }
        peer.iface.assign(peer.iface.size(), 0);
        wire::pack_iface_address(table, peer.iface);
        REQUIRE(!reached(), "a peer of other transports counts as reachable");
    }
    link.meet();
}

/* Two interfaces of one domain, without the node's lanes. */
void one_process(Session &)
{
    Domain domain;
    Worker first, second;
    Iface one(domain, first, "rails"), two(domain, second, "rails");
    Address address = two.address();
    REQUIRE(uct_iface_is_reachable(
                one.handle(),
                reinterpret_cast<uct_device_addr_t *>(address.device.data()),
                reinterpret_cast<uct_iface_addr_t *>(address.iface.data())),
            "another interface of this process counts as not reachable");
    bool come = false;
    two.on_message(kId, [&](void *, size_t, unsigned) {
        come = true;
        return UCS_OK;
    });
    Endpoint ep(one, address);
    char data[8]        = {};
    ucs_status_t status = UCS_ERR_NO_RESOURCE;
    first.until(
        [&] {
            second.progress();
            if (status == UCS_ERR_NO_RESOURCE) {
                status = uct_ep_am_short(ep.handle(), kId, 0, data, 8);
            }
            return come;
        },
        "a message to another interface of this process");
}

/* --- a fence in a completion of the lane that it waits for --- */

struct Fencing {
    uct_completion_t comp; /* first */
    Link            *link;
    bool             done;
};

void fence_in_completion(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.device = "node", .memory = 4 * kMega});
    ptrdiff_t wrong = -2;
    link.iface().on_message(kId, [&](void *, size_t, unsigned) {
        wrong = mismatch(link.memory().at(2 * kMega), kMega, 6);
        return UCS_OK;
    });
    link.meet();
    if (session.active()) {
        fill(link.memory().data(), kMega, 6);
        Fencing fencing{};
        Op second;
        fencing.link       = &link;
        fencing.comp.count = 1;
        fencing.comp.func  = [](uct_completion_t *comp) {
            auto *self = reinterpret_cast<Fencing *>(comp);
            alarm(20);
            uct_ep_fence(self->link->ep().handle(), 0);
            alarm(0);
            self->done = true;
        };
        uct_iov_t iov = link.memory().iov(kMega, kMega);
        REQUIRE(uct_ep_put_zcopy(link.ep().handle(), &iov, 1,
                                 link.remote().at(0), link.remote().key(),
                                 &fencing.comp) == UCS_INPROGRESS,
                "the put was to take a while");
        /* Behind it in the lane; the fence in the middle is for it, too. */
        link.ep().put_zcopy(link.memory().iov(0, kMega), link.remote(),
                            2 * kMega, &second);
        link.worker().until([&] { return fencing.done; }, "the completion");
        link.ep().am_short(kId, 0);
        link.ep().finish(second, "put");
    } else {
        link.worker().until([&] { return wrong != -2; }, "the message");
        REQUIRE(wrong == -1, "a message overtook a put from before the fence");
    }
    link.meet();
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> limits_cases()
{
    const LogLine anything{Side::Both, ".*", 0, 10000};
    std::vector<Case> cases;

    Case files    = make("rails.limits.files_for_rails", files_for_rails);
    files.passive = nullptr;
    files.log     = {anything};
    cases.push_back(files);

    cases.push_back(make("rails.limits.more_files", more_files));
    cases.back().passive = nullptr;

    Case paths = make("rails.limits.files_for_paths", files_for_paths);
    paths.log  = {{Side::Active, "does not reach .* left out", 1, 4},
                  {Side::Active, "maximal number of files", 0, 8},
                  /* Of UCX, which closes its listener when it cannot accept. */
                  {Side::Active, "failed to remove handler for server socket", 0, 4}};
    cases.push_back(paths);

    Case large     = make("rails.limits.get_bcopy.large", longest_get_bcopy);
    large.settings = {{Side::Both, "UCX_TCP_TX_SEG_SIZE", "256k"},
                      {Side::Both, "UCX_TCP_RX_SEG_SIZE", "256k"}};
    cases.push_back(large);
    Case uneven     = make("rails.limits.get_bcopy.uneven", longest_get_bcopy);
    uneven.settings = {{Side::Active, "UCX_TCP_TX_SEG_SIZE", "32k"},
                       {Side::Active, "UCX_TCP_RX_SEG_SIZE", "32k"},
                       {Side::Passive, "UCX_TCP_TX_SEG_SIZE", "8k"},
                       {Side::Passive, "UCX_TCP_RX_SEG_SIZE", "32k"}};
    cases.push_back(uneven);

    Case buffers     = make("rails.limits.few_buffers", few_buffers);
    buffers.settings = {{Side::Both, "UCX_TCP_TX_MAX_BUFS", "16"},
                        {Side::Both, "UCX_TCP_TX_BUFS_GROW", "8"}};
    buffers.log      = {{Side::Both, "unable to get a buffer|mpool|memory pool",
                         0, 100000}};
    cases.push_back(buffers);

    Case next = make("rails.limits.next_address", next_address);
    next.log  = {{Side::Active, "connection establishment for socket fd [0-9]+ "
                                "was unsuccessful", 1, 3}};
    cases.push_back(next);
    cases.push_back(make("rails.limits.foreign_transport", foreign_transport));
    cases.back().log = {{Side::Active, "no rail of this process \\(tcp\\) "
                                       "reaches one of peer .*none known"}};

    cases.push_back(make("rails.limits.free_registration", free_registration));
    cases.back().passive = nullptr;
    Case small     = make("rails.limits.small_receive_buffers", small_receive_buffers);
    small.settings = {{Side::Both, "UCX_TCP_RX_SEG_SIZE", "12k"}};
    small.passive  = nullptr;
    cases.push_back(small);

    Case alone     = make("rails.limits.one_process", one_process);
    alone.passive  = nullptr;
    alone.settings = {{Side::Both, "UCX_FUSELINK_NODE_LANES", "none"}};
    cases.push_back(alone);

    cases.push_back(make("node.limits.fence_in_completion",
                         fence_in_completion));
    return cases;
}

} // namespace fltest
