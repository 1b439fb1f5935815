/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "reading.h"

#include "../../ucs_ext/job.h"
#include "../../ucs_ext/text_table.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <pwd.h>

namespace fuselink::top {
namespace {

/* What a launcher calls jobs and ranks is shorter. */
constexpr size_t kLongestName = 64;

/* No NIC is faster, bytes per second; what a board says beyond is nonsense. */
constexpr uint64_t kMostSpeed = uint64_t{1} << 40;

struct NaturalLess {
    bool operator()(const std::string &x, const std::string &y) const
    {
        int order = strverscmp(x.c_str(), y.c_str());
        return order != 0 ? order < 0 : x < y;
    }
};

std::string user_name(uid_t user)
{
    const passwd *entry = getpwuid(user);
    return entry != nullptr ? entry->pw_name : std::to_string(user);
}

/* As the kernel knows it; "?" if that does not say. */
std::string program_of(ProcessId process)
{
    std::string name;
    if (process.in_own_space()) {
        std::ifstream file("/proc/" + std::to_string(process.pid()) + "/comm");
        std::getline(file, name);
    }
    return name.empty() ? "?" : printable(name, kLongestName);
}

std::string uuid_text(const uint8_t (&uuid)[16])
{
    std::string text = "GPU-";
    for (size_t i = 0; i < sizeof(uuid); ++i) {
        text += format(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
    }
    return text;
}

Reading::Process describe(const Board::Occupant &who, uid_t owner,
                          const std::string &user)
{
    Reading::Process process;
    process.owner    = owner;
    process.seat     = who.seat;
    process.id       = who.process.word();
    process.pid      = who.process.in_own_space() ? who.pid : 0;
    process.user     = user;
    process.program  = who.name;
    process.priority = who.priority;
    JobPlace place   = process.pid != 0 ? job_place(who.pid, owner) :
                                          JobPlace{};
    process.job      = !place.job.empty() ?
                           printable(place.job, kLongestName) :
                           format("%lx", who.job);
    process.rank     = printable(place.rank, kLongestName);
    return process;
}

} // namespace

Reading read_boards(const std::vector<std::shared_ptr<const Board>> &boards,
                    int64_t now)
{
    Reading reading;
    reading.at     = now;
    reading.boards = boards.size();

    /* Users of one network namespace mean the same NIC by the same name. */
    std::map<std::string, uint64_t, NaturalLess>          speeds;
    std::vector<std::map<unsigned, std::string>>          names;
    for (const auto &board : boards) {
        auto &own = names.emplace_back();
        for (auto &nic : board->nics()) {
            uint64_t &speed = speeds[nic.name];
            speed = std::max(speed, nic.speed <= kMostSpeed ? nic.speed : 0);
            own[nic.index] = std::move(nic.name);
        }
    }
    std::map<std::string, size_t> places;
    for (const auto &[name, speed] : speeds) {
        places[name] = reading.nics.size();
        reading.nics.push_back({name, speed, read_nic_counters(name),
                                read_nic_carrier(name)});
    }

    for (size_t i = 0; i < boards.size(); ++i) {
        std::string user = user_name(boards[i]->owner());
        for (const auto &who : boards[i]->occupants(now)) {
            size_t place = reading.processes.size();
            bool   here  = false; /* NICs of other network namespaces are not
                                     for us to see */
            for (const auto &use : who.uses) {
                auto nic = names[i].find(use.nic);
                if (nic == names[i].end()) {
                    continue;
                }
                here = true;
                reading.flows.push_back({place, places[nic->second],
                                         use.direction, use.in_flight,
                                         use.completed, use.borrowed,
                                         use.active, use.own});
            }
            for (const auto &[number, health] : who.health) {
                auto nic = names[i].find(number);
                if (nic != names[i].end()) {
                    reading.rails.push_back({place, places[nic->second],
                                             health});
                }
            }
            if (here) {
                reading.processes.push_back(
                    describe(who, boards[i]->owner(), user));
            }
        }
    }
    return reading;
}

void add_gpu_links(const std::vector<std::shared_ptr<const RelayRegistry>> &registries,
                   Reading &reading)
{
    for (const auto &registry : registries) {
        const std::string user = user_name(registry->owner());
        for (uint32_t entry = 0; entry < RelayRegistry::kEntries; ++entry) {
            const auto lender = registry->lender(entry, sched::Nanos(reading.at));
            if (!lender) {
                continue;
            }
            const ProcessId  process(lender->offer.process);
            Reading::GpuLink link{.owner      = registry->owner(),
                                  .entry      = entry,
                                  .id         = process.word(),
                                  .pid        = process.in_own_space() ? process.pid() : 0,
                                  .user       = user,
                                  .program    = program_of(process),
                                  .gpu        = uuid_text(lender->offer.gpu),
                                  .slots      = lender->offer.on_demand != 0 ?
                                                    0 : lender->offer.slots,
                                  .slot_bytes = lender->offer.slot_size,
                                  .needed     = lender->needed,
                                  .out        = lender->out,
                                  .in         = lender->in,
                                  .nics_out   = lender->nics_out,
                                  .nics_in    = lender->nics_in,
                                  .users      = {}};
            for (const auto &use : lender->uses) {
                const std::string pid = use.who.in_own_space() ?
                                            "[" + std::to_string(use.who.pid()) + "]" : "";
                link.users.push_back({program_of(use.who) + pid, use.hopping, use.waiting,
                                      use.copied});
            }
            reading.gpu_links.push_back(std::move(link));
        }
    }
}

double Reading::Rail::rests(int64_t now) const
{
    return health.until > now ?
               static_cast<double>(health.until - now) * 1e-9 : 0;
}

double Reading::Rail::out(int64_t now) const
{
    const int64_t open = health.since != 0 && now > health.since ?
                             now - health.since : 0;
    return (static_cast<double>(health.out) + static_cast<double>(open)) * 1e-9;
}

const char *direction_name(Direction direction)
{
    return direction == Direction::Out ? "out" : "in";
}

const char *priority_name(Priority priority)
{
    return priority == Priority::High ? "high" :
           priority == Priority::Low  ? "low" : "normal";
}

} // namespace fuselink::top
