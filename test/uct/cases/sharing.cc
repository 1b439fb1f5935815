/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* NICs that other processes of the node use as well. The other process is this
 * one on a second seat of the load board: what matters is what it says there. */

#include "harness/nics.h"
#include "../stack/link.h"
#include "cases.h"
#include "../../../src/ucs_ext/board_seat.h"
#include "../../../src/ucs_ext/job.h"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>

namespace fltest {
namespace {

using fuselink::Board;
using fuselink::BoardSeat;
using fuselink::Direction;
using fuselink::Priority;

constexpr size_t kSize = 8 << 20;

/* Says that it has some bytes in flight on nic0, over and over, if it sends: few, since
 * who shares the NIC with it counts them. */
class Neighbour {
public:
    struct Traits {
        bool     owns     = false; /* or only */
        bool     claims   = false; /* as of its job, as nobody has said */
        bool     sends    = false;
        uint64_t job      = fuselink::job_number() + 1; /* another */
        Priority priority = Priority::Normal;
    };

    explicit Neighbour(const Traits &traits)
    {
        std::string error;
        auto board = Board::open(error);
        REQUIRE(board != nullptr, "no board: %s", error.c_str());
        seat_ = BoardSeat::take(board,
                                {.job = traits.job, .priority = traits.priority},
                                Board::now());
        REQUIRE(seat_ != nullptr, "no seat");
        nic_ = seat_->add_nic("nic0", 1);
        REQUIRE(nic_ >= 0, "no room for a NIC");
        if (traits.owns || traits.claims) {
            seat_->own(nic_, traits.owns ? BoardSeat::Claim::Everybody :
                                           BoardSeat::Claim::OtherJobs);
        }
        if (traits.sends) {
            send();
        }
    }
    ~Neighbour()
    {
        stop_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    void send()
    {
        show();
        thread_ = std::thread([this] {
            timespec pause{0, 20'000'000};
            while (!stop_) {
                show();
                nanosleep(&pause, nullptr);
            }
        });
    }

private:
    void show()
    {
        seat_->set_in_flight(nic_, Direction::Out, 128 << 10, Board::now());
    }

    std::unique_ptr<BoardSeat> seat_;
    int                        nic_ = -1;
    std::atomic<bool>          stop_{false};
    std::thread                thread_;
};

/* A put of all the memory; what went over nic0, as a part of the whole. */
double part_of_nic0(Link &link)
{
    NicBytes bytes;
    Op put;
    link.ep().put_zcopy(link.memory().iov(0, kSize), link.remote(), kSize,
                        &put);
    link.ep().finish(put, "put");
    std::vector<uint64_t> sent = bytes.sent();
    REQUIRE(!sent.empty(), "no NIC");
    return double(sent[0]) / kSize;
}

/* The same of the first of a few puts that has at least `least` of itself there: a
 * process that does not run for a moment takes that for a slow NIC. */
double at_least_on_nic0(Link &link, double least)
{
    constexpr int kTries = 8;
    double part = part_of_nic0(link);
    for (int i = 1; i < kTries && part < least; ++i) {
        part = part_of_nic0(link);
    }
    return part;
}

/* With the neighbour nic0 carries less than `most` of a transfer, or more than
 * `least`; before he came and when he has gone it carries its share. */
void beside(Session &session, const Neighbour::Traits &traits, double least,
            double most)
{
    constexpr double kShare = 0.1; /* of a quarter */
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kSize});
    fill(link.memory().data(), kSize, 60);
    link.settle();
    if (session.active()) {
        part_of_nic0(link); /* until speeds are known */
        double before = at_least_on_nic0(link, kShare), during;
        {
            Neighbour neighbour(traits);
            timespec pause{0, 5'000'000};
            nanosleep(&pause, nullptr);
            during = at_least_on_nic0(link, least);
            /* Who has claimed the same NIC looks for another each 0.1 s. */
            for (int i = 0; traits.claims && during > most && i < 20; ++i) {
                during = part_of_nic0(link);
            }
        }
        double after = at_least_on_nic0(link, kShare);
        REQUIRE(before >= kShare && after >= kShare,
                "without a neighbour nic0 carried %.3f and %.3f", before,
                after);
        REQUIRE(during >= least && during <= most,
                "beside the neighbour nic0 carried %.3f, wanted %.2f to %.2f",
                during, least, most);
    }
    link.meet();
    if (!session.active()) {
        require_pattern(link.memory().at(kSize), kSize, 60, "put");
    }
    link.meet();
}

Case make(const std::string &name, const Neighbour::Traits &traits,
          double least, double most, std::vector<Setting> settings = {})
{
    auto run = [=](Session &session) {
        beside(session, traits, least, most);
    };
    return {"rails.sharing." + name, run, run, settings};
}

/* What nic0 carries is between the two. */
void on_nic0(Session &session, double least, double most)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kSize});
    fill(link.memory().data(), kSize, 61);
    link.settle();
    for (int i = 0; session.active() && i < 3; ++i) {
        double part = at_least_on_nic0(link, least);
        REQUIRE(part >= least && part <= most,
                "nic0 carried %.3f, wanted %.2f to %.2f", part, least, most);
    }
    link.meet();
    if (!session.active()) {
        require_pattern(link.memory().at(kSize), kSize, 61, "put");
    }
    link.meet();
}

Case standby(const std::string &name, double least, double most,
             std::vector<Setting> settings)
{
    auto run = [=](Session &session) { on_nic0(session, least, most); };
    return {"rails.standby." + name, run, run, settings};
}

constexpr const char *kChunkTime = "20ms";

/* What nic0 carries in that time. */
double batch()
{
    const char *rates = getenv("NIC_RATES"); /* Mbit/s */
    REQUIRE(rates != nullptr && atof(rates) > 0, "no NIC_RATES");
    return atof(rates) * 1e6 / 8 * 0.02;
}

/* What still goes over nic0 once its owner sends: what was on its way, which is
 * less than a batch, of which the owner has to wait for a part. So he is alone
 * within the time of one. */
void owner_returns(Session &session)
{
    constexpr size_t kLong = 48 << 20;
    Channel channel = session.connection();
    Link link(channel, {.memory = 2 * kLong});
    fill(link.memory().data(), kLong, 62);
    link.settle();
    if (session.active()) {
        part_of_nic0(link); /* until speeds are known */
        Neighbour owner({.owns = true});
        timespec pause{0, 5'000'000};
        nanosleep(&pause, nullptr);
        NicBytes bytes;
        Op put;
        link.ep().put_zcopy(link.memory().iov(0, kLong), link.remote(), kLong,
                            &put);
        link.worker().until([&] {
            return put.done() || bytes.sent()[0] > kLong / 48;
        }, "bytes on the NIC that is lent");
        owner.send();
        const uint64_t before = bytes.sent()[0];
        REQUIRE(!put.done(), "the put ended before its NIC's owner came");
        link.ep().finish(put, "put");
        const double batches = double(bytes.sent()[0] - before) / batch();
        REQUIRE(batches < 2, "%.2f batches went over the NIC after its owner"
                " began to send", batches);
    }
    link.meet();
    if (!session.active()) {
        require_pattern(link.memory().at(kLong), kLong, 62, "put");
    }
    link.meet();
}

Setting theirs(const char *name, const char *value)
{
    return {Side::Passive, std::string("UCX_FUSELINK_") + name, value};
}

Setting mine(const char *name, const char *value)
{
    return {Side::Active, std::string("UCX_FUSELINK_") + name, value};
}

} // namespace

std::vector<Case> sharing_cases()
{
    /* Messages of fuselink's own may go over it all the same. */
    constexpr double kNothing = 0.02, kShare = 0.1;
    const Neighbour::Traits owner{.owns = true, .sends = true};
    const Neighbour::Traits idle_owner{.owns = true};
    const Neighbour::Traits claimant{.claims = true, .sends = true};
    const Neighbour::Traits sibling{.claims = true, .sends = true,
                                    .job = fuselink::job_number()};
    const Neighbour::Traits boss{.sends = true, .priority = Priority::High};

    return {
        make("owner_sends", owner, 0, kNothing),
        make("owner_rests", idle_owner, kShare, 1),
        make("owner_lends_nothing", idle_owner, 0, kNothing,
             {mine("BORROW", "none")}),
        make("owner_lends_others", idle_owner, 0, kNothing,
             {mine("BORROW", "^nic0")}),
        make("own_as_well", owner, kShare, 1, {mine("OWN", "nic0")}),
        make("other_job_claims", claimant, 0, kNothing),
        make("sibling_claims", sibling, kShare, 1),
        make("sibling_claims.idle", sibling, 0, kNothing, {mine("SCHED", "idle")}),
        make("higher_priority", boss, 0, kNothing),
        make("same_priority", boss, kShare, 1, {mine("PRIORITY", "high")}),
        make("without_board", owner, kShare, 1, {mine("BOARD", "n")}),
        {"rails.sharing.owner_returns", owner_returns, owner_returns,
         {mine("CHUNK_TIME", kChunkTime)}},
        standby("rests", 0, kNothing, {mine("STANDBY", "nic0")}),
        standby("is_all_there_is", kShare, 1, {mine("STANDBY", "all")}),
        standby("is_all_they_have", 0.9, 1.1,
                {mine("STANDBY", "nic0"), mine("DEVICES", "nic0,nic1,nic2,nic3"),
                 theirs("DEVICES", "nic0")}),
        standby("others_rest", 0.9, 1.1, {mine("STANDBY", "^nic0")}),
        make("with_stripe", owner, kShare, 1, {mine("SCHED", "stripe")}),
    };
}

} // namespace fltest
