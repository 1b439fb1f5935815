/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Active messages: every kind, every size, in order. */

#include "../stack/link.h"
#include "../stack/stream.h"
#include "cases.h"

#include <algorithm>

namespace fltest {
namespace {

using Kind = Shape::Kind;

/* Bodies around nothing and around a limit. */
std::vector<size_t> bodies_up_to(size_t most)
{
    std::vector<size_t> sizes;
    for (size_t size : {0, 1, 2, 7, 8, 9, 247, 248, 249, 255, 256, 257, 4095}) {
        sizes.push_back(size);
    }
    sizes.insert(sizes.end(), {most - 2, most - 1, most});
    std::erase_if(sizes, [&](size_t size) { return size > most; });
    return sizes;
}

std::vector<Shape> shapes_at_limits(const Iface &iface)
{
    const auto &am = iface.attr().cap.am;
    std::vector<Shape> shapes;
    for (size_t body : bodies_up_to(am.max_short - 8)) {
        shapes.push_back({Kind::Short, body});
        for (size_t pieces : {1, 2, 3}) {
            shapes.push_back({Kind::ShortIov, body, 8, pieces});
        }
    }
    for (size_t body : bodies_up_to(am.max_bcopy - 8)) {
        shapes.push_back({Kind::Bcopy, body});
    }
    if (!iface.has(UCT_IFACE_FLAG_AM_ZCOPY)) {
        return shapes;
    }
    REQUIRE(am.max_hdr >= 64 && am.max_iov >= 1,
            "am_zcopy with max_hdr=%zu, max_iov=%zu", am.max_hdr, am.max_iov);
    for (size_t header : {size_t{8}, size_t{9}, size_t{63}, am.max_hdr - 1,
                          am.max_hdr}) {
        for (size_t body : bodies_up_to(am.max_zcopy - 8)) {
            for (size_t pieces : {size_t{1}, size_t{2}, am.max_iov}) {
                if (8 + body >= header && pieces <= am.max_iov) {
                    shapes.push_back({Kind::Zcopy, body, header, pieces});
                }
            }
        }
    }
    return shapes;
}

/* Both sides send each shape, twice over. */
void sizes(Session &session, const char *device, uint8_t id)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device});
    std::vector<Shape> shapes = shapes_at_limits(link.iface());
    Stream stream(session.active() ? 1 : 2, [&](uint64_t number) {
        return shapes[number % shapes.size()];
    });
    Stream other(session.active() ? 2 : 1, [&](uint64_t number) {
        return shapes[number % shapes.size()];
    });
    StreamReceiver receiver(other, link.iface(), id);
    link.meet();
    StreamSender sender(stream, link.ep(), id);
    sender.send(2 * shapes.size());
    receiver.expect(2 * shapes.size());
    sender.drain();
    link.meet();
    receiver.expect(2 * shapes.size());
}

/* Many messages of all kinds, both ways at once, over `eps` endpoints to the
 * same peer, which keep their own order; with id `top` and those below it. */
void order(Session &session, const char *device, size_t eps, uint64_t count,
           uint8_t top)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device});
    std::vector<std::unique_ptr<Endpoint>> own;
    std::vector<std::unique_ptr<StreamSender>> senders;
    std::vector<std::unique_ptr<StreamReceiver>> receivers;
    for (size_t i = 0; i < eps; ++i) {
        auto id     = static_cast<uint8_t>(top - i);
        uint64_t me = session.active();
        own.push_back(link.another_ep());
        senders.push_back(std::make_unique<StreamSender>(
            Stream::random(2 * i + me, link.iface()), *own.back(), id));
        receivers.push_back(std::make_unique<StreamReceiver>(
            Stream::random(2 * i + 1 - me, link.iface()), link.iface(), id));
    }
    link.meet();
    Random random(session.active());
    for (uint64_t left = count * eps; left != 0;) {
        /* Bursts of one endpoint, then of another. */
        StreamSender &sender = *senders[random.below(eps)];
        uint64_t burst = std::min({left, random.between(1, 64),
                                   count - sender.sent()});
        sender.send(burst);
        left -= burst;
    }
    for (size_t i = 0; i < eps; ++i) {
        receivers[i]->expect(count);
        senders[i]->drain();
    }
    link.meet();
    for (size_t i = 0; i < eps; ++i) {
        receivers[i]->expect(count);
    }
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    Case test{name, both, both};
    return test;
}

} // namespace

std::vector<Case> am_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".am.";
        /* Ids that fuselink wraps, and others. */
        for (uint8_t id : {0, 28}) {
            std::string number = std::to_string(id);
            cases.push_back(make(prefix + "sizes.id" + number,
                                 [=](Session &s) { sizes(s, device, id); }));
        }
        for (uint8_t id : {1, 31}) {
            std::string number = std::to_string(id);
            cases.push_back(make(prefix + "order.id" + number,
                                 [=](Session &s) {
                order(s, device, 1, 100000, id);
            }));
        }
        cases.push_back(make(prefix + "order_of_three_eps", [=](Session &s) {
            order(s, device, 3, 10000, 30); /* 28 is not wrapped */
        }));
    }
    return cases;
}

} // namespace fltest
