/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* What each NIC carries of bulk data. */

#include "../stack/link.h"
#include "cases.h"
#include "harness/nics.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace fltest {
namespace {

constexpr size_t kSize  = 4 << 20;
constexpr size_t kCount = 12;

/* Bulk data, by the operation that its name says, from one side or from both
 * at once. */
enum class Way { Tag, Put, Get };

class Traffic {
public:
    /** With `rests`, one at a time, and a while between them. */
    Traffic(Link &link, Way way, bool both, bool active, bool rests = false)
        : link_(link), way_(way), both_(both), active_(active), rests_(rests)
    {
    }

    void run()
    {
        for (size_t i = 0; i < kCount; ++i) {
            if (sends()) {
                begin_sending(i);
            }
            if (receives()) {
                begin_receiving(i);
            }
            if (rests_) {
                link_.worker().finish_all(requests_, "bulk data");
                requests_.clear();
                link_.worker().for_seconds(0.03);
            }
        }
        link_.worker().finish_all(requests_, "bulk data");
        for (size_t i = 0; i < in_.size(); ++i) {
            in_[i].require(mix(i) + !active_, "bulk data");
        }
        link_.worker().finish(link_.ep().flush(), "flush");
        link_.meet();
    }

    /* The active side moves the data, if not both do: to the other side, or
     * with gets from there. */
    bool sends() const { return active_ || both_; }

private:
    bool receives() const { return way_ == Way::Tag && (!active_ || both_); }

    void begin_sending(size_t i)
    {
        if (way_ == Way::Get) {
            requests_.push_back(link_.ep().get(
                got_.emplace_back(kSize).data(), kSize, link_.remote(), 0));
            return;
        }
        Buffer &out = out_.emplace_back(kSize);
        out.write(mix(i) + active_);
        requests_.push_back(way_ == Way::Tag ?
                                link_.ep().send(out, i) :
                                link_.ep().put(out.data(), kSize,
                                               link_.remote(), 0));
    }

    void begin_receiving(size_t i)
    {
        requests_.push_back(
            link_.worker().receive(in_.emplace_back(kSize), i));
    }

    Link               &link_;
    Way                 way_;
    bool                both_, active_, rests_;
    std::deque<Buffer>  in_, out_, got_;
    std::deque<Request> requests_;
};

/* All NICs carry their share, by their speed. */
void shares(Session &session, Way way, bool both, bool watched)
{
    Link link(session, {.memory = kSize, .watched = watched});
    auto move = [&] {
        Traffic traffic(link, way, both, session.active(), watched);
        traffic.run();
    };
    move(); /* the rates are known after the first few megabytes */
    /* Who is asked for a get sends. */
    const bool sends = both || session.active() == (way != Way::Get);
    soon_right(link, sends, 6, move, [](const std::vector<uint64_t> &sent) {
        require_shares(sent, 0.3, "bulk data");
        const uint64_t sum = std::accumulate(sent.begin(), sent.end(), uint64_t{0});
        REQUIRE(sum > kCount * kSize && sum < kCount * kSize * 5 / 4,
                "the NICs carried %lu bytes for %zu", sum, kCount * kSize);
    });
    link.finish();
}

/* One NIC carries it all. */
void single(Session &session)
{
    Link link(session, {.memory = kSize});
    NicBytes bytes;
    Traffic traffic(link, Way::Tag, false, session.active());
    traffic.run();
    if (session.active()) {
        auto sent     = bytes.sent();
        uint64_t most = *std::max_element(sent.begin(), sent.end());
        REQUIRE(most > kCount * kSize, "the first of the NICs carried %lu "
                "bytes only", most);
        for (uint64_t one : sent) {
            REQUIRE(one == most || one < kSize / 4, "another NIC carried %lu "
                    "bytes", one);
        }
    }
    link.finish();
}

} // namespace

std::vector<Case> share_cases()
{
    std::vector<Case> cases;
    auto add = [&](const char *name, Way way, bool both,
                   const std::vector<Setting> &settings = {}) {
        for_engines(cases, name,
                    [=](Session &s) { shares(s, way, both, false); }, settings);
    };
    /* Where UCP reports failures it wants keys that may end, with which its newer engine does
     * its part from 1.16 on. */
    unsigned major, minor, release;
    ucp_get_version(&major, &minor, &release);
    auto add_watched = [&](const std::string &name, const char *scheme) {
        for (bool is_new : {false, true}) {
            if (!is_new || minor >= 16) {
                auto both = [](Session &s) { shares(s, Way::Tag, false, true); };
                cases.push_back({name + (is_new ? ".new" : ".old"), both, both,
                                 {{Side::Both, "UCX_RNDV_SCHEME", scheme},
                                  {Side::Both, "UCX_PROTO_ENABLE", is_new ? "y" : "n"}}});
            }
        }
    };
    add_watched("share.watched", "get_zcopy");
    add_watched("share.watched_put", "put_zcopy");
    add("share.tag", Way::Tag, false);
    add("share.tag_both", Way::Tag, true);
    add("share.tag_put", Way::Tag, false,
        {{Side::Both, "UCX_RNDV_SCHEME", "put_zcopy"}});
    add("share.put", Way::Put, false);
    add("share.get", Way::Get, false);
    add("share.stripe", Way::Tag, false,
        {{Side::Both, "UCX_FUSELINK_SCHED", "stripe"}});
    add("share.finish", Way::Tag, false,
        {{Side::Both, "UCX_FUSELINK_SCHED", "finish"}});
    add("share.connect_ep", Way::Tag, true,
        {{Side::Both, "UCX_FUSELINK_CONNECT", "ep"}});
    for_engines(cases, "share.single", single,
                {{Side::Both, "UCX_FUSELINK_SCHED", "single"}});
    return cases;
}

} // namespace fltest
