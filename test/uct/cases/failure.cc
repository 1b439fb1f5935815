/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* A peer that dies, leaves or is given up: every operation ends, once, and
 * life goes on with others. */

#include "../stack/link.h"
#include "harness/killed.h"
#include "harness/nics.h"
#include "cases.h"

#include <csignal>
#include <deque>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr size_t  kArea = 4 << 20;
constexpr uint8_t kId   = 6;

/* Another process for the same interface: addresses and memory. */
class OtherPeer {
public:
    OtherPeer(Link &base, Channel channel)
        : base_(base), channel_(std::move(channel))
    {
        channel_.send(base.iface().address().pack());
        channel_.send(base.memory().describe());
        Address address = Address::unpack(channel_.receive());
        remote_ = std::make_unique<Remote>(base.iface().domain(),
                                           channel_.receive());
        ep_     = std::make_unique<Endpoint>(base.iface(), address);
        base_.worker().meet(channel_, 1); /* as Link's constructor does */
    }

    /* Puts, gets and sends a message, as try_out() of the other expects. */
    void use()
    {
        Memory &memory = base_.memory();
        Op put, get;
        fill(memory.data(), kArea, 77);
        ep_->put_zcopy(memory.iov(0, kArea), *remote_, 0, &put);
        ep_->fence();
        ep_->am_short(kId, 77);
        ep_->get_zcopy(memory.iov(kArea, kArea), *remote_, 0, get);
        ep_->finish(put, "put to the next peer");
        ep_->finish(get, "get from the next peer");
        require_pattern(memory.at(kArea), kArea, 77, "get");
        base_.worker().meet(channel_, 2);
    }

private:
    Link                     &base_;
    Channel                   channel_;
    std::unique_ptr<Remote>   remote_;
    std::unique_ptr<Endpoint> ep_;
};

/* The other end of OtherPeer::use(). */
void be_used(const Channel &channel, const char *device)
{
    Link link(channel, {.device = device, .memory = 2 * kArea});
    bool come    = false;
    ptrdiff_t at = 0;
    link.iface().on_message(kId, [&](void *, size_t, unsigned) {
        come = true;
        at   = mismatch(link.memory().data(), kArea, 77);
        return UCS_OK;
    });
    link.worker().meet(channel, 2);
    REQUIRE(come && at < 0, "message %s, first wrong byte %td",
            come ? "came" : "did not come", at);
}

/* Runs each function in a process of its own, one after the other. They may
 * end by a signal only if it is theirs. */
template <typename... Functions>
void in_processes(Session &session, Functions &&...functions)
{
    auto run = [&](auto &function) {
        pid_t pid = fork();
        REQUIRE(pid >= 0, "fork() failed");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            try {
                Channel channel = session.connection();
                function(channel);
            } catch (const Failed &failed) {
                fprintf(stderr, "%s\n", failed.reason.c_str());
                _exit(1);
            }
            exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                    (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
                "a process of the passive side failed, status %x", status);
    };
    (run(functions), ...);
}

/* What is outstanding when the peer dies, and the check that all of it ends. */
class Outstanding {
public:
    Outstanding(Link &link, Endpoint &ep) : link_(link), ep_(ep) {}

    void puts(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            ep_.put_zcopy(link_.memory().iov(0, kArea), link_.remote(), 0,
                          &ops_.emplace_back());
        }
    }
    void gets(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            ep_.get_zcopy(link_.memory().iov(kArea, kArea), link_.remote(), 0,
                          ops_.emplace_back());
            ep_.get_zcopy(link_.memory().iov(kArea, 2000), link_.remote(), 0,
                          ops_.emplace_back());
        }
    }
    void messages(unsigned count)
    {
        if (!link_.iface().has(UCT_IFACE_FLAG_AM_ZCOPY)) {
            return;
        }
        uint64_t header = 0;
        for (unsigned i = 0; i < count; ++i) {
            ep_.am_zcopy(kId, &header, 8, {link_.memory().iov(0, 5000)},
                         ops_.emplace_back());
        }
    }
    void flush() { ep_.flush(ops_.emplace_back()); }

    /* Requests behind a fence, where they wait. */
    void requests(unsigned count)
    {
        ep_.fence();
        for (unsigned i = 0; i < count; ++i) {
            uct_pending_req_t &req = requests_.emplace_back();
            req.func = [](uct_pending_req_t *) { return UCS_ERR_NO_RESOURCE; };
            ucs_status_t status = uct_ep_pending_add(ep_.handle(), &req, 0);
            REQUIRE(status == UCS_OK, "pending_add behind a fence: %s",
                    ucs_status_string(status));
        }
    }

    void require_ended(bool some_failed)
    {
        link_.worker().until(
            [&] {
                for (Op &op : ops_) {
                    if (!op.done()) {
                        return false;
                    }
                }
                return true;
            },
            "the end of all operations");
        link_.worker().for_seconds(0.05);
        unsigned failed = 0;
        for (Op &op : ops_) {
            op.require_exact("operation with a peer that died");
            failed += op.status() != UCS_OK;
        }
        REQUIRE(failed != 0 || !some_failed,
                "all %zu operations went well with a dead peer", ops_.size());
        unsigned purged = 0;
        uct_ep_pending_purge(
            ep_.handle(),
            [](uct_pending_req_t *, void *arg) {
                ++*static_cast<unsigned *>(arg);
            },
            &purged);
        REQUIRE(purged == requests_.size(), "%u of %zu requests came back",
                purged, requests_.size());
    }

private:
    Link                         &link_;
    Endpoint                     &ep_;
    std::deque<Op>                ops_;
    std::deque<uct_pending_req_t> requests_;
};

unsigned errors_of(Link &link, const Endpoint &ep)
{
    auto it = link.iface().errors().find(ep.handle());
    return it == link.iface().errors().end() ? 0 : it->second;
}

/* The handler is called, and not again by what is done afterwards. */
void require_told(Link &link, Endpoint &ep)
{
    link.worker().until([&] { return errors_of(link, ep) != 0; },
                        "the error handler");
    char data[8] = {};
    ucs_status_t status = uct_ep_am_short(ep.handle(), kId, 0, data, 8);
    REQUIRE(UCS_STATUS_IS_ERR(status) && status != UCS_ERR_NO_RESOURCE,
            "a message to a dead peer: %s", ucs_status_string(status));
    ep.cancel_now();
    link.worker().for_seconds(0.1);
    REQUIRE(errors_of(link, ep) == 1, "the error handler was called %u times",
            errors_of(link, ep));
}

/* --- the peer is killed --- */

using Work = std::function<void(Outstanding &)>;

void killed(Session &session, Work work, bool some_failed, bool with_requests)
{
    if (!session.active()) {
        in_processes(
            session,
            [&](Channel &channel) {
                Link link(channel, {.memory = 2 * kArea});
                link.iface().on_message(
                    kId, [](void *, size_t, unsigned) { return UCS_OK; });
                link.settle();
                link.await_told();
                link.worker().for_seconds(0.1);
                be_killed();
            },
            [&](Channel &channel) { be_used(channel, "rails"); });
        return;
    }
    Channel first = session.connection();
    Link link(first, {.memory = 2 * kArea});
    auto second_ep = link.another_ep();
    link.settle();
    Outstanding one(link, link.ep()), two(link, *second_ep);
    work(one);
    work(two);
    if (with_requests) { /* a fence holds for the peer, not the endpoint */
        one.requests(50);
        two.requests(20);
    }
    link.tell();
    one.require_ended(some_failed);
    two.require_ended(some_failed);
    require_told(link, link.ep());
    require_told(link, *second_ep);
    second_ep.reset();
    OtherPeer(link, session.connection()).use();
}

/* --- it dies while it is served --- */

void killed_while_served(Session &session)
{
    if (!session.active()) {
        in_processes(
            session,
            [&](Channel &channel) {
                Link link(channel, {.memory = 2 * kArea});
                link.settle();
                Outstanding gets(link, link.ep());
                gets.gets(20);
                link.worker().for_seconds(0.1);
                be_killed();
            },
            [&](Channel &channel) { be_used(channel, "rails"); });
        return;
    }
    Channel first = session.connection();
    Link link(first, {.memory = 2 * kArea});
    link.settle();
    require_told(link, link.ep());
    OtherPeer(link, session.connection()).use();
}

/* --- before the first message --- */

void killed_before_contact(Session &session)
{
    if (!session.active()) {
        in_processes(
            session,
            [&](Channel &channel) {
                Link link(channel, {.memory = 2 * kArea, .connect = false});
                be_killed();
            },
            [&](Channel &channel) { be_used(channel, "rails"); });
        return;
    }
    Channel first = session.connection();
    Link link(first, {.memory = 2 * kArea, .connect = false});
    usleep(100000);
    /* Refused at once or reported later: both are fine, once. */
    ucs_status_t status = Endpoint::try_create(link.iface(),
                                               link.peer_address());
    if (status == UCS_OK) {
        link.connect();
        require_told(link, link.ep());
    }
    OtherPeer(link, session.connection()).use();
}

/* --- the peer closes its interface and goes on living --- */

void left(Session &session, bool at_work)
{
    if (!session.active()) {
        in_processes(
            session,
            [&](Channel &channel) {
                {
                    Link link(channel, {.memory = 2 * kArea});
                    link.settle();
                    if (at_work) {
                        link.await_told();
                        link.worker().for_seconds(0.05);
                    }
                }
                channel.expect_mark(99);
            },
            [&](Channel &channel) { be_used(channel, "rails"); });
        return;
    }
    Channel first = session.connection();
    Link link(first, {.memory = 2 * kArea});
    link.settle();
    Outstanding gets(link, link.ep());
    if (at_work) {
        gets.gets(20);
        link.tell();
        gets.require_ended(true);
    }
    require_told(link, link.ep());
    first.send_mark(99);
    OtherPeer(link, session.connection()).use();
}

/* --- this side gives the endpoint up --- */

void cancelled(Session &session)
{
    if (!session.active()) {
        Channel channel = session.connection();
        Link link(channel, {.memory = 2 * kArea, .connect = false});
        uint64_t messages = 0;
        link.iface().on_message(kId, [&](void *, size_t, unsigned) {
            ++messages;
            return UCS_OK;
        });
        link.meet();
        link.meet();
        REQUIRE(messages == 1, "%lu messages came over the new endpoint",
                messages);
        return;
    }
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kArea});
    Outstanding one(link, link.ep());
    one.puts(10);
    one.gets(10);
    one.flush();
    one.requests(3);
    link.ep().cancel_now();
    one.require_ended(true);
    link.disconnect();
    link.worker().for_seconds(0.2);
    REQUIRE(link.iface().errors().empty(),
            "the error handler was called for what the user did");
    link.meet();

    link.connect();
    Op put, get;
    fill(link.memory().data(), kArea, 5);
    link.ep().put_zcopy(link.memory().iov(0, kArea), link.remote(), 0, &put);
    link.ep().get_zcopy(link.memory().iov(kArea, 100), link.remote(), kArea,
                        get);
    link.ep().am_short(kId, 0);
    link.ep().finish(put, "put after the cancelled ones");
    link.ep().finish(get, "get after the cancelled ones");
    link.meet();
}

/* --- the check of an endpoint --- */

void check(Session &session, const char *device)
{
    if (!session.active()) {
        in_processes(
            session,
            [&](Channel &channel) {
                Link link(channel, {.device = device, .memory = 2 * kArea});
                link.settle();
                link.await_told();
                be_killed();
            },
            [&](Channel &channel) { be_used(channel, device); });
        return;
    }
    Channel first = session.connection();
    Link link(first, {.device = device, .memory = 2 * kArea});
    REQUIRE(link.iface().has(UCT_IFACE_FLAG_EP_CHECK |
                             UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE),
            "no endpoint check or no error handling");
    link.settle();
    for (int i = 0; i < 100; ++i) {
        ucs_status_t status = uct_ep_check(link.ep().handle(), 0, nullptr);
        REQUIRE(!UCS_STATUS_IS_ERR(status) || status == UCS_ERR_NO_RESOURCE,
                "check of a living peer: %s", ucs_status_string(status));
        link.worker().progress();
    }
    REQUIRE(link.iface().errors().empty(), "a living peer was reported");
    link.tell();
    for (int i = 0; i < 500 && errors_of(link, link.ep()) == 0; ++i) {
        uct_ep_check(link.ep().handle(), 0, nullptr);
        link.worker().for_seconds(0.02); /* each check may report */
    }
    link.ep().cancel_now();
    link.worker().for_seconds(0.05);
    REQUIRE(errors_of(link, link.ep()) == 1,
            "the error handler was called %u times",
            errors_of(link, link.ep()));
    link.disconnect();
    OtherPeer(link, session.connection()).use();
}

Case make(const std::string &name, std::function<void(Session &)> both)
{
    return {name, both, both};
}

} // namespace

std::vector<Case> failure_cases()
{
    struct {
        const char *name;
        Work        work;
        bool        some_failed;
        bool        with_requests = false;
        unsigned    least_lines   = 0; /* that name the lane for messages */
    } const works[] = {
        {"puts", [](Outstanding &o) { o.puts(20); }, true},
        {"gets", [](Outstanding &o) { o.gets(20); }, true},
        {"messages", [](Outstanding &o) { o.messages(3000); }, false},
        {"flushes",
         [](Outstanding &o) {
             o.puts(20);
             o.flush();
             o.flush();
         },
         true},
        {"everything",
         [](Outstanding &o) {
             o.messages(10);
             o.puts(10);
             o.gets(10);
             o.flush();
         },
         true, true},
        /* The peer may be waited for: not without a word. */
        {"nothing", [](Outstanding &) {}, false, false, 1},
    };

    const LogLine refused = refused_by_dead_peer(Side::Active);
    /* If it was the lane for messages that broke first. */
    const LogLine lane{Side::Active, "no rail takes messages to peer", 0, 1};

    std::vector<Case> cases;
    for (const auto &work : works) {
        cases.push_back(make(std::string("rails.killed.with_") + work.name,
                             [=](Session &s) {
                                 killed(s, work.work, work.some_failed,
                                        work.with_requests);
                             }));
        cases.back().log = {refused, lane};
        cases.back().log.back().least = work.least_lines;
    }
    cases.push_back(make("rails.killed.while_served", killed_while_served));
    cases.back().log = {refused, lane};
    Case before = make("rails.killed.before_contact", killed_before_contact);
    before.log  = {refused,
                   {Side::Active, "peer .* does not answer on any of", 1, 1}};
    cases.push_back(before);
    cases.push_back(make("rails.left", [](Session &s) { left(s, false); }));
    cases.push_back(
        make("rails.left.at_work", [](Session &s) { left(s, true); }));
    /* What is seen first: its word, or the end of a stream. */
    cases.back().log = {{Side::Active,
                         "has closed its interface with operations of this "
                         "process open|no rail takes messages to peer", 1, 1}};
    cases.push_back(make("rails.cancelled", cancelled));
    cases.push_back(
        make("rails.check", [](Session &s) { check(s, "rails"); }));
    cases.back().log = {refused, lane};
    Case of_node = make("node.check", [](Session &s) { check(s, "node"); });
    /* Off by default, as UCX's own shared memory has it. */
    of_node.settings = {{Side::Both, "UCX_POSIX_ERROR_HANDLING", "y"}};
    cases.push_back(of_node);
    return cases;
}

} // namespace fltest
