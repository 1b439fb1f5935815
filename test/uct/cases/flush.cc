/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* After a flush everything is where it belongs. */

#include "../stack/link.h"
#include "cases.h"

#include <deque>

namespace fltest {
namespace {

enum class How { Completion, Repeated, OfIface };

constexpr size_t   kArea   = 4 << 20;
constexpr uint64_t kRounds = 12;

void flush(Link &link, How how)
{
    switch (how) {
    case How::Completion: {
        Op op;
        link.ep().flush(op);
        link.ep().finish(op, "flush");
        break;
    }
    case How::Repeated:
        link.ep().flush_now();
        break;
    case How::OfIface: {
        ucs_status_t status = UCS_OK;
        link.worker().until(
            [&] {
                status = uct_iface_flush(link.iface().handle(), 0, nullptr);
                return status != UCS_INPROGRESS &&
                       status != UCS_ERR_NO_RESOURCE;
            },
            "flush of the interface");
        REQUIRE_OK(status);
        break;
    }
    }
}

/* Puts of all kinds, a flush, and word to the other side by other means: it
 * looks at its memory without another look at the network. */
void puts(Session &session, const char *device, How how)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device, .memory = 2 * kArea});
    bool small      = link.iface().has(UCT_IFACE_FLAG_PUT_SHORT);
    size_t shorts   = small ? link.iface().attr().cap.put.max_short : 0;
    for (uint64_t round = 0; round < kRounds; ++round) {
        Random random(round);
        /* Without large ones, a flush has only the small ones to wait for. */
        size_t large = small && round % 3 == 2 ? 0 : random.between(1, kArea);
        size_t at    = random.below(1000);
        if (!session.active()) {
            link.await_told();
            require_pattern(link.memory().at(at), large, round, "large put");
            require_pattern(link.memory().at(at + kArea), shorts, round + 1,
                            "small put");
            link.tell();
            continue;
        }
        Memory &memory = link.memory();
        std::deque<Op> ops;
        fill(memory.at(at), large, round);
        for (size_t from = 0; from < large; from += large / 3 + 1) {
            size_t length = std::min(large / 3 + 1, large - from);
            link.ep().put_zcopy(memory.iov(at + from, length), link.remote(),
                                at + from, &ops.emplace_back());
        }
        if (small) {
            fill(memory.at(at + kArea), shorts, round + 1);
            link.ep().put_short(memory.at(at + kArea), shorts / 2,
                                link.remote(), at + kArea);
            link.ep().put_bcopy(memory.at(at + kArea + shorts / 2),
                                shorts - shorts / 2, link.remote(),
                                at + kArea + shorts / 2);
        }
        flush(link, how);
        for (Op &op : ops) {
            REQUIRE(op.done(), "the flush ended before a put");
        }
        link.tell();
        link.await_told();
        for (Op &op : ops) {
            op.require_exact("put_zcopy");
        }
    }
    link.meet();
}

/* A flush waits for gets and for zero-copy messages, too. */
void gets_and_messages(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    uint64_t received = 0;
    link.iface().on_message(1, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    fill(link.memory().data(), kArea, 50 + session.active());
    link.meet();
    if (session.active()) {
        std::deque<Op> ops;
        uint64_t number = 0;
        for (size_t at = 0; at + 100000 < kArea; at += 100000) {
            link.ep().get_zcopy(link.memory().iov(kArea + at, 99999),
                                link.remote(), at, ops.emplace_back());
            link.ep().am_zcopy(1, &number, 8, {link.memory().iov(at, 500)},
                               ops.emplace_back());
            ++number;
        }
        Op first, second;
        link.ep().flush(first);
        link.ep().flush(second);
        link.ep().finish(first, "first of two flushes");
        for (Op &op : ops) {
            REQUIRE(op.done(), "the flush ended before an operation");
            link.ep().finish(op, "operation");
        }
        link.ep().finish(second, "second of two flushes");
        for (size_t at = 0; at + 100000 < kArea; at += 100000) {
            require_pattern(link.memory().at(kArea + at), 99999, 50, "get",
                            at);
        }
    }
    link.meet();
    REQUIRE(session.active() || received == (kArea - 1) / 100000,
            "%lu messages came", received);
}

/* A flush ends although more is begun all the time. */
void under_traffic(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kArea});
    if (!session.active()) {
        link.meet();
        return;
    }
    std::deque<Op> ops;
    auto keep_busy = [&] {
        size_t open = 0;
        for (Op &op : ops) {
            open += !op.done();
        }
        for (; open < 8; ++open) {
            link.ep().put_zcopy(link.memory().iov(0, 300000), link.remote(), 0,
                                &ops.emplace_back());
            char data[64] = {};
            link.ep().put_short(data, sizeof(data), link.remote(), 0);
        }
    };
    for (int i = 0; i < 10; ++i) {
        keep_busy();
        Op flush;
        link.ep().flush(flush);
        link.worker().until(
            [&] {
                keep_busy();
                return flush.done();
            },
            "a flush under traffic", 10);
        link.ep().finish(flush, "flush");
    }
    link.ep().flush_now();
    for (Op &op : ops) {
        link.ep().finish(op, "put");
    }
    link.meet();
}

/* With nothing to wait for a flush may end at once, but it ends. */
void idle(Session &session, const char *device)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device});
    if (!session.active()) {
        link.iface().on_message(1, [](void *, size_t, unsigned) {
            return UCS_OK;
        });
    }
    link.meet(); /* a message finds its handler */
    if (session.active()) {
        for (How how : {How::Completion, How::Repeated, How::OfIface}) {
            flush(link, how);
        }
        link.ep().fence();
        REQUIRE_OK(uct_iface_fence(link.iface().handle(), 0));
        link.ep().am_short(1, 0);
        for (How how : {How::Repeated, How::OfIface, How::Completion}) {
            flush(link, how);
        }
    }
    link.meet();
}

/* What the interface has sent as messages is on its way, though the other side's
 * program does not look at the network: that is all that its flush waits for. */
void messages_unseen(Session &session)
{
    constexpr uint64_t kLook = 7, kCount = 50;

    Channel channel = session.connection();
    Link link(channel, {});
    uint64_t received = 0;
    link.iface().on_message(1, [&](void *, size_t, unsigned) {
        ++received;
        return UCS_OK;
    });
    link.settle();
    if (!session.active()) {
        channel.expect_mark(kLook); /* looks at nothing meanwhile */
        link.worker().until([&] { return received == 3 * kCount; },
                            "the messages");
        link.meet();
        return;
    }
    std::deque<Op> ops;
    uint64_t number = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
        link.ep().am_short(1, 0);
        link.ep().am_bcopy(1, link.memory().data(), 500);
        link.ep().am_zcopy(1, &number, 8, {link.memory().iov(0, 500)},
                           ops.emplace_back());
    }
    flush(link, How::OfIface);
    for (Op &op : ops) {
        link.ep().finish(op, "am_zcopy");
    }
    channel.send_mark(kLook);
    link.meet();
}

/* After it the endpoints that there are can take messages: not even the first one
 * meets an endpoint that is not connected. */
void first_message(Session &session, const char *device)
{
    Channel channel = session.connection();
    for (uint64_t round = 0; round < 10; ++round) {
        Link link(channel, {.device = device});
        uint64_t received = 0;
        link.iface().on_message(1, [&](void *, size_t, unsigned) {
            ++received;
            return UCS_OK;
        });
        link.meet(); /* a message finds its handler */
        flush(link, How::OfIface);
        ssize_t sent = link.ep().try_am_bcopy(1, link.memory().data(), 100);
        REQUIRE(sent == 100, "the first message after the flush: %s",
                ucs_status_string(static_cast<ucs_status_t>(sent)));
        link.worker().until([&] { return received == 1; }, "the message");
        link.meet();
    }
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> flush_cases()
{
    struct {
        const char *name;
        How         how;
    } const ways[] = {{"with_completion", How::Completion},
                      {"without_completion", How::Repeated},
                      {"of_the_interface", How::OfIface}};

    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".flush.";
        for (const auto &way : ways) {
            cases.push_back(make(prefix + way.name, [=](Session &s) {
                puts(s, device, way.how);
            }));
        }
        cases.push_back(
            make(prefix + "idle", [=](Session &s) { idle(s, device); }));
        cases.push_back(make(prefix + "first_message", [=](Session &s) {
            first_message(s, device);
        }));
    }
    cases.push_back(make("rails.flush.gets_and_messages", gets_and_messages));
    cases.push_back(make("rails.flush.under_traffic", under_traffic));
    cases.push_back(make("rails.flush.messages_unseen", messages_unseen));
    return cases;
}

} // namespace fltest
