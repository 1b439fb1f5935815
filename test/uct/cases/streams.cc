/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* The connections below UCX's own tcp: what their kernel knows of them, and their end
 * by each side, while puts are under way. */

#include "../stack/endpoint.h"
#include "harness/pattern.h"
#include "cases.h"

#include <host/native_stream_control.h>

#include <cstring>
#include <memory>

namespace fltest {
namespace {

using fuselink::NativeStreamControl;
using fuselink::SocketAddress;
using fuselink::StreamState;

constexpr size_t kArea = 1 << 20;  /* what a kernel may hold */
constexpr size_t kLong = 64 << 20; /* more than all kernels hold */

/* One side: an interface of UCX's tcp on the first NIC. */
class Bare {
public:
    Bare(Session &session, size_t memory)
        : channel_(session.connection()), domain_("tcp"),
          iface_(domain_, worker_, "nic0", "tcp"), memory_(domain_, memory)
    {
        channel_.send(iface_.address().pack());
        peer_ = Address::unpack(channel_.receive());
        channel_.send(memory_.describe());
        remote_ = std::make_unique<Remote>(domain_, channel_.receive());
    }

    const Channel       &channel() const { return channel_; }
    Worker              &worker() { return worker_; }
    Iface               &iface() { return iface_; }
    Endpoint            &ep() { return *ep_; }
    Memory              &memory() { return memory_; }
    const Remote        &remote() const { return *remote_; }
    NativeStreamControl &streams() { return streams_; }

    void connect() { ep_ = std::make_unique<Endpoint>(iface_, peer_); }
    void disconnect() { ep_.reset(); }
    bool failed() { return iface_.errors().count(ep_->handle()) != 0; }

    StreamState state()
    {
        StreamState state;
        REQUIRE(streams_.look(ep_->handle(), state), "no socket");
        return state;
    }

    /* Where the connection begins here, and the same of the other side. */
    SocketAddress here()
    {
        SocketAddress here, there;
        REQUIRE(streams_.addresses(ep_->handle(), here, there), "no addresses");
        return here;
    }
    void tell(const SocketAddress &here)
    {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&here);
        channel_.send({bytes, bytes + sizeof(here)});
    }
    SocketAddress told()
    {
        const Bytes   said = channel_.receive();
        SocketAddress far;
        REQUIRE(said.size() == sizeof(far), "%zu bytes", said.size());
        memcpy(static_cast<void *>(&far), said.data(), sizeof(far));
        return far;
    }

    /* Progresses until the other side has said something, and is there too. */
    void meet() { worker_.meet(channel_, ++mark_); }
    /* Does not progress meanwhile. */
    void wait() { channel_.expect_mark(++mark_); }
    void go_on() { channel_.send_mark(++mark_); }

    /* One whole put, and what comes of it. */
    void put(size_t length)
    {
        Op op, flush;
        ep_->put_zcopy(memory_.iov(0, length), *remote_, 0, &op);
        ep_->finish(op, "a put");
        ep_->flush(flush);
        ep_->finish(flush, "a flush");
    }

private:
    Channel                   channel_;
    Domain                    domain_;
    Worker                    worker_;
    Iface                     iface_;
    Memory                    memory_;
    Address                   peer_;
    std::unique_ptr<Remote>   remote_;
    std::unique_ptr<Endpoint> ep_;
    NativeStreamControl       streams_;
    uint64_t                  mark_ = 0;
};

/* The side of the receiver: it reads a short put, and a long one only when it is told to. */
void receive(Bare &side, uint64_t seed)
{
    side.meet();
    side.meet();
    side.wait();
    side.meet();
    require_pattern(side.memory().data(), kLong, seed, "a put");
}

/* What the kernel says, with a receiver that reads and one that does not. */
void look(Session &session)
{
    Bare side(session, kLong);
    if (!session.active()) {
        receive(side, 11);
        side.meet();
        return;
    }
    fill(side.memory().data(), kLong, 11);
    side.meet();
    side.connect();
    side.put(kArea);
    StreamState state = side.state();
    REQUIRE(state.phase == StreamState::Phase::Established, "not established");
    REQUIRE(state.acked >= kArea && state.unacked.is_zero() &&
                state.segments == 0,
            "%lu bytes acknowledged, %lu not, %u segments", state.acked,
            state.unacked.count(), state.segments);
    REQUIRE(state.received > 0 && state.received < kArea, "%lu bytes came",
            state.received);
    REQUIRE(state.rtt.count() > 0 && state.timeout > state.rtt &&
                state.delivery > 0 && state.mss > 500,
            "round trip %ld, time-out %ld, %g bytes a second, mss %u",
            state.rtt.count(), state.timeout.count(), state.delivery,
            state.mss);
    REQUIRE(!state.window_shut() && state.retransmits == 0, "it does not go");
    SocketAddress here, there;
    REQUIRE(side.streams().addresses(side.ep().handle(), here, there),
            "no addresses");
    REQUIRE(here.family == 4 && there.family == 4 && here.ip != there.ip &&
                here.port != 0 && there.port != 0 && here.port != there.port,
            "%d:%u %d:%u", here.family, here.port, there.family, there.port);

    side.meet();
    Op op;
    side.ep().put_zcopy(side.memory().iov(0, kLong), side.remote(), 0, &op);
    side.worker().until([&] { return side.state().window_shut(); },
                        "the window that shuts");
    /* Its kernel answers on and on. */
    side.worker().until(
        [&] {
            state = side.state();
            return state.backoff > 1 && state.probes == 0;
        },
        "answers to probes");
    REQUIRE(state.phase == StreamState::Phase::Established &&
                state.retransmits == 0 && state.segments == 0 &&
                state.unacked == state.unsent,
            "%u retransmits, %u segments", state.retransmits, state.segments);
    side.go_on();
    Op flush;
    side.ep().finish(op, "a put");
    side.ep().flush(flush);
    side.ep().finish(flush, "a flush");
    REQUIRE(!side.state().window_shut(), "the window stays shut");
    side.meet();
    side.meet();
    side.disconnect();
}

/* What a kernel takes while the receiver does not read: few bytes if it was told so, but not
 * where the user has said how many; and more again. */
void bound(Session &session, bool users)
{
    constexpr size_t kFew = 128 << 10, kMost = 300'000; /* it counts what is around them */
    Bare side(session, kLong);
    if (!session.active()) {
        receive(side, 12);
        return;
    }
    fill(side.memory().data(), kLong, 12);
    side.meet();
    side.connect();
    side.put(kArea);
    side.meet();
    side.streams().bound(side.ep().handle(), fuselink::sched::Bytes(kFew));
    Op op, flush;
    side.ep().put_zcopy(side.memory().iov(0, kLong), side.remote(), 0, &op);
    side.worker().until([&] { return side.state().window_shut(); },
                        "the window that shuts");
    const size_t kept = side.state().unacked.count();
    REQUIRE((kept > kMost) == users, "the kernel keeps %zu bytes", kept);
    if (!users) {
        side.streams().bound(side.ep().handle(), fuselink::sched::Bytes::max());
        side.worker().until([&] { return side.state().unacked.count() > kMost; },
                            "the kernel that takes more");
    }
    side.go_on();
    side.ep().finish(op, "a put");
    side.ep().flush(flush);
    side.ep().finish(flush, "a flush");
    side.meet();
    side.disconnect();
}

/* In the middle of a put its sender ends it. */
void end(Session &session, bool progresses)
{
    Bare side(session, kLong);
    if (!session.active()) {
        side.meet();
        side.meet();
        side.meet();
        require_pattern(side.memory().data(), kArea, 13, "a put later");
        side.meet();
        return;
    }
    side.meet();
    side.connect();
    side.put(kArea);
    Op op, flush;
    const uint64_t before = side.state().acked;
    side.ep().put_zcopy(side.memory().iov(0, kLong), side.remote(), 0, &op);
    side.ep().flush(flush);
    side.worker().until([&] { return side.state().acked > before + kArea; },
                        "some of it");
    REQUIRE(!flush.done(), "too late");
    REQUIRE(side.streams().end(side.ep().handle(), true), "no socket");
    const StreamState state = side.state();
    REQUIRE(state.phase == StreamState::Phase::Closed &&
                state.unacked.is_zero(),
            "%lu bytes are left", state.unacked.count());
    if (progresses) {
        side.worker().until([&] { return side.failed(); }, "the error handler");
    }
    side.disconnect();
    REQUIRE(flush.calls() == 1 && flush.status() != UCS_OK,
            "%u completions of a flush, %s", flush.calls(),
            ucs_status_string(flush.status()));
    REQUIRE(op.done() && op.calls() <= 1, "the put has not ended");
    REQUIRE(side.iface().errors().size() == (progresses ? 1u : 0u),
            "%zu errors", side.iface().errors().size());
    side.meet();
    /* There may be another. */
    fill(side.memory().data(), kArea, 13);
    side.connect();
    side.put(kArea);
    side.meet();
    side.meet();
    side.disconnect();
}

/* One that does not carry anything yet is destroyed, that is all. */
void end_connecting(Session &session)
{
    Bare side(session, kArea);
    if (session.active()) {
        for (int i = 0; i < 50; ++i) {
            side.connect();
            for (int n = 0; n < i % 10; ++n) {
                side.worker().progress();
            }
            const bool ended = side.streams().end(side.ep().handle(), true);
            REQUIRE(i != 0 || !ended, "connected at once");
            for (int n = 0; n < i / 10; ++n) {
                side.worker().progress();
            }
            side.disconnect();
        }
        fill(side.memory().data(), kArea, 15);
        side.connect();
        side.put(kArea);
        side.meet();
        side.meet();
        side.disconnect();
        return;
    }
    side.meet();
    require_pattern(side.memory().data(), kArea, 15, "a put at last");
    side.meet();
}

/* With a link the other kernel hears of the end at once, and without one nothing is sent:
 * its connection is there until its own side ends it. */
void reset(Session &session, bool has_link)
{
    Bare side(session, kArea);
    if (session.active()) {
        side.meet();
        side.connect();
        side.put(8);
        side.meet();
        const SocketAddress here = side.here();
        REQUIRE(side.streams().end(side.ep().handle(), has_link), "no socket");
        side.disconnect();
        side.tell(here);
        side.meet();
        return;
    }
    side.meet();
    side.meet();
    const SocketAddress far = side.told();
    for (int i = 0; i < 1000; ++i) {
        side.worker().progress();
    }
    const unsigned left = side.streams().end_from(side.iface().handle(), far, has_link);
    REQUIRE(left == (has_link ? 0 : 1), "%u connections are left", left);
    side.meet();
}

enum class Moment { Unread, Reset, Begun };

/* The receiver ends what it has not read: nothing of it is written, not even when it
 * progresses on and on. */
void end_from(Session &session, Moment moment)
{
    const size_t length = moment == Moment::Begun ? kLong : kArea;
    Bare         side(session, length);
    Memory      &memory = side.memory();
    if (session.active()) {
        fill(memory.data(), length, 17);
        side.meet();
        side.connect();
        side.put(8);
        const SocketAddress here = side.here();
        side.meet();
        Op op;
        side.ep().put_zcopy(memory.iov(0, length), side.remote(), 0, &op);
        const uint64_t before = side.state().acked;
        if (moment != Moment::Begun) { /* their kernel has it */
            side.worker().until(
                [&] { return side.state().acked > before + kArea / 32; },
                "what the other kernel takes");
        }
        if (moment == Moment::Reset) { /* and has it still when it hears of that */
            REQUIRE(side.streams().end(side.ep().handle(), true), "no socket");
        }
        side.tell(here);
        side.worker().until([&] { return side.failed(); },
                            "the end of the connection");
        side.disconnect();
        REQUIRE(op.done(), "the put has not ended");
        side.meet();
        fill(memory.data(), length, 18);
        side.connect();
        side.put(length);
        side.meet();
        side.meet();
        side.disconnect();
        return;
    }
    side.meet();
    side.meet();
    if (moment == Moment::Begun) {
        side.worker().until([&] { return memory.data()[kArea] != 0; },
                            "some of the put");
    }
    const SocketAddress far = side.told();
    SocketAddress none = far;
    ++none.port;
    REQUIRE(side.streams().end_from(side.iface().handle(), none, true) == 0,
            "another has ended");
    const std::vector<char> then(memory.data(), memory.data() + length);
    REQUIRE(memory.data()[length - 1] == 0, "too late: all of it has come");
    REQUIRE(side.streams().end_from(side.iface().handle(), far, true) == 1,
            "none has ended");
    side.meet();
    REQUIRE(side.streams().end_from(side.iface().handle(), far, true) == 0,
            "it is there still");
    REQUIRE(memcmp(memory.data(), then.data(), length) == 0,
            "something was written after the end");
    side.meet();
    require_pattern(memory.data(), length, 18, "a put later");
    side.meet();
}

/* One connection for both directions, with puts both ways: one side ends its own, the
 * other ends what comes from there, which has an endpoint of its own. */
void both_ways(Session &session)
{
    Bare side(session, 2 * kLong);
    side.meet();
    if (session.active()) {
        side.connect();
        side.put(8);
    }
    side.meet();
    if (!session.active()) {
        side.connect();
        side.put(8);
    }
    side.meet();
    SocketAddress here, there;
    REQUIRE(side.streams().addresses(side.ep().handle(), here, there),
            "no addresses");
    side.tell(here);
    const SocketAddress far = side.told();
    REQUIRE(there == far, "two connections");
    Op             op, flush;
    const uint64_t before = side.state().received;
    side.ep().put_zcopy(side.memory().iov(0, kLong), side.remote(), kLong, &op);
    side.ep().flush(flush);
    side.worker().until([&] { return side.state().received > before + kArea; },
                        "some of the other's");
    side.meet();
    REQUIRE(!flush.done(), "too late");
    if (session.active()) {
        REQUIRE(side.streams().end(side.ep().handle(), true), "no socket");
        side.disconnect();
        side.go_on();
    } else {
        side.wait();
        REQUIRE(side.streams().end_from(side.iface().handle(), far, true) <= 1,
                "more than one");
        side.worker().until([&] { return side.failed(); },
                            "the error handler");
        side.disconnect();
        REQUIRE(side.streams().end_from(side.iface().handle(), far, true) == 0,
                "it is there still");
    }
    REQUIRE(op.done() && flush.calls() == 1 && flush.status() != UCS_OK,
            "the put goes on");
    side.iface().forget_errors();
    side.meet();
    const std::vector<char> then(side.memory().at(kLong),
                                 side.memory().at(2 * kLong));
    side.meet();
    REQUIRE(memcmp(side.memory().at(kLong), then.data(), kLong) == 0,
            "something was written after the end");
    if (session.active()) {
        fill(side.memory().data(), kArea, 19);
        side.connect();
        side.put(kArea);
        side.meet();
        side.meet();
        side.disconnect();
    } else {
        side.meet();
        require_pattern(side.memory().data(), kArea, 19, "a put later");
        side.meet();
    }
}

/* Of another transport there is nothing. */
void no_stream(Session &)
{
    Domain              domain("self");
    Worker              worker;
    Iface               iface(domain, worker, "memory", "self");
    Endpoint            ep(iface, iface.address());
    NativeStreamControl streams;
    StreamState         state;
    SocketAddress       here, there;
    REQUIRE(!streams.look(ep.handle(), state) && !streams.end(ep.handle(), true) &&
                !streams.discard(ep.handle()) &&
                !streams.addresses(ep.handle(), here, there) &&
                streams.end_from(iface.handle(), here, true) == 0,
            "self has a socket");
}

Case make(std::string name, std::function<void(Session &)> body,
          std::vector<Setting> settings = {})
{
    Case test{std::move(name), body, body};
    test.settings = std::move(settings);
    return test;
}

} // namespace

std::vector<Case> stream_cases()
{
    const auto ends = [](bool progresses) {
        return [=](Session &s) { end(s, progresses); };
    };
    const auto from = [](Moment moment) {
        return [=](Session &s) { end_from(s, moment); };
    };
    /* As fuselink has it. */
    const std::vector<Setting> rail = {
        {Side::Both, "UCX_TCP_MAX_POLL", "1"},
        {Side::Both, "UCX_TCP_CONN_NB", "y"}};
    const auto told   = [](Session &s) { reset(s, true); };
    const auto untold = [](Session &s) { reset(s, false); };
    const auto few = [](Session &s) { bound(s, false); };
    const auto own = [](Session &s) { bound(s, true); };
    Case alone{"streams.none", no_stream, nullptr};
    return {make("streams.look", look),
            make("streams.bound", few),
            make("streams.bound_by_user", own, {{Side::Both, "UCX_TCP_SNDBUF", "1m"}}),
            make("streams.end.reported", ends(true), rail),
            make("streams.end.destroyed", ends(false), rail),
            make("streams.end.connecting", end_connecting, rail),
            make("streams.end.with_link", told, rail),
            make("streams.end.without_link", untold, rail),
            make("streams.end_from.unread", from(Moment::Unread)),
            make("streams.end_from.unread_one_event", from(Moment::Unread), rail),
            make("streams.end_from.reset", from(Moment::Reset), rail),
            make("streams.end_from.begun", from(Moment::Begun)),
            make("streams.end_from.begun_one_event", from(Moment::Begun), rail),
            make("streams.both_ways", both_ways, rail),
            alone};
}

} // namespace fltest
