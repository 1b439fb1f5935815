/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "session.h"

#include "../fabric/carrier.h"
#include "../fabric/stream.h"
#include "../uct/memory.h"
#include "bare.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <poll.h>

namespace fuselink::sim {
namespace {

constexpr size_t kArena = 256 << 10;

/* Longer than anything takes here but a connection that is given up. */
constexpr Instant kLong = 2 * kSecond;

void register_once()
{
    static bool registered = false;
    if (!registered) {
        registered = true;
        register_component();
    }
}

class Session {
public:
    Session(uint64_t seed, StreamCounts &counts)
        : counts_(counts), chance_(seed, 11), profile_(draw(chance_)),
          world_(seed, profile_)
    {
        World::current = &world_;
    }

    std::vector<std::string> go();

private:
    static Profile draw(Random &chance)
    {
        Profile profile;
        profile.send_buffer    = size_t{1} << chance.between(12, 18);
        profile.receive_buffer = size_t{1} << chance.between(12, 18);
        profile.segment        = size_t{1} << chance.between(10, 13);
        return profile;
    }

    void build();
    void check_addresses();
    void check_going();
    void check_shut();
    void check_silent();
    void check_carrier();
    void end_it();
    void check_after();
    void check_left_over();

    /* Both programs run, or the sender alone, until it is so, or for so long. */
    template <typename Done> bool until(Instant time, bool both, Done &&done)
    {
        const Instant end = world_.time().now() + time;
        while (!done()) {
            if (world_.time().now() > end) {
                return false;
            }
            sender_->progress();
            if (both) {
                receiver_->progress();
            }
            world_.time().pass(static_cast<Instant>(chance_.scaled(
                100, std::max(20 * kMicrosecond, time / 2000))));
        }
        return true;
    }
    void pass(Instant time, bool both)
    {
        until(time, both, [] { return false; });
    }
    StreamState look()
    {
        StreamState state;
        expect(sender_->streams.look(sender_->ep(), state), "no socket");
        return state;
    }
    void expect(bool what, const char *else_what)
    {
        if (!what) {
            world_.journal().violate(else_what);
        }
    }
    bool well() { return world_.journal().violations().empty(); }

    StreamCounts         &counts_;
    Random                chance_;
    const Profile         profile_;
    World                 world_;
    std::unique_ptr<Bare> sender_, receiver_;
    SocketAddress         here_;
    bool                  shared_ = false;
};

void Session::build()
{
    for (unsigned node = 0; node < 2; ++node) {
        world_.add_node(1);
        Nic &nic  = world_.nics(node)[0];
        nic.rate  = static_cast<double>(chance_.scaled(20'000'000,
                                                       5'000'000'000));
        nic.delay = static_cast<Instant>(chance_.scaled(500, 100'000));
    }
    sender_   = std::make_unique<Bare>(world_.add_process(0, kArena, 0));
    receiver_ = std::make_unique<Bare>(world_.add_process(1, kArena, 0));
    receiver_->process().open(receiver_->process().arena(), kArena);
    memset(sender_->process().arena(), 0xa5, kArena);
    expect(sender_->open() && receiver_->open(), "an interface does not open");
    expect(well() && sender_->connect(*receiver_), "no endpoint");
    if (!well()) {
        return;
    }
    expect(look().phase == StreamState::Phase::Connecting,
           "connected at once");
    expect(until(kLong, true, [&] {
               return sender_->put(*receiver_, 100);
           }) && until(kLong, true, [&] { return sender_->well() == 1; }),
           "the first put does not end");
    if (chance_.one_in(2)) {
        shared_ = true;
        ++counts_.shared;
        expect(receiver_->connect(*sender_), "no endpoint back");
    }
}

void Session::check_addresses()
{
    SocketAddress there, their_here, their_there;
    expect(sender_->streams.addresses(sender_->ep(), here_, there),
           "no addresses");
    expect(here_.family == 4 && here_.port != 0 && !(here_ == there),
           "addresses that are none");
    if (shared_) {
        expect(receiver_->streams.addresses(receiver_->ep(), their_here,
                                            their_there) &&
                   their_here == there && their_there == here_,
               "both sides do not agree");
    }
}

void Session::check_going()
{
    const StreamState before = look();
    expect(before.phase == StreamState::Phase::Established,
           "not established");
    while (chance_.one_in(3)) {
        if (sender_->put(*receiver_, chance_.scaled(1, kArena))) {
            until(static_cast<Instant>(chance_.scaled(1000, 10'000'000)), true,
                  [&] { return sender_->is_calm(); });
        }
        const StreamState state = look();
        expect(state.acked >= before.acked && state.unacked >= state.unsent,
               "counts that cannot be");
        expect(state.since_ack >= sched::Nanos() &&
                   state.retransmits == 0,
               "trouble where there is none");
    }
    expect(until(kLong, true, [&] { return sender_->is_calm(); }),
           "puts do not end");
    pass(kMillisecond, true);
    const StreamState state = look();
    expect(state.unacked.is_zero() && state.segments == 0 &&
               !state.window_shut(),
           "bytes are left over");
}

/* The receiver does not run: its kernel takes what it has room for, and says that it
 * has no more, however long. Of questions for it two at most are not answered, one
 * because the other kernel rests and one because its answer is still to come. */
void Session::check_shut()
{
    const auto fill = [&] {
        sender_->put(*receiver_, kArena);
        return look().window_shut();
    };
    if (!until(kLong, false, fill)) {
        expect(profile_.receive_buffer > kArena / 2, "never shut");
        return;
    }
    ++counts_.shut;
    pass(static_cast<Instant>(chance_.scaled(kSecond, 60 * kSecond)) , false);
    const StreamState state = look();
    expect(state.window_shut() && state.probes <= 2 &&
               state.retransmits == 0 && state.segments == 0,
           "a receiver that does not read looks like a dead wire");
    if (chance_.one_in(2)) {
        expect(until(60 * kSecond, true, [&] { return sender_->is_calm(); }),
               "puts do not go on");
        expect(!look().window_shut(), "it stays shut");
    }
}

/* Less than a connection bears. */
void Session::check_silent()
{
    Nic &nic = world_.nics(chance_.below(2))[0];
    bool       &way    = chance_.one_in(2) ? nic.mute : nic.deaf;
    const bool  mutes  = &way == &nic.mute;
    const bool  out    = mutes == (nic.node == 0); /* what the sender sends */
    way = true;
    sender_->put(*receiver_, kArena);
    const Instant time = static_cast<Instant>(
        chance_.scaled(400 * kMillisecond, 3 * kSecond));
    pass(time, true);
    const StreamState state = look();
    if (out && !state.unacked.is_zero()) {
        ++counts_.silent;
        expect(!state.window_shut() || state.probes != 0,
               "a dead wire looks like a receiver that does not read");
        expect(state.since_ack + sched::Nanos::millis(50) > sched::Nanos(time),
               "an acknowledgement over a dead wire");
        expect(state.retransmits != 0 || state.probes != 0,
               "nothing is tried again");
    }
    if (chance_.one_in(2)) {
        way = false;
        expect(until(10 * kSecond, true, [&] { return sender_->is_calm(); }),
               "puts do not go on after a silence");
        expect(until(10 * kSecond, true,
                     [&] { return look().retransmits == 0; }),
               "it still tries");
    }
}

/* Of a cable the kernel of its own node says so, and nobody else's. */
void Session::check_carrier()
{
    SimCarrier  carriers[] = {{world_, 0}, {world_, 1}};
    Nic        &nic        = world_.nics(static_cast<unsigned>(
                                  chance_.below(2)))[0];
    SimCarrier &own = carriers[nic.node], &other = carriers[1 - nic.node];
    const auto  wakes = [](const Carrier &carrier) {
        pollfd one{carrier.event_fd(), POLLIN, 0};
        return poll(&one, 1, 0) == 1;
    };
    const auto now = [&] { return sched::Nanos(world_.time().now()); };
    expect(own.carries(1) && !own.look(now()) && !wakes(own),
           "a cable that is not there");
    for (bool plugged : {false, true}) {
        world_.plug(nic, plugged);
        sender_->put(*receiver_, kArena);
        pass(Carrier::kPause.count(), true);
        expect(wakes(own) && own.look(now()) && !wakes(own) &&
                   own.carries(1) == plugged,
               "a cable that nobody tells of");
        expect(!wakes(other) && !other.look(now()) && other.carries(1),
               "the other node's cable");
        pass(static_cast<Instant>(chance_.scaled(kMillisecond, kSecond)), true);
        expect(!own.look(now()), "told twice");
        if (!plugged && !look().unacked.is_zero()) {
            const uint64_t acked = look().acked;
            pass(kSecond, true);
            expect(look().acked == acked, "it carries without a cable");
        }
    }
    expect(until(10 * kSecond, true, [&] { return sender_->is_calm(); }),
           "puts do not go on after the cable is back");
}

void Session::end_it()
{
    sender_->put(*receiver_, chance_.scaled(1, kArena));
    pass(static_cast<Instant>(chance_.scaled(100, 10'000'000)),
         chance_.one_in(2));
    Stream     &stream = *world_.streams().back();
    const bool  ends   = !chance_.one_in(4); /* else the receiver is the first */
    const unsigned before = sender_->errors();
    if (ends) {
        expect(sender_->streams.end(sender_->ep(), chance_.one_in(2)),
               "no socket to end");
        expect(look().phase == StreamState::Phase::Closed &&
                   look().unsent.is_zero(),
               "something goes out after the end");
        if (chance_.one_in(3)) {
            sender_->disconnect();
        }
        pass(static_cast<Instant>(chance_.scaled(100, 10'000'000)),
             chance_.one_in(2));
    }
    SocketAddress none = here_;
    ++none.port;
    expect(receiver_->streams.end_from(receiver_->iface(), none, true) == 0,
           "another has ended");
    counts_.ended_unread += stream.ends[1].received_bytes != 0 ||
                            stream.ends[0].on_wire != 0;
    const unsigned many = receiver_->streams.end_from(receiver_->iface(), here_, true);
    expect(many <= 1 && (ends || many == 1), "none has ended, or many");
    /* From now on whatever is written is a violation. */
    receiver_->process().close(receiver_->process().arena(), kArena);
    expect(receiver_->streams.end_from(receiver_->iface(), here_, true) == 0,
           "it is there still");
    for (unsigned node : {0u, 1u}) {
        Nic &nic = world_.nics(node)[0];
        nic.mute = nic.deaf = false;
    }
    pass(20 * kSecond, true);
    expect(sender_->ep() == nullptr ? sender_->errors() == before :
                                      sender_->errors() == before + 1,
           "the error handler is not called, or too often");
    if (shared_) {
        expect(receiver_->errors() == 1, "the endpoint back does not fail");
    }
}

void Session::check_after()
{
    sender_->disconnect();
    receiver_->disconnect();
    expect(sender_->is_calm() && sender_->is_exact(),
           "operations that have not ended once");
    /* There may be another, which carries. */
    receiver_->process().open(receiver_->process().arena(), kArena);
    const unsigned before = sender_->well();
    expect(sender_->connect(*receiver_) &&
               until(kLong, true, [&] {
                   return sender_->put(*receiver_, 1000);
               }) &&
               until(kLong, true, [&] { return sender_->well() != before; }),
           "no other connection");
    SocketAddress here, there;
    expect(sender_->streams.addresses(sender_->ep(), here, there) &&
               !(here == here_),
           "the same address again");
}

void Session::check_left_over()
{
    for (const auto &process : world_.processes()) {
        expect(process->endpoints == 0, "endpoints are left");
        expect(process->sockets == 0, "sockets are left");
    }
}

std::vector<std::string> Session::go()
{
    build();
    for (auto step : {&Session::check_addresses, &Session::check_going,
                      &Session::check_shut, &Session::check_carrier,
                      &Session::check_silent, &Session::end_it,
                      &Session::check_after}) {
        const bool always = step != &Session::check_silent &&
                            step != &Session::check_carrier;
        if (well() && (always || chance_.one_in(2))) {
            (this->*step)();
        }
    }
    const bool whole = well();
    sender_.reset();
    receiver_.reset();
    world_.time().pass(kSecond);
    if (whole) {
        check_left_over();
    }
    World::current = nullptr;
    return world_.journal().violations();
}

} // namespace

std::vector<std::string> stream_session(uint64_t seed, StreamCounts &counts)
{
    register_once();
    return Session(seed, counts).go();
}

} // namespace fuselink::sim
