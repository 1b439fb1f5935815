/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Back-pressure: what UCT's pending queue promises. */

#include "../stack/link.h"
#include "cases.h"

#include <cstring>
#include <deque>

namespace fltest {
namespace {

constexpr uint8_t kId   = 3;
constexpr size_t  kBody = 1000;

/* Numbered messages through a lane that is full. */
class Crowd {
public:
    explicit Crowd(Endpoint &ep) : ep_(ep) {}

    /* A request sends this many messages, one a call. */
    struct Request {
        uct_pending_req_t req; /* first: UCX gives back a pointer to it */
        Crowd            *crowd;
        uint64_t          number;
        unsigned          parts;
        unsigned          calls_after_end = 0;
    };

    ucs_status_t try_send()
    {
        memcpy(body_, &next_, 8);
        fill(body_ + 8, kBody, next_);
        ssize_t sent = ep_.try_am_bcopy(kId, body_, sizeof(body_));
        next_ += sent >= 0;
        return sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
    }

    /* Sends until the lane has had no room for a while. */
    void fill_lane()
    {
        using Clock = std::chrono::steady_clock;
        auto last   = Clock::now();
        while (Clock::now() - last < std::chrono::milliseconds(150)) {
            ucs_status_t status = try_send();
            if (status == UCS_OK) {
                last = Clock::now();
                continue;
            }
            REQUIRE(status == UCS_ERR_NO_RESOURCE, "am_bcopy: %s",
                    ucs_status_string(status));
            ep_.iface().worker().progress();
        }
        REQUIRE(next_ > 10, "only %lu messages fit", next_);
    }

    void add(unsigned parts = 1)
    {
        Request &request = requests_.emplace_back();
        request.req.func = dispatch;
        request.crowd    = this;
        request.number   = requests_.size() - 1;
        request.parts    = parts;
        ucs_status_t status = uct_ep_pending_add(ep_.handle(), &request.req, 0);
        REQUIRE(status == UCS_OK, "pending_add on a full lane: %s",
                ucs_status_string(status));
    }

    /* Purges the queue; returns how many requests came back, in order. */
    uint64_t purge()
    {
        struct State {
            Crowd   *crowd;
            uint64_t count;
            bool     good;
        } state{this, 0, true};
        uct_ep_pending_purge(
            ep_.handle(),
            [](uct_pending_req_t *req, void *arg) {
                auto *state   = static_cast<State *>(arg);
                auto *request = reinterpret_cast<Request *>(req);
                state->good &= request->number ==
                               state->crowd->dispatched_ + state->count;
                ++state->count;
            },
            &state);
        REQUIRE(state.good, "requests were purged out of order");
        return state.count;
    }

    void require_good() const { REQUIRE(wrong_.empty(), "%s", wrong_.c_str()); }

    uint64_t sent() const { return next_; }
    uint64_t dispatched() const { return dispatched_; }
    uint64_t added() const { return requests_.size(); }

private:
    static ucs_status_t dispatch(uct_pending_req_t *req)
    {
        auto *request = reinterpret_cast<Request *>(req);
        Crowd *crowd  = request->crowd;
        if (request->number != crowd->dispatched_ || request->parts == 0) {
            crowd->wrong_ = format("request %lu called when %lu was due",
                                   request->number, crowd->dispatched_);
            return UCS_OK;
        }
        ucs_status_t status = crowd->try_send();
        if (status != UCS_OK) {
            return status;
        }
        if (--request->parts != 0) {
            return UCS_INPROGRESS;
        }
        ++crowd->dispatched_;
        return UCS_OK;
    }

    Endpoint           &ep_;
    std::deque<Request> requests_; /* addresses stay */
    uint64_t            next_       = 0;
    uint64_t            dispatched_ = 0;
    std::string         wrong_;
    char                body_[8 + kBody];
};

/* Counts the crowd's messages; several crowds may be told apart by nothing but
 * their order, so a case with two of them uses `ordered` = false. */
class Audience {
public:
    Audience(Iface &iface, bool ordered)
    {
        iface.on_message(kId, [=, this](void *data, size_t length, unsigned) {
            uint64_t number;
            memcpy(&number, data, 8);
            if (length != 8 + kBody ||
                mismatch(static_cast<char *>(data) + 8, kBody, number) >= 0) {
                wrong_ = format("message %lu is wrong", received_);
            } else if (ordered && number != received_) {
                wrong_ = format("message %lu came where %lu was due", number,
                                received_);
            }
            ++received_;
            return UCS_OK;
        });
    }
    Audience(const Audience &)            = delete;
    Audience &operator=(const Audience &) = delete;

    void expect(Link &link, uint64_t count)
    {
        link.worker().until(
            [&] { return received_ >= count || !wrong_.empty(); }, "messages");
        link.worker().for_seconds(0.05);
        REQUIRE(wrong_.empty(), "%s", wrong_.c_str());
        REQUIRE(received_ == count, "%lu messages came, not %lu", received_,
                count);
    }

private:
    uint64_t    received_ = 0;
    std::string wrong_;
};

/* The passive side: sleeps until the lane is full, then takes all. */
void listen(Session &session, const char *device, bool ordered)
{
    Channel channel = session.connection();
    Link link(channel, {.device = device});
    Audience audience(link.iface(), ordered);
    link.settle();
    /* Not a progress call until the active side says so. */
    channel.expect_mark(1);
    uint64_t count;
    memcpy(&count, channel.receive().data(), sizeof(count));
    audience.expect(link, count);
    link.meet();
}

void announce(const Channel &channel, uint64_t count)
{
    Bytes text(sizeof(count));
    memcpy(text.data(), &count, sizeof(count));
    channel.send_mark(1);
    channel.send(text);
}

/* All requests are dispatched, each once, in the order they were added. */
void dispatch(Session &session, const char *device)
{
    constexpr uint64_t kRequests = 2000;

    Channel channel = session.connection();
    Link link(channel, {.device = device});
    Crowd crowd(link.ep());
    link.settle();
    crowd.fill_lane();
    uint64_t parts = 0;
    for (uint64_t i = 0; i < kRequests; ++i) {
        unsigned n = i % 10 == 0 ? 3 : 1;
        crowd.add(n);
        parts += n;
    }
    REQUIRE(crowd.dispatched() == 0, "a request was dispatched without room");
    announce(channel, crowd.sent() + parts);
    link.worker().until([&] { return crowd.dispatched() == kRequests; },
                        "the pending requests");
    link.worker().for_seconds(0.05);
    crowd.require_good();

    /* With room, a request is refused: its owner can send at once. */
    link.ep().flush_now();
    uct_pending_req_t request{};
    request.func        = [](uct_pending_req_t *) { return UCS_OK; };
    ucs_status_t status = uct_ep_pending_add(link.ep().handle(), &request, 0);
    REQUIRE(status == UCS_ERR_BUSY, "pending_add with room: %s, want %s",
            ucs_status_string(status), ucs_status_string(UCS_ERR_BUSY));
    link.meet();
}

/* Endpoints of one peer share its lane; none of them is forgotten. */
void several_eps(Session &session, const char *device)
{
    constexpr uint64_t kRequests = 200;

    Channel channel = session.connection();
    Link link(channel, {.device = device});
    std::vector<std::unique_ptr<Endpoint>> eps;
    std::deque<Crowd> crowds;
    for (size_t i = 0; i < 4; ++i) {
        eps.push_back(link.another_ep());
        crowds.emplace_back(*eps.back());
    }
    link.settle();
    crowds[0].fill_lane();
    uint64_t total = crowds[0].sent();
    for (uint64_t i = 0; i < kRequests; ++i) {
        for (Crowd &crowd : crowds) {
            crowd.add();
            ++total;
        }
    }
    /* One leaves while the others wait. */
    total -= crowds[2].purge();
    eps[2].reset();
    announce(channel, total);
    for (size_t i : {0, 1, 3}) {
        link.worker().until(
            [&] { return crowds[i].dispatched() == kRequests; },
            format("requests of endpoint %zu", i).c_str());
        crowds[i].require_good();
    }
    link.meet();
}

void purge(Session &session, const char *device)
{
    constexpr uint64_t kRequests = 300;

    Channel channel = session.connection();
    Link link(channel, {.device = device});
    Crowd crowd(link.ep());
    link.settle();
    crowd.fill_lane();
    for (uint64_t i = 0; i < kRequests; ++i) {
        crowd.add();
    }
    uint64_t purged = crowd.purge();
    REQUIRE(purged == kRequests, "%lu of %lu requests came back", purged,
            kRequests);
    REQUIRE(crowd.purge() == 0, "requests came back twice");
    announce(channel, crowd.sent() + 1);
    link.worker().until([&] { return crowd.try_send() == UCS_OK; }, "room");
    link.worker().for_seconds(0.2);
    REQUIRE(crowd.dispatched() == 0, "a purged request was dispatched");
    link.meet();
}

/* A request that had to wait for a fence, not for room. */
void after_fence(Session &session)
{
    constexpr size_t kLength = 4 << 20;

    Channel channel = session.connection();
    Link link(channel, {.memory = kLength});
    if (!session.active()) {
        bool come  = false;
        ptrdiff_t at = 0;
        link.iface().on_message(kId, [&](void *, size_t, unsigned) {
            come = true;
            at   = mismatch(link.memory().data(), kLength, 7);
            return UCS_OK;
        });
        link.worker().until([&] { return come; }, "the message");
        REQUIRE(at < 0, "the message came before byte %td of the put", at);
        link.meet();
        return;
    }
    fill(link.memory().data(), kLength, 7);
    Op put;
    link.ep().put_zcopy(link.memory().iov(0, kLength), link.remote(), 0, &put);
    link.ep().fence();
    Crowd crowd(link.ep());
    REQUIRE(crowd.try_send() == UCS_ERR_NO_RESOURCE,
            "a message went out at once, before the put had landed");
    crowd.add();
    link.worker().until([&] { return crowd.dispatched() == 1; },
                        "the request behind the fence");
    REQUIRE(put.done(), "the message went out before the put had completed");
    link.meet();
}

} // namespace

std::vector<Case> pending_cases()
{
    std::vector<Case> cases;
    for (const char *device : {"rails", "node"}) {
        std::string prefix = std::string(device) + ".pending.";
        cases.push_back({prefix + "dispatch",
                         [=](Session &s) { dispatch(s, device); },
                         [=](Session &s) { listen(s, device, true); }});
        cases.push_back({prefix + "several_eps",
                         [=](Session &s) { several_eps(s, device); },
                         [=](Session &s) { listen(s, device, false); }});
        cases.push_back({prefix + "purge",
                         [=](Session &s) { purge(s, device); },
                         [=](Session &s) { listen(s, device, true); }});
    }
    cases.push_back({"rails.pending.after_fence", after_fence, after_fence});
    return cases;
}

} // namespace fltest
