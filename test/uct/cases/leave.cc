/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* How a connection ends when both sides live: neither waits for the other for
 * ever, and memory of an operation that has ended is the user's again. */

#include "../stack/link.h"
#include "cases.h"
#include "harness/sockets.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr size_t  kMega = 1 << 20;
constexpr uint8_t kId   = 6;

void require_only(const Memory &memory, int byte, const char *when)
{
    size_t wrong = 0;
    for (size_t i = 0; i < memory.size(); ++i) {
        wrong += static_cast<unsigned char>(memory.data()[i]) != byte;
    }
    REQUIRE(wrong == 0, "%zu bytes were written %s", wrong, when);
}

/* --- one get is cancelled, its owner goes on living --- */

void cancelled_get(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    link.settle();
    memset(link.memory().data(), 0xaa, 64 * kMega);
    link.meet();
    if (session.active()) {
        Op get, cancel, small;
        link.ep().get_zcopy(link.memory().iov(0, 64 * kMega), link.remote(),
                            0, get);
        link.worker().for_seconds(0.1);
        link.ep().cancel(cancel);
        link.worker().until([&] { return cancel.done(); }, "flush with cancel");
        cancel.require_exact("flush with cancel");
        get.require_exact("cancelled get");
        REQUIRE(get.status() == UCS_ERR_CANCELED, "the get ended with: %s",
                ucs_status_string(get.status()));
        memset(link.memory().data(), 0x55, 64 * kMega);
        link.worker().for_seconds(1);
        require_only(link.memory(), 0x55, "after the get had ended");
        link.ep().get_zcopy(link.memory().iov(0, 100), link.remote(), 0,
                            small);
        link.ep().finish(small, "a get over the same endpoint");
        REQUIRE(link.iface().errors().empty(), "the error handler was called");
    }
    link.meet();
    REQUIRE(link.iface().errors().empty(), "the error handler was called");
}

/* The endpoint is destroyed instead: its completions are never called. */
void destroyed_with_operations(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    link.settle();
    if (session.active()) {
        Op put, get, small, flush;
        link.ep().put_zcopy(link.memory().iov(0, 32 * kMega), link.remote(),
                            0, &put);
        link.ep().get_zcopy(link.memory().iov(32 * kMega, 32 * kMega),
                            link.remote(), 0, get);
        link.ep().get_zcopy(link.memory().iov(0, 100), link.remote(), 0,
                            small);
        link.ep().flush(flush);
        link.disconnect();
        link.worker().for_seconds(1);
        for (const Op *op : {&put, &get, &small, &flush}) {
            REQUIRE(op->calls() == 0, "a completion of a destroyed endpoint "
                    "was called");
        }
        memset(link.memory().data(), 0x55, 64 * kMega);
        link.worker().for_seconds(0.5);
        require_only(link.memory(), 0x55, "later");
        link.connect();
        Op good;
        link.ep().put_zcopy(link.memory().iov(0, kMega), link.remote(), 0,
                            &good);
        link.ep().finish(good, "a put over another endpoint");
    }
    link.meet();
}

/* --- two endpoints, one is given up --- */

void shared(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 16 * kMega});
    link.settle();
    if (session.active()) {
        auto two = link.another_ep();
        Op given_up, other, get, cancel;
        link.ep().put_zcopy(link.memory().iov(0, 16 * kMega), link.remote(),
                            0, &given_up);
        two->put_zcopy(link.memory().iov(0, 8 * kMega), link.remote(), 0,
                       &other);
        two->get_zcopy(link.memory().iov(8 * kMega, 8 * kMega), link.remote(),
                       0, get);
        link.ep().cancel(cancel);
        link.worker().until([&] { return cancel.done(); }, "flush with cancel");
        given_up.require_exact("cancelled put");
        REQUIRE(given_up.status() == UCS_ERR_CANCELED,
                "the cancelled put ended with: %s",
                ucs_status_string(given_up.status()));
        two->finish(other, "put of the other endpoint");
        two->finish(get, "get of the other endpoint");
        two->am_short(30, 0);
        two->flush_now();
        REQUIRE(link.iface().errors().empty(), "the error handler was called");
    }
    link.meet();
}

/* --- messages from the user's memory --- */

void cancelled_messages(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kMega});
    link.iface().on_message(kId, [](void *, size_t, unsigned) {
        return UCS_OK;
    });
    link.settle();
    if (!session.active()) {
        link.await_told();
        link.meet();
        return;
    }
    /* The peer does not look at the network; the lane fills. */
    std::deque<Op> ops;
    uint64_t header = 0;
    uct_iov_t iov   = link.memory().iov(0, 8000);
    for (;;) {
        Op &op = ops.emplace_back();
        ucs_status_t status = uct_ep_am_zcopy(link.ep().handle(), kId, &header,
                                              8, &iov, 1, 0, op.comp());
        op.posted(status);
        if (status == UCS_ERR_NO_RESOURCE) {
            ops.pop_back();
            break;
        }
    }
    Op cancel;
    link.ep().cancel(cancel);
    unsigned open = 0;
    for (const Op &op : ops) {
        open += !op.done();
    }
    REQUIRE(open == 0 || !cancel.done(),
            "flush with cancel is done with %u messages open", open);
    link.tell();
    link.worker().until([&] { return cancel.done(); }, "flush with cancel");
    for (Op &op : ops) {
        REQUIRE(op.done(), "a message is open after flush with cancel");
        op.require_exact("message");
    }
    link.meet();
}

/* The peer never comes back: then the whole connection is given up. */
void cancelled_with_deaf_peer(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    link.settle();
    Op warm;
    link.ep().put_zcopy(link.memory().iov(0, 8 * kMega), link.remote(), 0,
                        &warm);
    link.ep().finish(warm, "put");
    link.meet();
    if (!session.active()) {
        channel.expect_mark(7); /* no progress until then */
        link.worker().until([&] { return !link.iface().errors().empty(); },
                            "the error handler");
        link.meet();
        return;
    }
    auto two = link.another_ep();
    Op put, cancel;
    link.ep().put_zcopy(link.memory().iov(0, 64 * kMega), link.remote(), 0,
                        &put);
    link.worker().for_seconds(0.1);
    link.ep().cancel(cancel);
    REQUIRE(!cancel.done(), "flush with cancel is done while a put is "
            "under way");
    link.worker().until([&] { return cancel.done(); }, "flush with cancel");
    REQUIRE(put.done(), "the put is open after flush with cancel");
    REQUIRE(link.iface().errors().count(two->handle()) == 1 &&
                link.iface().errors().count(link.ep().handle()) == 0,
            "the other endpoint is to be told, and only that: %zu calls, %s",
            link.iface().errors().size(), ucs_status_string(put.status()));
    channel.send_mark(7);
    link.meet();
}

/* --- a connection breaks, both processes live --- */

/* Connections over the NICs for data, in the order in which they were made. */
std::vector<int> connections()
{
    std::vector<int> found;
    for (int fd = 3; fd < 400; ++fd) {
        sockaddr_in peer;
        socklen_t length = sizeof(peer);
        if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &length) ==
                0 &&
            peer.sin_family == AF_INET &&
            (ntohl(peer.sin_addr.s_addr) >> 8) != 0x0a00ff /* management */) {
            found.push_back(fd);
        }
    }
    return found;
}

/* Ends the one that has most to send, once one has anything. */
void break_a_busy_connection(Worker &worker)
{
    int best = -1, most = 0;
    worker.until(
        [&] {
            for (int fd : connections()) {
                int unsent = 0;
                if (ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > most) {
                    most = unsent;
                    best = fd;
                }
            }
            return best >= 0;
        },
        "a connection that has something to send");
    shutdown(best, SHUT_RDWR);
}

/* What it carried comes another way, and nothing of it comes late. */
void owners_path_breaks(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 128 * kMega});
    link.settle();
    uint64_t me = session.active();
    fill(link.memory().data(), 128 * kMega, me);
    link.meet();
    if (session.active()) {
        Op get;
        link.ep().get_zcopy(link.memory().iov(0, 128 * kMega), link.remote(),
                            0, get);
        link.ep().finish(get, "get");
        require_pattern(link.memory().data(), 128 * kMega, 0, "get");
        memset(link.memory().data(), 0x55, 128 * kMega);
        link.worker().for_seconds(1);
        require_only(link.memory(), 0x55, "after the get had ended");
    } else {
        link.worker().for_seconds(0.15);
        break_a_busy_connection(link.worker());
    }
    link.meet();
    REQUIRE(link.iface().errors().empty(), "the error handler was called");
    link.meet();
}

/* The connection of the messages, in the middle of gets: others take its place, and
 * messages and data arrive as if nothing had been. */
void control_lane_breaks(Session &session)
{
    constexpr unsigned kMessages = 100;
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    Memory &memory   = link.memory();
    uint64_t me      = session.active();
    unsigned in_turn = 0, came = 0;
    link.iface().on_message(kId, [&](void *data, size_t length, unsigned) {
        uint64_t number = kMessages;
        memcpy(&number, data, std::min(length, sizeof(number)));
        in_turn += length == sizeof(number) && number == came;
        ++came;
        return UCS_OK;
    });
    link.settle();
    REQUIRE(connections().size() == 1, "%zu connections carry messages",
            connections().size());
    int control = connections()[0];
    fill(memory.data(), 32 * kMega, me);
    link.meet();
    Op get;
    link.ep().get_zcopy(memory.iov(32 * kMega, 32 * kMega), link.remote(), 0,
                        get);
    link.worker().for_seconds(0.05);
    for (unsigned i = 0; i < kMessages; ++i) {
        if (i == kMessages / 2 && session.active()) {
            Socket{control, -1}.reset(); /* not in order, as where a NIC fails */
        }
        link.ep().am_short(kId, i);
    }
    link.ep().finish(get, "a get while the connection of messages breaks");
    link.worker().until([&] { return came >= kMessages; }, "the messages");
    link.meet();
    require_pattern(memory.at(32 * kMega), 32 * kMega, 1 - me, "get");
    REQUIRE(came == kMessages && in_turn == kMessages,
            "%u messages came, %u in their turn", came, in_turn);
    memset(memory.data(), 0x55, 64 * kMega);
    link.worker().for_seconds(1);
    require_only(memory, 0x55, "after the get had ended");
    REQUIRE(link.iface().errors().empty(), "the error handler was called");
    link.meet();
}

/* The owner gives its endpoint up while it serves; a later get works. */
void owner_gives_up(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    link.settle();
    Op get, later;
    if (session.active()) {
        link.ep().get_zcopy(link.memory().iov(0, 64 * kMega), link.remote(),
                            0, get);
        link.ep().finish(get, "a get while the owner gives its puts up");
        link.ep().get_zcopy(link.memory().iov(0, 100), link.remote(), 0,
                            later);
        link.ep().finish(later, "a later get");
    } else {
        Op put;
        link.worker().for_seconds(0.05);
        link.ep().put_zcopy(link.memory().iov(0, 8 * kMega), link.remote(), 0,
                            &put);
        link.ep().cancel_now();
        link.disconnect();
    }
    link.meet();
}

/* --- the interface closes with everything open --- */

void closed_with_operations(Session &session)
{
    Channel channel = session.connection();
    if (!session.active()) {
        Link link(channel, {.memory = 16 * kMega});
        link.settle();
        channel.expect_mark(5);
        return;
    }
    std::deque<Op> ops;
    {
        Link link(channel, {.memory = 16 * kMega});
        link.settle();
        for (int i = 0; i < 4; ++i) {
            link.ep().put_zcopy(link.memory().iov(0, 4 * kMega),
                                link.remote(), 0, &ops.emplace_back());
            link.ep().get_zcopy(link.memory().iov(8 * kMega, 4 * kMega),
                                link.remote(), 0, ops.emplace_back());
        }
        link.ep().flush(ops.emplace_back());
        link.worker().for_seconds(0.02);
    }
    for (Op &op : ops) {
        REQUIRE(op.calls() <= 1, "a completion was called %u times",
                op.calls());
    }
    channel.send_mark(5);
}

/* --- again and again --- */

int open_files()
{
    int count = 0;
    for (int fd = 0; fd < 1000; ++fd) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

constexpr unsigned kReconnects = 12;

/* In each round all connections break, with that of the messages: they are made
 * again, and users see nothing of it. */
void reconnects(Session &session)
{
    constexpr unsigned kMessages = 20;
    Channel channel = session.connection();
    Link link(channel, {.memory = 8 * kMega});
    Memory &memory   = link.memory();
    uint64_t me      = session.active();
    unsigned in_turn = 0, came = 0;
    link.iface().on_message(kId, [&](void *data, size_t length, unsigned) {
        uint64_t number = UINT64_MAX;
        memcpy(&number, data, std::min(length, sizeof(number)));
        in_turn += length == sizeof(number) && number == came;
        ++came;
        return UCS_OK;
    });
    link.settle();
    int after_two = 0;
    for (unsigned round = 0; round < kReconnects; ++round) {
        fill(memory.data(), 4 * kMega, 2 * round + me);
        memset(memory.at(4 * kMega), 0, 4 * kMega);
        link.meet();
        Op put;
        link.ep().put_zcopy(memory.iov(0, 4 * kMega), link.remote(), 4 * kMega,
                            &put);
        link.worker().for_seconds(0.005);
        for (unsigned i = 0; i < kMessages; ++i) {
            if (i == kMessages / 2 && session.active()) {
                auto fds = connections(); /* with that of the messages */
                REQUIRE(!fds.empty(), "no connections in round %u", round);
                for (int fd : fds) {
                    shutdown(fd, SHUT_RDWR);
                }
            }
            link.ep().am_short(kId, round * kMessages + i);
        }
        link.ep().finish(put, "a put while all connections break");
        link.worker().until([&] { return came >= (round + 1) * kMessages; },
                            "the messages");
        link.meet();
        require_pattern(memory.at(4 * kMega), 4 * kMega, 2 * round + 1 - me,
                        "put");
        REQUIRE(came == (round + 1) * kMessages && in_turn == came,
                "%u messages came by round %u, %u in their turn", came, round,
                in_turn);
        REQUIRE(link.iface().errors().empty(), "the error handler was called");
        if (round == 2) {
            after_two = open_files();
        }
    }
    link.worker().for_seconds(0.2);
    int now = open_files();
    REQUIRE(now < after_two + 12, "open files after three rounds %d, after "
            "twelve %d", after_two, now);
    link.meet();
}

/* --- a get is begun in the completion of another operation, by a lane that
 * fails while it sends a get --- */

struct Chain {
    uct_completion_t comp; /* first */
    Link            *link;
    Op              *next;
};

void get_in_failing_get(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 4 * kMega});
    link.settle();
    if (!session.active()) {
        link.meet();
        usleep(300000);
        _exit(0);
    }
    Op next, get;
    Chain chain{};
    chain.comp.count = 1;
    chain.link       = &link;
    chain.next       = &next;
    chain.comp.func  = [](uct_completion_t *comp) {
        auto *chain   = reinterpret_cast<Chain *>(comp);
        uct_iov_t iov = chain->link->memory().iov(0, 4096);
        chain->next->posted(uct_ep_get_zcopy(
            chain->link->ep().handle(), &iov, 1, chain->link->remote().at(0),
            chain->link->remote().key(), chain->next->comp()));
    };
    link.meet();
    link.ep().am_short(30, 1);
    REQUIRE(uct_ep_flush(link.ep().handle(), 0, &chain.comp) ==
                UCS_INPROGRESS, "the flush was to wait for the peer");
    usleep(800000);
    uct_iov_t iov = link.memory().iov(0, 4096);
    get.posted(uct_ep_get_zcopy(link.ep().handle(), &iov, 1,
                                link.remote().at(0), link.remote().key(),
                                get.comp()));
    link.worker().until([&] { return get.done() && next.done(); },
                        "both gets");
    get.require_exact("the get");
    next.require_exact("the get of the completion");
    REQUIRE(!get.ok() && !next.ok(), "a get from a dead peer went well");
}

/* --- the memory goes while it is read --- */

void deregistered(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 64 * kMega});
    link.settle();
    auto other = std::make_unique<Memory>(link.iface().domain(), 64 * kMega);
    channel.send(other->describe());
    auto remote = std::make_unique<Remote>(link.iface().domain(),
                                           channel.receive());
    if (session.active()) {
        Op get, good;
        link.ep().get_zcopy(link.memory().iov(0, 64 * kMega), *remote, 0,
                            get);
        link.worker().until([&] { return get.done(); }, "the end of the get");
        get.require_exact("get");
        REQUIRE(UCS_STATUS_IS_ERR(get.status()),
                "a get of memory that has gone went well");
        link.ep().get_zcopy(link.memory().iov(0, kMega), link.remote(), 0,
                            good);
        link.ep().finish(good, "a get of other memory");
    } else {
        link.worker().for_seconds(0.05);
        other->deregister();
    }
    link.meet();
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {"rails.leave." + name, both, both};
}

} // namespace

std::vector<Case> leave_cases()
{
    /* Of UCX, when it meets a connection that was shut down. */
    const LogLine sockets{Side::Both, "tcp_ep.*|connection establishment for "
                                      "socket fd .* was unsuccessful", 0, 100};
    const LogLine lane{Side::Active, "no rail takes messages to peer", 0, 1};
    const LogLine path{Side::Both, "rail .* to .* of peer .* has failed", 0, 12};
    const LogLine again{Side::Both, "rail .* carries data again", 0, 12};
    /* On both sides: the peers share the connection. */
    const LogLine moves{Side::Both, "rail .* has failed .*: messages to peer .* "
                                    "go over rail .* now", 1, 1};

    std::vector<Case> cases{
        make("cancelled_get", cancelled_get),
        make("destroyed_with_operations", destroyed_with_operations),
        make("shared", shared),
        make("cancelled_messages", cancelled_messages),
        make("owner_gives_up", owner_gives_up),
        make("deregistered", deregistered),
    };
    cases.push_back(make("closed_with_operations", closed_with_operations));
    cases.back().log = {sockets}; /* its peer connects to what has just gone */
    /* Nobody looks in the peer's place. */
    const Setting nobody{Side::Both, "UCX_FUSELINK_PROGRESS", "caller"};
    cases.push_back(make("cancelled_with_deaf_peer", cancelled_with_deaf_peer));
    cases.back().settings = {nobody};
    cases.push_back(make("owners_path_breaks", owners_path_breaks));
    cases.back().log = {sockets, path, again};
    cases.push_back(make("control_lane_breaks", control_lane_breaks));
    cases.back().log = {sockets, moves, again};
    cases.push_back(make("reconnects", reconnects));
    cases.back().log = {sockets, path, moves, again};
    cases.back().log[1].most = kReconnects * 4; /* NICs */
    cases.back().log[2].least = 0; /* if a path of the NIC was named first */
    cases.back().log[2].most  = kReconnects * 4;
    cases.back().log[3].most  = kReconnects * 4;
    cases.push_back(make("get_in_failing_get", get_in_failing_get));
    /* The get itself finds out that the peer is dead. */
    cases.back().settings = {nobody};
    cases.back().log = {sockets, lane, path, again}; /* the peer dies */
    return cases;
}

} // namespace fltest
