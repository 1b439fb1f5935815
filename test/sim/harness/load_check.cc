/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "load_check.h"

#include "edge/rails_iface.h"
#include "engine/engine.h"
#include "program.h"
#include "wire/messages.h"

#include <algorithm>

namespace fuselink::sim {
namespace {

/* So long what a sender has said counts; about that long after it, who knows. */
constexpr Instant kHolds = 20 * kMillisecond, kSlack = 100 * kMicrosecond;
/* A question is held back for no longer, behind messages of lower numbers. */
constexpr Instant kHeld = 10 * kMillisecond;

/* Less is not asked about, KiB; as much may be lost in rounding. */
constexpr uint64_t kLeast = 1024, kRounding = wire::kLoads;

uint64_t sum(const std::array<uint64_t, 16> &loads)
{
    uint64_t all = 0;
    for (uint64_t load : loads) {
        all += load;
    }
    return all;
}

} // namespace

static_assert(wire::kLoads == 16);

LoadCheck::LoadCheck(const Scenario &scenario, World &world,
                     std::vector<std::unique_ptr<Program>> &programs)
    : scenario_(scenario), world_(world), programs_(programs)
{
    world_.on_message = [this](Process &at, uint8_t id, const uint8_t *data,
                               size_t length) {
        if (id == static_cast<uint8_t>(wire::RailAm::Control)) {
            on_message(at, data, length);
        }
    };
}

LoadCheck::~LoadCheck()
{
    world_.on_message = nullptr;
}

bool LoadCheck::find(uint64_t uuid, unsigned &index)
{
    if (known_.empty()) {
        for (const auto &program : programs_) {
            known_[program->rails()->engine().table().uuid] =
                program->process().index();
        }
    }
    auto it = known_.find(uuid);
    if (it != known_.end()) {
        index = it->second;
    }
    return it != known_.end();
}

/* No connection has failed, and none was taken for another; and all look in time. */
bool LoadCheck::calm() const
{
    return (scenario_.fair || scenario_.leaves_in_order) && !world_.stalled &&
           !scenario_.crowded &&
           std::none_of(programs_.begin(), programs_.end(),
                        [](const auto &program) {
                            return program == nullptr || program->gone();
                        });
}

/* Nobody else of its node tells what comes in by these NICs. */
bool LoadCheck::alone(unsigned process) const
{
    unsigned others = 0;
    for (unsigned p = 0; p < scenario_.processes; ++p) {
        others += p != process &&
                  scenario_.node_of(p) == scenario_.node_of(process);
    }
    return others == 0 || !scenario_.board;
}

void LoadCheck::on_message(Process &at, const uint8_t *data, size_t length)
{
    wire::ControlHeader header;
    unsigned            from = 0;
    if (!wire::parse(data, length, header)) {
        return;
    }
    const auto type = static_cast<wire::ControlType>(header.type);
    world_.count(Count::PutsAgain, type == wire::ControlType::PutData &&
                                       (header.flags & wire::kPutAgain) != 0);
    if ((type != wire::ControlType::LoadAsk &&
         type != wire::ControlType::LoadGrant) ||
        !calm() || !find(header.sender, from)) {
        return;
    }
    if (!had_.emplace(from, at.index(), uint32_t{header.session},
                     uint16_t{header.number}).second) {
        return; /* again, over another lane */
    }
    Loads loads{};
    if (type == wire::ControlType::LoadAsk) {
        wire::LoadAsk ask;
        if (wire::parse(data, length, ask)) {
            for (size_t i = 0; i < loads.size(); ++i) {
                loads[i] = ask.load[i];
            }
            on_ask(from, at.index(), loads);
        }
        return;
    }
    wire::LoadGrant grant;
    if (wire::parse(data, length, grant)) {
        for (size_t i = 0; i < loads.size(); ++i) {
            loads[i] = grant.load[i];
        }
        on_grant(from, at.index(), loads, grant.rails);
    }
}

void LoadCheck::on_ask(unsigned from, unsigned to, const Loads &loads)
{
    world_.count(Count::LoadAsks);
    const uint64_t all = sum(loads);
    if (all != 0 && all + kRounding < kLeast) {
        world_.journal().violate("process " + std::to_string(from) +
                                 " asks about " + std::to_string(all) +
                                 " KiB only");
    }
    const Instant now = world_.time().now();
    said_[{from, to}] = {loads, now, 0};
    Answer answer{.loads = {}, .asked = now};
    for (const auto &[pair, said] : said_) {
        if (pair.second == to && pair.first != from && said.came + kHolds > now) {
            for (size_t i = 0; i < loads.size(); ++i) {
                answer.loads[i] += said.loads[i];
            }
        }
    }
    owed_[{to, from}].push_back(answer);
}

/* Has something changed of what `from` has heard of others, from when it was asked by
 * `to` until now? It may have read the question at any moment in between. Where messages go
 * beside the lane, a question may be held, and be read behind one that came later. */
bool LoadCheck::may_differ(unsigned from, unsigned to, Instant asked) const
{
    const Instant now   = world_.time().now();
    const bool    holds = world_.counts()[static_cast<size_t>(Count::Aside)] != 0;
    return std::any_of(said_.begin(), said_.end(), [&](const auto &entry) {
        const auto &[pair, said] = entry;
        if (pair.second != from || pair.first == to) {
            return false;
        }
        const Instant read = said.answered == 0 ? std::min(now, said.came + kHeld) :
                                                  said.answered;
        const bool    unread = holds && read >= asked && said.came + kHeld > asked;
        return said.came > asked || unread ||
               (said.came + kHolds <= now + kSlack && read + kHolds >= asked - kSlack);
    });
}

/* Answers come in the order of the questions; one that waits for the lane is replaced
 * by the next. */
void LoadCheck::on_grant(unsigned from, unsigned to, const Loads &loads,
                         unsigned rails)
{
    world_.count(Count::LoadGrants);
    world_.count(Count::LoadOthers, sum(loads) != 0);
    const bool  exact = alone(from);
    auto       &owed  = owed_[{from, to}];
    const auto  fits  = [&](const Answer &answer) {
        for (size_t i = 0; i < loads.size(); ++i) {
            if (exact ? loads[i] != answer.loads[i] :
                        loads[i] < answer.loads[i]) {
                return may_differ(from, to, answer.asked);
            }
        }
        return true;
    };
    auto it = std::find_if(owed.begin(), owed.end(), fits);
    if (it == owed.end()) {
        const Loads wanted = owed.empty() ? Loads{} : owed.front().loads;
        world_.journal().violate(
            "process " + std::to_string(from) + " tells " + std::to_string(to) +
            " of " + std::to_string(sum(loads)) + " KiB that others bring" +
            (owed.empty() ? ", and was not asked" :
                            ", of " + std::to_string(sum(wanted))));
        return;
    }
    Said &said = said_[{to, from}];
    if (said.came == it->asked) {
        said.answered = world_.time().now();
    }
    owed.erase(owed.begin(), it + 1);
    const size_t own = programs_[from]->rails()->engine().rails().size();
    /* It may have got one since it was asked. */
    const bool grows = std::any_of(
        scenario_.faults.begin(), scenario_.faults.end(),
        [](const Fault &fault) { return fault.kind == Fault::Kind::Late; });
    if (scenario_.has_owners()) {
        world_.count(Count::RailsKept, rails + 1 < 1u << own);
        return;
    }
    if (rails != (1u << own) - 1 && !(grows && rails == (1u << (own - 1)) - 1)) {
        world_.journal().violate("process " + std::to_string(from) +
                                 " keeps some of its rails back");
    }
}

void LoadCheck::check_calm()
{
    if (!calm()) {
        return;
    }
    for (const auto &[pair, said] : said_) {
        if (sum(said.loads) != 0) {
            world_.journal().violate(
                "process " + std::to_string(pair.first) +
                " does not say that nothing more comes to " +
                std::to_string(pair.second));
        }
    }
}

} // namespace fuselink::sim
