/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Which NICs carry what: shares, choices, sides that differ. */

#include "harness/nics.h"
#include "../stack/link.h"
#include "../stack/stream.h"
#include "cases.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <sched.h>

namespace fltest {
namespace {

/* Below this a NIC has carried nothing but messages of fuselink's own. */
constexpr uint64_t kBackground = 150000;

using Check = std::function<void(const std::vector<uint64_t> &, const char *)>;

/* Puts and gets of the whole memory with the data checked; what each NIC sent goes to
 * `check`, on the active side for puts, on the passive side for gets: `tries` times at
 * most until it is content. Returns with both sides through. */
void transfer(Session &session, size_t size, const Check &check, unsigned tries,
              const char *device = "rails")
{
    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = 2 * size});
    const bool active = session.active();
    fill(link.memory().data(), size, 40 + uint64_t{active});
    link.settle();

    auto put = [&](size_t length) {
        Op op;
        if (active) {
            link.ep().put_zcopy(link.memory().iov(0, length), link.remote(),
                                size, &op);
            link.ep().finish(op, "put");
        }
    };
    auto get = [&] {
        Op op;
        if (active) {
            link.ep().get_zcopy(link.memory().iov(size, size), link.remote(),
                                0, op);
            link.ep().finish(op, "get");
            require_pattern(link.memory().at(size), size, 40, "get");
        }
    };
    for (int i = 0; i < 4; ++i) { /* until speeds are known, shares are a guess */
        put(size / 4);
    }
    soon_right(link, active, tries, [&] { put(size); },
               [&](const auto &bytes) { check(bytes, "put"); });
    if (!active) {
        require_pattern(link.memory().at(size), size, 41, "put");
    }
    link.meet();
    get();
    soon_right(link, !active, tries, get,
               [&](const auto &bytes) { check(bytes, "get"); });
}

/* Messages, puts and gets work; nothing is asked of the NICs. */
void works(Session &session, const char *device = "rails")
{
    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = 8 << 20});
    uint64_t me = session.active();
    StreamReceiver receiver(Stream::random(1 - me, link.iface()), link.iface(),
                            1);
    fill(link.memory().data(), 2 << 20, 50 + me);
    link.meet();
    StreamSender sender(Stream::random(me, link.iface()), link.ep(), 1);
    sender.send(2000);
    std::deque<Op> ops;
    constexpr size_t kSize = 1999999;
    link.ep().put_zcopy(link.memory().iov(1, kSize), link.remote(),
                        (2 << 20) + 1, &ops.emplace_back());
    link.ep().get_zcopy(link.memory().iov((4 << 20) + 1, kSize), link.remote(),
                        1, ops.emplace_back());
    link.ep().get_zcopy(link.memory().iov(6 << 20, 5000), link.remote(), 0,
                        ops.emplace_back());
    for (Op &op : ops) {
        link.ep().finish(op, "operation");
    }
    receiver.expect(2000);
    sender.drain();
    link.meet();
    require_pattern(link.memory().at((2 << 20) + 1), kSize, 51 - me, "put", 1);
    require_pattern(link.memory().at((4 << 20) + 1), kSize, 51 - me, "get", 1);
    require_pattern(link.memory().at(6 << 20), 5000, 51 - me, "small get");
    link.meet();
}

/* Messages of the active side, checked to come once and in order; what the NICs sent goes
 * to `check`. */
void messages(Session &session, const Check &check)
{
    Channel channel = session.connection();
    Link link(channel, {});
    const bool active = session.active();
    auto shape = [](uint64_t number) {
        return Shape{Shape::Kind::Bcopy, number % 5 == 0 ? 16 : 4096};
    };
    StreamReceiver receiver(Stream(1, shape), link.iface(), 1);
    link.meet();
    StreamSender sender(Stream(1, shape), link.ep(), 1);
    uint64_t     sent = 0;
    soon_right(link, active, 6, [&] {
        sent += 4000;
        if (active) {
            sender.send(4000);
            sender.drain();
        } else {
            receiver.expect(sent);
        }
    }, [&](const auto &bytes) { check(bytes, "messages"); });
}

void shares(const std::vector<uint64_t> &bytes, const char *what)
{
    require_shares(bytes, 0.35, what);
}

/* Of NICs that an emulated CPU drives: it holds up now one, now another, and
 * what is held up gets less. */
void native_shares(const std::vector<uint64_t> &bytes, const char *what)
{
    require_shares(bytes, 0.7, what);
}

/* Fails unless exactly the NICs with a 1 in `used` carried data. */
Check only(const std::vector<int> &used)
{
    return [=](const std::vector<uint64_t> &bytes, const char *what) {
        for (size_t i = 0; i < bytes.size(); ++i) {
            bool carried = bytes[i] > kBackground;
            REQUIRE(carried == (i < used.size() && used[i] != 0),
                    "%s: nic%zu sent %lu bytes", what, i, bytes[i]);
        }
    };
}

void one_nic(const std::vector<uint64_t> &bytes, const char *what)
{
    auto used = std::count_if(bytes.begin(), bytes.end(), [](uint64_t sent) {
        return sent > kBackground;
    });
    REQUIRE(used == 1, "%s: %td NICs carried data, want one", what, used);
}

bool run_on(size_t cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    return sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

/* The machine of two-sockets.xml: nic0 and nic1 beside CPU 0, the others beside
 * CPU 1. */
void near_socket(Session &session)
{
    size_t cpu = run_on(1) ? 1 : 0;
    REQUIRE(run_on(cpu), "may not run on CPU 0 nor on CPU 1");
    transfer(session, 4 << 20,
             [cpu](const std::vector<uint64_t> &bytes, const char *what) {
                 one_nic(bytes, what);
                 for (size_t far : {2 - 2 * cpu, 3 - 2 * cpu}) {
                     REQUIRE(bytes[far] <= kBackground,
                             "%s: nic%zu, on the other socket, sent %lu bytes",
                             what, far, bytes[far]);
                 }
             }, 1);
}

/* No NIC in common: one line on each side that says so, and an end of all
 * operations. */
void nothing_in_common(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.connect = false});
    if (session.active()) {
        ucs_status_t status = Endpoint::try_create(link.iface(),
                                                   link.peer_address());
        if (status == UCS_OK) {
            link.connect();
            Op put;
            uct_iov_t iov = link.memory().iov(0, 100000);
            put.posted(uct_ep_put_zcopy(link.ep().handle(), &iov, 1,
                                        link.remote().at(0),
                                        link.remote().key(), put.comp()));
            link.worker().until(
                [&] {
                    return put.done() && !link.iface().errors().empty();
                },
                "the failure");
            REQUIRE(put.status() != UCS_OK, "the put went well");
        }
    }
    link.meet();
}

/* The addresses that sixteen rails leave to the user of the interface. */
void sizes(Session &)
{
    Worker worker;
    for (const char *device : {"rails", "node", "self"}) {
        Domain domain = Domain::of_device(device);
        Iface iface(domain, worker, device);
        Address address = iface.address();
        REQUIRE(address.device.size() <= 31 && address.iface.size() <= 63,
                "%s has addresses of %zu and %zu bytes", device,
                address.device.size(), address.iface.size());
        REQUIRE(domain.attr().rkey_packed_size <= 128, "keys of %zu bytes",
                domain.attr().rkey_packed_size);
    }
}

/* Two interfaces in a process and two peers: four connections at once. */
void two_ifaces(Session &session)
{
    constexpr size_t kSize = 1 << 20;

    Channel channels[2] = {session.connection(), session.connection()};
    std::deque<Link> links;
    for (Channel &channel : channels) {
        links.emplace_back(channel, Link::Options{.memory = 2 * kSize});
    }
    uint64_t me = session.active();
    std::deque<StreamReceiver> receivers;
    std::deque<StreamSender> senders;
    std::deque<Op> ops;
    for (uint64_t i = 0; i < 2; ++i) {
        receivers.emplace_back(
            Stream::random(2 * i + 1 - me, links[i].iface()), links[i].iface(),
            1);
        fill(links[i].memory().data(), kSize, 2 * i + me);
    }
    links[0].meet();
    links[1].meet();
    auto wait = [&](auto &&done, const char *what) {
        links[0].worker().until(
            [&] {
                links[1].worker().progress();
                return done();
            },
            what);
    };
    for (uint64_t i = 0; i < 2; ++i) {
        links[i].ep().put_zcopy(links[i].memory().iov(0, kSize),
                                links[i].remote(), kSize, &ops.emplace_back());
        senders.emplace_back(Stream::random(2 * i + me, links[i].iface()),
                             links[i].ep(), 1);
        senders[i].send(500);
    }
    wait(
        [&] {
            return ops[0].done() && ops[1].done() &&
                   receivers[0].received() >= 500 &&
                   receivers[1].received() >= 500;
        },
        "traffic of two interfaces");
    for (uint64_t i = 0; i < 2; ++i) {
        REQUIRE(ops[i].ok(), "put: %s", ucs_status_string(ops[i].status()));
        receivers[i].require_good();
        senders[i].drain();
    }
    channels[0].send_mark(7);
    wait([&] { return channels[0].readable(); }, "the other side");
    channels[0].expect_mark(7);
    for (uint64_t i = 0; i < 2; ++i) {
        require_pattern(links[i].memory().at(kSize), kSize, 2 * i + 1 - me,
                        "put");
        receivers[i].expect(500);
    }
    channels[0].send_mark(8);
    wait([&] { return channels[0].readable(); }, "the other side");
    channels[0].expect_mark(8); /* left unread, it would reset the connection */
}

/* Which device is for whom. */
void reachability(Session &session, bool same_node)
{
    Channel channel = session.connection();
    Worker worker;
    for (const char *device : {"rails", "node", "self"}) {
        Domain domain = Domain::of_device(device);
        Iface iface(domain, worker, device);
        channel.send(iface.address().pack());
        Address peer = Address::unpack(channel.receive());
        auto reaches = [&](const Address &address) {
            return uct_iface_is_reachable(
                       iface.handle(),
                       reinterpret_cast<const uct_device_addr_t *>(
                           address.device.data()),
                       reinterpret_cast<const uct_iface_addr_t *>(
                           address.iface.data())) != 0;
        };
        std::string name = device;
        bool want        = name == "rails" ? !same_node :
                           name == "node"  ? same_node :
                                             false;
        REQUIRE(reaches(peer) == want, "device %s reaches the peer: %d",
                device, reaches(peer));
        /* One of them must, and only one, or UCP splits between them. */
        REQUIRE(reaches(iface.address()) == (name == "self"),
                "device %s reaches itself: %d", device,
                reaches(iface.address()));
        Iface neighbour(domain, worker, device);
        REQUIRE(reaches(neighbour.address()) == (name == "node"),
                "device %s reaches another interface of the process: %d",
                device, reaches(neighbour.address()));
        Address changed = peer;
        for (size_t i = 0; i < 3; ++i) { /* magic, version, kind */
            changed.device[i] ^= 1;
            REQUIRE(!reaches(changed), "device %s reaches a peer of another "
                    "kind or version", device);
            changed = peer;
        }
    }
    channel.send_mark(1);
    channel.expect_mark(1);
}

/* Addresses that are none are refused, not believed. */
void bad_addresses(Session &)
{
    Domain domain;
    Worker worker;
    Iface iface(domain, worker, "rails");
    Address good = iface.address();
    Random random(1);
    for (int i = 0; i < 200; ++i) {
        Address bad = good;
        fill(bad.iface.data(), bad.iface.size(), random.next());
        Endpoint::try_create(iface, bad);
    }
    Address none = good;
    std::fill(none.iface.begin(), none.iface.end(), 0);
    ucs_status_t status = Endpoint::try_create(iface, none);
    REQUIRE(UCS_STATUS_IS_ERR(status), "an empty address was accepted");
}

/* RDMA NICs 0 and 1, TCP NICs 4 and 5: all carry puts, and gets are done by
 * those that have them. */
void mixed(const std::vector<uint64_t> &bytes, const char *what)
{
    if (strcmp(what, "put") == 0) {
        shares(bytes, what);
    } else {
        only({1, 1})(bytes, what);
    }
}

Case make(const std::string &name, std::function<void(Session &)> both,
          std::vector<Setting> settings = {})
{
    return {name, both, both, settings};
}

/* Other versions of the protocol are part of it. */
Case make_reachability(const std::string &name, bool same_node)
{
    Case one = make(name, [same_node](Session &session) {
        reachability(session, same_node);
    });
    one.log = {{Side::Both, "speaks protocol version [0-9]+, this process "
                            "[0-9]+: not connected"}};
    return one;
}

Case make_transfer(const std::string &name, Check check,
                   std::vector<Setting> settings, size_t size = 8 << 20,
                   unsigned tries = 1)
{
    return make(name,
                [=](Session &session) { transfer(session, size, check, tries); },
                settings);
}

/* All NICs carry what `check` says of their shares. */
Case make_shares(const std::string &name, Check check,
                 std::vector<Setting> settings, size_t size)
{
    return make_transfer(name, check, std::move(settings), size, 6);
}

/* Who has not named his rails is told that the other has not as many. */
Case uneven(const std::string &name, Check check, Side told,
            std::vector<Setting> settings)
{
    Case one = make_transfer(name, check, std::move(settings), 4 << 20);
    one.log  = {{told, "this process has 4 rails .* and peer [0-9a-f]+ has 1 "}};
    return one;
}

std::string two_sockets()
{
    std::string here = __FILE__;
    return here.substr(0, here.rfind('/')) + "/../two-sockets.xml";
}

Setting both(const char *name, const char *value)
{
    return {Side::Both, std::string("UCX_FUSELINK_") + name, value};
}

} // namespace

std::vector<Case> rails_cases()
{
    const std::string devices = "UCX_FUSELINK_DEVICES";

    std::vector<Case> cases = {
        /* Every rail has its share, with the rates of whatever cluster. */
        make_shares("shares.finish", shares, {}, 24 << 20),
        make_shares("shares.by_ep", shares, {both("CONNECT", "ep")},
                      24 << 20),
        make_shares("native.shares", native_shares, {}, 16 << 20),
        make_shares("mixed.shares", mixed, {}, 16 << 20),
        /* One side sends its messages by TCP, the other one by RDMA. */
        make("mixed.other_lanes", [](Session &s) { works(s); },
             {{Side::Active, "UCX_FUSELINK_STANDBY",
               "rxe_h0n0:1,rxe_h0n1:1"}}),
        make_transfer("policy.single", one_nic, {both("SCHED", "single")}),
        make_transfer("policy.stripe", only({1, 1, 1, 1}),
                      {both("SCHED", "stripe")}),
        make("messages.spread",
             [](Session &s) { messages(s, only({1, 1, 1, 1})); },
             {both("SPREAD", "y")}),
        make("messages.one_nic", [](Session &s) { messages(s, one_nic); },
             {both("SPREAD", "n")}),
        /* The NICs are the limit here. */
        make("messages.spread_if_better",
             [](Session &s) { messages(s, only({1, 1, 1, 1})); }),
        make("messages.spread_works", [](Session &s) { works(s); },
             {both("SPREAD", "y")}),
        make("messages.spread_by_ep", [](Session &s) { works(s); },
             {both("SPREAD", "y"), both("CONNECT", "ep")}),
        make("connect_by_ep.works", [](Session &s) { works(s); },
             {both("CONNECT", "ep")}),
        make("chunks.small", [](Session &s) { works(s); },
             {both("MIN_CHUNK", "1"), both("MAX_CHUNK", "4k")}),
        make("chunks.large", [](Session &s) { works(s); },
             {both("MIN_CHUNK", "1m"), both("MAX_CHUNK", "64m")}),
        make("inline_get.none", [](Session &s) { works(s); },
             {both("INLINE_GET", "0")}),
        make("inline_get.most", [](Session &s) { works(s); },
             {both("INLINE_GET", "64k")}),
        make_transfer("devices.one", only({0, 0, 1, 0}),
                      {both("DEVICES", "nic2")}, 4 << 20),
        make_transfer("devices.except", only({1, 0, 1, 0}),
                      {both("DEVICES", "^nic1,nic3,mgmt0")}),
        /* What one side lacks, the other cannot use. */
        make_transfer("devices.differ", only({0, 1, 1, 0}),
                      {{Side::Active, devices, "nic0,nic1,nic2"},
                       {Side::Passive, devices, "nic1,nic2,nic3"}}),
        make_transfer("devices.other_order", only({1, 1, 1, 0}),
                      {{Side::Active, devices, "nic0,nic1,nic2"},
                       {Side::Passive, devices, "nic2,nic1,nic0"}}),
        uneven("devices.active_has_one", only({0, 1, 0, 0}), Side::Passive,
               {{Side::Active, devices, "nic1"},
                {Side::Passive, devices, "^mgmt0"}}),
        uneven("devices.passive_has_one", only({0, 0, 1, 0}), Side::Active,
               {{Side::Active, devices, "^mgmt0"},
                {Side::Passive, devices, "nic2"}}),
        /* With a bridge of containers, of the same address on both sides. */
        make_shares("bridge.left_out", shares, {both("DEVICES", "^mgmt0")},
                      24 << 20),
        make_transfer("bridge.named", only({1, 1, 0, 0}),
                      {both("DEVICES", "inner0,nic0,nic1")}),
        make("place.near", near_socket,
             {both("SCHED", "single"),
              {Side::Both, "HWLOC_XMLFILE", two_sockets()},
              {Side::Both, "HWLOC_THISSYSTEM", "1"}}),
        make("two_ifaces", two_ifaces),
        make_reachability("reachability.other_node", false),
        make_reachability("node.reachability", true),
        make("node.by_rails", [](Session &s) { works(s); },
             {both("NODE_LANES", "none")}),
        make("node.by_sysv", [](Session &s) { works(s, "node"); },
             {both("NODE_LANES", "sysv,cma")}),
        {"addresses.sizes", sizes, nullptr},
    };
    Case bad{"addresses.bad", bad_addresses, nullptr};
    bad.log = {{Side::Active, "fuselink: malformed interface address", 1, 300},
               {Side::Active, "no rail of this process reaches peer", 0, 10}};
    cases.push_back(bad);

    Case apart = make("devices.nothing_in_common", nothing_in_common,
                      {{Side::Active, devices, "nic0,nic1"},
                       {Side::Passive, devices, "nic2,nic3"}});
    /* TCP of later releases reaches its own subnet only, so that the passive
     * side hears of the other only with the earlier ones. */
    const char *says = "fuselink: no rail .* UCX_FUSELINK_DEVICES";
    unsigned    hears = UCT_VERNO_MINOR < 20 ? 1 : 0;
    apart.log = {{Side::Active, says, 1, 2}, {Side::Passive, says, hears, 2}};
    cases.push_back(apart);

    /* For a cluster of sixteen NICs. */
    cases.push_back(make("many_rails.works", [](Session &s) { works(s); }));
    cases.push_back(make_shares("many_rails.shares", shares, {}, 48 << 20));
    return cases;
}

} // namespace fltest
