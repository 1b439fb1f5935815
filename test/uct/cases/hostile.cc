/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Peers that send what no fuselink sends. */

#include "../stack/link.h"
#include "attacker.h"
#include "cases.h"

#include <cstddef>
#include <cstring>
#include <deque>
#include <unistd.h>

namespace fltest {
namespace {

constexpr size_t kSize = kAttackerSize;

/* What the attacker knows of the victim's memory: a key it was given. */
struct Known {
    uint64_t base;
    uint32_t id;
    uint64_t key;

    explicit Known(const Remote &remote) : base(remote.at(0))
    {
        /* The layout of a packed key: magic, version, 0, 0, id, key. */
        REQUIRE(remote.packed_key().size() == 16, "keys have %zu bytes",
                remote.packed_key().size());
        memcpy(&id, remote.packed_key().data() + 4, 4);
        memcpy(&key, remote.packed_key().data() + 8, 8);
    }
};

using Attack = std::function<void(Attacker &, const Known &)>;

/* The victim's memory must stay as it is, the attacker's must not get any of
 * it, and an honest peer must be served as well as ever. */
void attack(Session &session, Attack work)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kSize, .connect = false});
    fill(link.memory().data(), kSize, 3);
    if (!session.active()) {
        for (unsigned id = 0; id < UCT_AM_ID_MAX; ++id) {
            link.iface().on_message(static_cast<uint8_t>(id),
                                    [](void *, size_t, unsigned) {
                                        return UCS_OK;
                                    });
        }
        link.meet();
        /* Looks at the network so rarely that much is found each time. */
        for (int i = 0; i < 50; ++i) {
            usleep(3000);
            link.worker().progress();
        }
        link.meet();
        require_pattern(link.memory().data(), kSize, 3, "the victim's memory");
        link.meet();
        return;
    }
    link.meet();
    {
        Attacker attacker(link.worker(), link.peer_address());
        memset(attacker.memory().data(), 0, kSize);
        work(attacker, Known(link.remote()));
        attacker.finish();
        for (size_t i = 0; i < kSize; ++i) {
            REQUIRE(attacker.memory().at(i)[0] == 0,
                    "byte %zu of the attacker's memory was written", i);
        }
    }
    link.connect();
    Op get, small;
    memset(link.memory().data(), 0, kSize);
    link.ep().get_zcopy(link.memory().iov(0, kSize), link.remote(), 0, get);
    link.ep().finish(get, "an honest get");
    require_pattern(link.memory().data(), kSize, 3, "honest get");
    memset(link.memory().data(), 0, 100);
    link.ep().get_zcopy(link.memory().iov(0, 100), link.remote(), 0, small);
    link.ep().finish(small, "a small honest get");
    require_pattern(link.memory().data(), 100, 3, "small honest get");
    link.meet();
    link.meet();
}

/* --- attacks --- */

/* Too short for their type, unknown types, wrong versions. */
void malformed(Attacker &a, const Known &)
{
    Bytes zeros(64);
    for (RailAm id : {RailAm::User, RailAm::Control, RailAm::Chunk}) {
        for (size_t length = 0; length < sizeof(wire::ControlHeader);
             ++length) {
            a.send(Message().add(zeros.data(), length), id);
        }
    }
    wire::ControlHeader head = a.header(ControlType::Hello);
    head.version             = wire::kProtocolVersion + 1;
    a.send(Message(head));
    head        = a.header(ControlType::GetReq);
    head.sender = 0;
    a.send(Message(head));
    wire::UserHeader user{};
    user.am_id = UCT_AM_ID_MAX;
    a.send(Message(user), RailAm::User);
    user.am_id = 255;
    a.send(Message(user), RailAm::User);
    user.am_id = 1; /* of nobody */
    for (wire::Token token : {0, 1, 2, 3, 255, 65535}) {
        user.token = token;
        a.send(Message(user), RailAm::User);
    }
}

/* From a peer that said hello: each type with each length up to its own. */
void cut_short(Attacker &a, const Known &)
{
    a.send(a.hello());
    Bytes bytes(sizeof(wire::GetReq));
    for (unsigned type = 2; type < 20; ++type) {
        for (size_t length = sizeof(wire::ControlHeader);
             length <= bytes.size(); ++length) {
            Message message(a.header(static_cast<ControlType>(type)));
            message.add(bytes.data(), length - sizeof(wire::ControlHeader));
            a.send(message);
        }
    }
}

/* Tables of rails that are nonsense. */
void bad_hellos(Attacker &a, const Known &)
{
    Bytes whole = a.hello().bytes();
    for (size_t length = sizeof(wire::ControlHeader); length < whole.size();
         ++length) {
        a.send(Message().add(whole.data(), length));
    }
    Random random(1);
    for (int i = 0; i < 300; ++i) {
        Message message(wire::Hello{a.header(ControlType::Hello)});
        Bytes body(random.below(200));
        fill(body.data(), body.size(), random.next());
        if (body.size() > 8) {
            uint64_t uuid = a.uuid();
            memcpy(body.data(), &uuid, 8);
            body[8] = static_cast<uint8_t>(random.below(20));
        }
        a.send(message.add(body.data(), body.size()));
    }
    /* The victim's own name, and none. */
    wire::RailTable table = a.victims_table();
    a.send(a.hello_with(table));
    wire::Hello head{a.header(ControlType::Hello)};
    head.header.sender = table.uuid;
    std::vector<uint8_t> packed;
    wire::pack_rail_table(table, packed);
    a.send(Message(head).add(packed.data(), packed.size()));
    table.uuid  = a.uuid();
    auto one    = table.rails[0];
    table.rails = {one, one}; /* the same index twice */
    a.send(a.hello_with(table));
}

/* A good table whose rails nobody reaches, and addresses of wrong sizes. */
void unreachable_rails(Attacker &a, const Known &known)
{
    wire::RailRecord rail = a.victims_table().rails[0];
    rail.index            = 0;
    rail.tl_hash          = 0x1234;
    rail.name             = "a\nb\033[31m%s%n";
    a.send(a.hello_with({a.uuid(), {rail}}));
    /* Requests with a good key, which the victim cannot answer. */
    for (uint16_t flags : {uint16_t{0}, wire::kGetInline}) {
        wire::GetReq get{};
        get.header       = a.header(ControlType::GetReq);
        get.header.flags = flags;
        get.remote       = known.base;
        get.local        = reinterpret_cast<uint64_t>(a.memory().data());
        get.length       = 100;
        get.region_id    = known.id;
        get.region_key   = known.key;
        a.send(Message(get));
    }
    wire::Flush flush{};
    flush.header = a.header(ControlType::FlushReq);
    a.send(Message(flush));
    wire::RailAddr rail_address{};
    rail_address.header = a.header(ControlType::RailAddr);
    a.send(Message(rail_address));
}

/* Endpoint addresses for a rail whose address is of another kind than that of
 * the rail it is to be connected with, and longer. */
void foreign_rail_address(Attacker &a, const Known &)
{
    wire::RailTable table = a.own_table();
    wire::RailRecord rail = table.rails[0];
    rail.index            = 1;
    rail.net              = {};
    rail.device_address.assign(18, 0xee);
    rail.device_address[0] = 0;
    rail.device_address[1] = 10; /* AF_INET6 */
    table.rails.push_back(rail);
    a.send(a.hello_with(table));
    Bytes endpoint(10, 0x11);
    for (uint8_t i = 0; i < 8; ++i) {
        wire::RailAddr message{};
        message.header = a.header(ControlType::RailAddr);
        message.rail   = i % 4;
        message.from   = 1;
        message.length = static_cast<uint8_t>(endpoint.size());
        a.send(Message(message).add(endpoint.data(), endpoint.size()));
    }
}

/* Gets of what the key does not name, in every way to say it. */
void bad_gets(Attacker &a, const Known &known)
{
    a.send(a.hello());
    a.finish();
    struct {
        uint64_t remote, length;
        uint32_t id;
        uint64_t key;
    } const wishes[] = {
        {known.base, 100, known.id, known.key + 1},
        {known.base, 100, known.id, 0},
        {known.base, 100, known.id + 1, known.key},
        {known.base, 100, UINT32_MAX, known.key},
        {known.base, kSize + 1, known.id, known.key},
        {known.base + 1, kSize, known.id, known.key},
        {known.base - 1, 2, known.id, known.key},
        {known.base + kSize, 1, known.id, known.key},
        {known.base, UINT64_MAX, known.id, known.key},
        {known.base, UINT64_MAX - known.base, known.id, known.key},
        {UINT64_MAX, 2, known.id, known.key},
        {UINT64_MAX - 50, 100, known.id, known.key},
        {0, 100, known.id, known.key},
    };
    unsigned sent = 0;
    for (const auto &wish : wishes) {
        for (uint16_t flags : {uint16_t{0}, wire::kGetInline}) {
            wire::GetReq get{};
            get.header       = a.header(ControlType::GetReq);
            get.header.flags = flags;
            get.remote       = wish.remote;
            get.local        = reinterpret_cast<uint64_t>(a.memory().data());
            get.length       = wish.length;
            get.region_id    = wish.id;
            get.region_key   = wish.key;
            a.send(Message(get));
            ++sent;
        }
    }
    a.finish();
    REQUIRE(a.answers() == 0, "%u bad gets were answered with data",
            a.answers());
    REQUIRE(a.refusals() == sent, "%u of %u bad gets were refused",
            a.refusals(), sent);
}

/* A get of nothing must not stand in the way of others. */
void empty_gets(Attacker &a, const Known &known)
{
    a.send(a.hello());
    for (uint16_t flags : {uint16_t{0}, wire::kGetInline}) {
        wire::GetReq get{};
        get.header       = a.header(ControlType::GetReq);
        get.header.flags = flags;
        get.remote       = known.base;
        get.region_id    = known.id;
        get.region_key   = known.key;
        a.send(Message(get));
    }
    wire::GetReq good{};
    good.header       = a.header(ControlType::GetReq);
    good.header.flags = wire::kGetInline;
    good.remote       = known.base;
    good.length       = 100;
    good.region_id    = known.id;
    good.region_key   = known.key;
    a.send(Message(good));
    a.finish();
    REQUIRE(a.data().size() == 100, "a good get after empty ones brought %zu "
            "of 100 bytes", a.data().size());
    require_pattern(a.data().data(), 100, 3, "get");
}

void bad_puts(Attacker &a, const Known &known)
{
    a.send(a.hello());
    char data[64];
    memset(data, 0xee, sizeof(data));
    struct {
        uint64_t remote;
        uint32_t id;
        uint64_t key;
    } const wishes[] = {
        {known.base, known.id, known.key + 1},
        {known.base, known.id, 0},
        {known.base, known.id + 1, known.key},
        {known.base, UINT32_MAX, known.key},
        {known.base + kSize - 63, known.id, known.key},
        {known.base - 1, known.id, known.key},
        {UINT64_MAX - 10, known.id, known.key},
        {0, known.id, known.key},
    };
    for (const auto &wish : wishes) {
        wire::PutData put{};
        put.header     = a.header(ControlType::PutData);
        put.remote     = wish.remote;
        put.region_id  = wish.id;
        put.region_key = wish.key;
        a.send(Message(put).add(data, sizeof(data)));
    }
}

/* Answers to what was never asked, and addresses for rails that are not. */
void unasked_answers(Attacker &a, const Known &)
{
    a.send(a.hello());
    char data[64] = {};
    Random random(2);
    for (int i = 0; i < 500; ++i) {
        wire::OpId op{static_cast<uint32_t>(random.below(4)),
                      static_cast<uint32_t>(random.below(4))};
        if (i % 7 == 0) {
            op.slot = static_cast<uint32_t>(random.next());
        }
        wire::GetData get{a.header(ControlType::GetData), op,
                          random.below(2) ? 0 : random.next()};
        a.send(Message(get).add(data, random.below(sizeof(data))));
        wire::GetDone done{a.header(ControlType::GetDone), op,
                           static_cast<int32_t>(random.next()), 0};
        a.send(Message(done));
        wire::Flush ack{a.header(ControlType::FlushAck),
                        random.below(2) ? random.below(9) : random.next()};
        a.send(Message(ack));
        wire::ChunkLanded chunk{op, random.below(2) ? random.below(9) :
                                                      random.next()};
        a.send(Message(chunk), RailAm::Chunk);
        wire::RailAddr address{};
        address.header   = a.header(ControlType::RailAddr);
        address.rail     = static_cast<uint8_t>(random.below(20));
        address.from     = static_cast<uint8_t>(random.below(20));
        address.step     = 1;
        address.length   = static_cast<uint8_t>(random.below(64));
        a.send(Message(address).add(
            data, random.below(2) ? address.length : random.below(64)));
        wire::LoadAsk ask{};
        ask.header = a.header(ControlType::LoadAsk);
        wire::LoadGrant grant{};
        grant.header       = a.header(ControlType::LoadGrant);
        grant.rails        = static_cast<uint16_t>(random.next());
        grant.microseconds = static_cast<uint32_t>(random.next());
        for (size_t k = 0; k < wire::kLoads; ++k) {
            ask.load[k]   = static_cast<uint32_t>(random.next());
            grant.load[k] = static_cast<uint32_t>(random.next());
        }
        a.send(Message(grant));
        a.send(Message(ask));
    }
}

/* A session that the victim does not know, or that is over, is not served. */
void sessions(Attacker &a, const Known &)
{
    auto expect = [&](uint32_t session, unsigned acks, const char *what) {
        wire::Flush flush{};
        flush.header         = a.header(ControlType::FlushReq);
        flush.header.session = session;
        unsigned before      = a.acks();
        a.send(Message(flush));
        a.finish();
        a.finish();
        REQUIRE(a.acks() - before == acks, "%s: %u answers", what,
                a.acks() - before);
    };
    auto hello = [&](uint32_t session) {
        Message message = a.hello();
        memcpy(message.bytes().data() +
                   offsetof(wire::ControlHeader, session),
               &session, sizeof(session));
        a.send(message);
        a.finish();
    };
    auto goodbye = [&](uint32_t session, uint16_t flags) {
        wire::Goodbye message{};
        message.header         = a.header(ControlType::Goodbye);
        message.header.session = session;
        message.header.flags   = flags;
        message.status         = 5; /* no error */
        a.send(Message(message));
        a.finish();
    };
    hello(5);
    expect(5, 1, "the session of the hello");
    expect(4, 0, "an unknown session");
    hello(7);
    expect(7, 1, "a new session");
    expect(5, 0, "the session before");
    hello(5);
    expect(7, 1, "after a late hello");
    expect(5, 0, "the session of the late hello");
    goodbye(5, 0);
    goodbye(99, 0);
    expect(7, 1, "after goodbyes of others");
    goodbye(7, 0);
    expect(7, 0, "after goodbye");
    hello(9);
    expect(9, 1, "after another hello");
    goodbye(9, UINT16_MAX);
    expect(9, 0, "after a goodbye with all flags");
    /* More flags than there are, and a cancellation of what is not there. */
    wire::GetCancel cancel{a.header(ControlType::GetCancel), {1, 2}};
    cancel.header.session = 11;
    hello(11);
    a.send(Message(cancel));
    cancel.op = {UINT32_MAX, UINT32_MAX};
    a.send(Message(cancel));
    expect(11, 1, "after cancellations of nothing");
}

/* Good messages with bits flipped, never so many that the key comes out
 * right. */
void mutations(Attacker &a, const Known &known)
{
    a.send(a.hello());
    Random random(3);
    for (int i = 0; i < 4000; ++i) {
        Message message;
        switch (random.below(7)) {
        case 0:
            message = a.hello();
            break;
        case 1: {
            wire::GetReq get{};
            get.header     = a.header(ControlType::GetReq);
            get.local      = reinterpret_cast<uint64_t>(a.memory().data());
            get.remote     = known.base;
            get.length     = random.below(kSize);
            get.region_id  = known.id;
            get.region_key = ~known.key;
            message        = Message(get);
            break;
        }
        case 2: {
            wire::PutData put{};
            put.header     = a.header(ControlType::PutData);
            put.remote     = known.base;
            put.region_id  = known.id;
            put.region_key = ~known.key;
            message        = Message(put).add("abc", 3);
            break;
        }
        case 3: {
            wire::GetData data{a.header(ControlType::GetData), {0, 1}, 0};
            message = Message(data).add("abc", 3);
            break;
        }
        case 4: {
            wire::Flush flush{a.header(random.below(2) ?
                                           ControlType::FlushReq :
                                           ControlType::FlushAck),
                              random.next()};
            message = Message(flush);
            break;
        }
        case 5: {
            wire::RailAddr address{};
            address.header = a.header(ControlType::RailAddr);
            address.length = 20;
            message        = Message(address).add(
                "abcdefghijklmnopqrstuvwxyz", 20);
            break;
        }
        default: {
            wire::GetDone done{a.header(ControlType::GetDone), {0, 1}, -3, 0};
            message = Message(done);
        }
        }
        Bytes &bytes = message.bytes();
        for (uint64_t n = random.below(4); n != 0; --n) {
            /* Past the sender: another one would be another peer. */
            size_t at = random.below(bytes.size());
            if (at < 8 || at >= 16) {
                bytes[at] ^= static_cast<uint8_t>(1 << random.below(8));
            }
        }
        a.send(message);
    }
}

Case make(const std::string &name, Attack work, unsigned most_lines)
{
    auto both = [=](Session &session) { attack(session, work); };
    Case test{std::string("rails.hostile.") + name, both, both};
    /* What the victim may say: a line for a bad message, not a page, and with
     * nothing in it that the attacker wrote. Then the attacker ends without a word
     * on the one NIC that it has, which refuses to be connected to. */
    constexpr unsigned kGone = 3;
    test.log = {{Side::Passive, "UCX +(ERROR|WARN|DIAG) +[ -~]*$", 0,
                 most_lines + kGone}};
    return test;
}

} // namespace

std::vector<Case> hostile_cases()
{
    /* With the setting that lets such messages through. */
    Case by_ep     = make("foreign_rail_address_by_ep", foreign_rail_address, 4);
    by_ep.settings = {{Side::Both, "UCX_FUSELINK_CONNECT", "ep"}};
    return {
        by_ep,
        make("malformed", malformed, 76),
        make("cut_short", cut_short, 40),
        make("bad_hellos", bad_hellos, 500),
        make("unreachable_rails", unreachable_rails, 4),
        make("foreign_rail_address", foreign_rail_address, 4),
        make("bad_gets", bad_gets, 26),
        make("empty_gets", empty_gets, 2),
        make("bad_puts", bad_puts, 9),
        make("unasked_answers", unasked_answers, 8),
        make("sessions", sessions, 4),
        make("mutations", mutations, 4000),
    };
}

} // namespace fltest
