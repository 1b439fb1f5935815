/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* A connection for bulk data breaks in the middle of its work: nothing is lost,
 * the others carry on, and its NIC is used again. */

#include "harness/nics.h"
#include "harness/sockets.h"
#include "../stack/link.h"
#include "../stack/stream.h"
#include "cases.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace fltest {
namespace {

constexpr size_t kArea = 16 << 20;
/* What a connection has carried that is not one for messages. */
constexpr uint64_t kBulk = 1 << 20;

enum class Way { Put, Get };
enum class Cut { One, All };

/* Breaks connections that have been at work. */
class Cutter {
public:
    explicit Cutter(Cut cut) : cut_(cut) {}

    /** Call it again and again. */
    void step()
    {
        if (done_) {
            return;
        }
        auto sockets = bulk_sockets(kBulk);
        if (sockets.size() < (cut_ == Cut::All ? nic_shares().size() : 1)) {
            return;
        }
        for (const Socket &socket : sockets) {
            socket.reset();
            if (cut_ == Cut::One) {
                break;
            }
        }
        done_ = true;
    }
    bool done() const { return done_; }

private:
    Cut  cut_;
    bool done_ = false;
};

/* Both sides say a number and hear the other's. */
uint64_t exchange(Link &link, uint64_t number)
{
    link.channel().send_mark(number);
    link.worker().until([&] { return link.channel().readable(); },
                        "the other side");
    Bytes    bytes = link.channel().receive();
    uint64_t other = 0;
    REQUIRE(bytes.size() == sizeof(other), "no number");
    memcpy(&other, bytes.data(), sizeof(other));
    return other;
}

/* Transfers go on until a connection has broken in one, and then until all NICs
 * carry data again. */
void broken(Session &session, Way way, Cut cut)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    const uint64_t me    = session.active();
    const bool     sends = session.active() == (way == Way::Put);
    link.settle();
    Cutter cutter(cut);
    bool   was_cut = false, again = false;
    for (unsigned round = 0; !again; ++round) {
        REQUIRE(round < 300, "not all NICs are used again");
        fill(link.memory().data(), kArea, 2 * round + me);
        link.meet();
        NicBytes count;
        Op       op;
        if (session.active() && way == Way::Put) {
            link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(),
                                kArea, &op);
        } else if (session.active()) {
            link.ep().get_zcopy(link.memory().iov(kArea, kArea), link.remote(),
                                0, op);
        }
        link.worker().until(
            [&] {
                if (!sends) {
                    cutter.step();
                }
                return session.active() ? op.done() : channel.readable();
            },
            "the end of a transfer");
        if (session.active()) {
            link.ep().finish(op, "transfer");
            link.tell();
        } else {
            link.await_told();
        }
        if (sends) {
            const auto sent = count.sent();
            again = was_cut &&
                    std::all_of(sent.begin(), sent.end(), [&](uint64_t bytes) {
                        return bytes > kArea / sent.size() / 3;
                    });
            was_cut = exchange(link, again) != 0;
        } else {
            require_pattern(link.memory().at(kArea), kArea, 2 * round + 1 - me,
                            "data");
            again = exchange(link, cutter.done()) != 0;
        }
    }
    link.meet();
}

/* Connections break again and again under everything at once. */
void storm(Session &session)
{
    constexpr unsigned kRounds = 12, kOps = 4;
    constexpr size_t   kSize   = 4 << 20;
    Channel channel = session.connection();
    Link link(channel, {.memory = 3 * kOps * kSize});
    uint64_t me = session.active();
    /* In all less than kBulk. */
    auto shape_of = [](uint64_t) { return Shape{Shape::Kind::Bcopy, 500}; };
    StreamReceiver receiver(Stream(1 - me, shape_of), link.iface(), 1);
    link.settle();
    StreamSender sender(Stream(me, shape_of), link.ep(), 1);
    Random random(me + 5);
    for (unsigned round = 0; round < kRounds; ++round) {
        fill(link.memory().data(), kOps * kSize, 2 * round + me);
        memset(link.memory().at(kOps * kSize), 0, 2 * kOps * kSize);
        link.meet();
        std::deque<Op> ops;
        auto at = [&](unsigned i) { return i * kSize; };
        for (unsigned i = 0; i < kOps; ++i) {
            link.ep().put_zcopy(link.memory().iov(at(i), kSize), link.remote(),
                                at(kOps + i), &ops.emplace_back());
            link.ep().get_zcopy(link.memory().iov(at(2 * kOps + i), kSize),
                                link.remote(), at(i), ops.emplace_back());
            sender.send(20);
            if (i == 1) {
                link.ep().fence();
            }
        }
        uint64_t wait = random.below(40);
        link.worker().for_seconds(static_cast<double>(wait) / 1000);
        auto sockets = bulk_sockets(kBulk);
        if (!sockets.empty()) {
            sockets[random.below(sockets.size())].reset();
        }
        for (Op &op : ops) {
            link.ep().finish(op, "operation");
        }
        Op flush;
        link.ep().flush(flush);
        link.ep().finish(flush, "flush");
        link.meet();
        require_pattern(link.memory().at(at(kOps)), kOps * kSize,
                        2 * round + 1 - me, "put");
        require_pattern(link.memory().at(at(2 * kOps)), kOps * kSize,
                        2 * round + 1 - me, "get");
    }
    receiver.expect(kRounds * kOps * 20);
    sender.drain();
    link.meet();
}

Case make(std::string name, Side warns, unsigned least, unsigned most,
          std::function<void(Session &)> body)
{
    Case test{std::move(name), body, body};
    test.log = {{warns, "rail tcp/nic[0-9]+ to tcp/nic[0-9]+ of peer "
                        "[0-9a-f]+ has failed .Connection reset by remote peer.",
                 least, most},
                {Side::Both, "rail .* carries data again", 0, most}};
    return test;
}

} // namespace

std::vector<Case> mend_cases()
{
    auto with = [](Way way, Cut cut) {
        return [=](Session &s) { broken(s, way, cut); };
    };
    std::vector<Case> cases = {
        make("rails.mend.put", Side::Active, 1, 1, with(Way::Put, Cut::One)),
        make("rails.mend.get", Side::Passive, 1, 1, with(Way::Get, Cut::One)),
        make("rails.mend.all.put", Side::Active, 1, 16,
             with(Way::Put, Cut::All)),
        make("rails.mend.all.get", Side::Passive, 1, 16,
             with(Way::Get, Cut::All)),
        make("rails.mend.storm", Side::Both, 1, 12, storm),
    };
    return cases;
}

} // namespace fltest
