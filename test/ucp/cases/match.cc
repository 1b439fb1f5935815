/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Which receive gets which message: masks, and looking before receiving. */

#include "../stack/link.h"
#include "cases.h"

#include <algorithm>
#include <deque>

namespace fltest {
namespace {

constexpr size_t    kMessages = 60;
constexpr ucp_tag_t kLast     = ~ucp_tag_t{0};

struct Wish {
    ucp_tag_t tag;
    ucp_tag_t mask;

    bool fits(ucp_tag_t other) const { return ((tag ^ other) & mask) == 0; }
};

/* The sender's messages: few different tags, so that many fit a wish, and all
 * sizes of protocols. */
ucp_tag_t tag_of(size_t number)
{
    return Random(number).below(16);
}

size_t size_of(size_t number)
{
    constexpr size_t sizes[] = {0, 8, 300, 9000, 40000, 300000};
    return sizes[Random(number + 1000).below(std::size(sizes))];
}

Wish wish_of(size_t number)
{
    Random random(number + 2000);
    constexpr ucp_tag_t masks[] = {0, 1, 3, 8, 15, ~ucp_tag_t{0}};
    return {random.below(16), masks[random.below(std::size(masks))]};
}

void send_all(Link &link)
{
    std::deque<Buffer> buffers;
    std::vector<Request> sends;
    for (size_t i = 0; i < kMessages; ++i) {
        buffers.emplace_back(size_of(i)).write(mix(i));
        sends.push_back(link.ep().send(buffers[i], tag_of(i)));
    }
    Buffer last(1);
    last.write(0);
    sends.push_back(link.ep().send(last, kLast));
    link.worker().finish_all(sends, "send");
}

void await_last(Link &link)
{
    Buffer last(1);
    link.worker().finish(link.worker().receive(last, kLast), "last message");
}

/* A receive that has begun must get message `number`. */
void require_message(Link &link, const Request &receive, Buffer &buffer,
                     size_t number)
{
    link.worker().finish(receive, "receive");
    REQUIRE(receive.tag() == tag_of(number) &&
                receive.length() == size_of(number),
            "got a message with tag %lu of %zu bytes instead of number %zu "
            "with tag %lu of %zu bytes", receive.tag(), receive.length(),
            number, tag_of(number), size_of(number));
    buffer.require(mix(number), receive.length(), "message");
}

/* The messages are there before the first receive: each gets the oldest that
 * fits. */
void unexpected(Session &session)
{
    Link link(session, {});
    if (session.active()) {
        send_all(link);
        link.finish();
        return;
    }
    await_last(link);
    std::vector<size_t> left;
    for (size_t i = 0; i < kMessages; ++i) {
        left.push_back(i);
    }
    for (size_t w = 0; !left.empty(); ++w) {
        Wish wish = w < 200 ? wish_of(w) : Wish{0, 0};
        auto it   = std::find_if(left.begin(), left.end(), [&](size_t i) {
            return wish.fits(tag_of(i));
        });
        ucp_tag_recv_info_t info;
        ucp_tag_message_h found = link.worker().probe(wish.tag, wish.mask,
                                                      info);
        REQUIRE((found != nullptr) == (it != left.end()),
                "looking for tag %lu with mask %lx found %s", wish.tag,
                wish.mask, found ? "something" : "nothing");
        if (found == nullptr) {
            continue;
        }
        size_t number = *it;
        REQUIRE(info.sender_tag == tag_of(number) &&
                    info.length == size_of(number),
                "found tag %lu with %zu bytes instead of %lu with %zu",
                info.sender_tag, info.length, tag_of(number),
                size_of(number));
        left.erase(it);
        Buffer buffer(info.length, 1 + w % 3);
        /* Half of them are taken by looking: nobody else can get it. */
        Request receive;
        if (w % 2 != 0) {
            ucp_tag_message_h taken = link.worker().probe(wish.tag, wish.mask,
                                                          info, true);
            REQUIRE(taken != nullptr, "a message is gone");
            receive = link.worker().receive_probed(buffer, taken);
        } else {
            receive = link.worker().receive(buffer, wish.tag, wish.mask);
        }
        require_message(link, receive, buffer, number);
    }
    ucp_tag_recv_info_t info;
    REQUIRE(link.worker().probe(0, 0, info) == nullptr,
            "there is a message too many");
    link.finish();
}

/* The receives are there before the first message: each message goes to the
 * oldest that fits. */
void expected(Session &session)
{
    Link link(session, {});
    if (session.active()) {
        link.meet();
        send_all(link);
        link.finish();
        return;
    }
    struct Posted {
        Wish    wish;
        Buffer  buffer{300000};
        Request request{};
    };
    std::deque<Posted> posted;
    for (size_t w = 0; w < 40; ++w) {
        Posted &one = posted.emplace_back(wish_of(w));
        /* The last message is for nobody but await_last(). */
        if (one.wish.fits(kLast)) {
            one.wish.mask |= 1ul << 63;
        }
        one.request = link.worker().receive(one.buffer, one.wish.tag,
                                            one.wish.mask);
    }
    link.meet();
    std::vector<size_t> left;
    std::vector<bool> used(posted.size());
    for (size_t i = 0; i < kMessages; ++i) {
        size_t w = 0;
        while (w < posted.size() &&
               (used[w] || !posted[w].wish.fits(tag_of(i)))) {
            ++w;
        }
        if (w == posted.size()) {
            left.push_back(i);
            continue;
        }
        used[w] = true;
        require_message(link, posted[w].request, posted[w].buffer, i);
    }
    await_last(link);
    for (size_t number : left) {
        Buffer buffer(size_of(number));
        Request receive = link.worker().receive(buffer, 0, 0);
        require_message(link, receive, buffer, number);
    }
    for (size_t w = 0; w < posted.size(); ++w) {
        REQUIRE(posted[w].request.done() == used[w],
                "receive %zu got a message that it must not", w);
        if (!used[w]) {
            ucp_request_cancel(link.worker().handle(),
                               posted[w].request.handle());
            posted[w].buffer.require_untouched("receive without a message");
        }
    }
    link.finish();
}

} // namespace

std::vector<Case> match_cases()
{
    std::vector<Case> cases;
    for_engines(cases, "match.unexpected", unexpected);
    for_engines(cases, "match.expected", expected);
    return cases;
}

} // namespace fltest
