/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Programs that compute and do not call, with a thread that moves their data meanwhile
 * (UCX_FUSELINK_PROGRESS). */

#include "../../../src/ucs_ext/cpus.h"
#include "../stack/link.h"
#include "cases.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace fltest {
namespace {

constexpr size_t   kSize     = 16 << 20;
constexpr uint8_t  kId       = 7;
constexpr unsigned kMessages = 50;

/* Ten times as long as the data takes. */
void compute()
{
    usleep(800'000);
}

bool is_there(const Memory &memory, unsigned seed)
{
    std::vector<char> wanted(kSize);
    fill(wanted.data(), kSize, seed);
    return memcmp(memory.data(), wanted.data(), kSize) == 0;
}

/* A put arrives although neither side calls, and its completion comes from a call.
 * look() while the interface is still there. */
template <typename Look> void put_and(Session &session, Look &&look)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kSize});
    fill(link.memory().data(), kSize, session.active() ? 1 : 2);
    link.settle();
    Op op;
    if (session.active()) {
        link.ep().put_zcopy(link.memory().iov(0, kSize), link.remote(), 0, &op);
        compute();
        REQUIRE(!op.done(), "a completion was told while the program computed");
        link.ep().finish(op, "put");
    } else {
        compute();
        REQUIRE(is_there(link.memory(), 1), "the data has not come meanwhile");
    }
    look();
    link.meet();
}

void put(Session &session)
{
    put_and(session, [] {});
}

/* A get is served by a program that does not call. */
void get(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = kSize});
    fill(link.memory().data(), kSize, session.active() ? 1 : 2);
    link.settle();
    if (session.active()) {
        Op op;
        link.ep().get_zcopy(link.memory().iov(0, kSize), link.remote(), 0, op);
        compute();
        REQUIRE(is_there(link.memory(), 2), "the data has not come meanwhile");
        REQUIRE(!op.done(), "a completion was told while the program computed");
        link.ep().finish(op, "get");
    } else {
        compute();
    }
    link.meet();
}

/* Messages wait for the program's next call, and come in order. */
void messages(Session &session)
{
    Channel channel = session.connection();
    Link link(channel, {.memory = 4096});
    unsigned come  = 0;
    bool     order = true;
    link.iface().on_message(kId, [&](void *data, size_t length, unsigned) {
        uint64_t number = ~uint64_t{0};
        memcpy(&number, data, std::min(length, sizeof(number)));
        order = order && number == come;
        ++come;
        return UCS_OK;
    });
    link.settle();
    if (session.active()) {
        usleep(100'000); /* the peer computes by then */
        for (unsigned i = 0; i < kMessages; ++i) {
            link.ep().am_short(kId, i);
        }
    } else {
        compute();
        REQUIRE(come == 0, "%u messages came while the program computed", come);
        link.worker().until([&] { return come == kMessages; }, "the messages");
        REQUIRE(order, "messages are out of order");
    }
    link.meet();
}

/* The id of the thread that moves data; 0 if there is none. */
int deputy()
{
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream name(task.path() / "comm");
        std::string   line;
        if (std::getline(name, line) && line == "fuselink-deputy") {
            return std::stoi(task.path().filename());
        }
    }
    return 0;
}

/* Its CPUs; none if there is no such thread. */
fuselink::CpuSet cpus_of_deputy()
{
    constexpr std::string_view kWord = "Cpus_allowed_list:\t";
    std::ifstream status("/proc/self/task/" + std::to_string(deputy()) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(kWord)) {
            return fuselink::cpus_in(std::string_view(line).substr(kWord.size()));
        }
    }
    return {};
}

/* The thread of a program that is bound to a CPU works beside it, if there is another. */
void beside(Session &session)
{
    fuselink::Cpus        &cpus = fuselink::Cpus::real();
    const fuselink::CpuSet before = cpus.own(), all = cpus.allowed();
    fuselink::CpuSet       one;
    one.set(before._Find_first());
    REQUIRE(cpus.bind(one), "the program is not bound");
    fuselink::CpuSet there;
    put_and(session, [&] { there = cpus_of_deputy(); });
    cpus.bind(before);
    REQUIRE(there == (all == one ? one : all & ~one),
            "the thread has %zu CPUs of %zu, %s among them the program's", there.count(),
            all.count(), (there & one).any() ? "and" : "not");
}

/* Where there are more processes than CPUs the thread gives way to them, and the program
 * itself does not; elsewhere nobody does. */
void gives_way_by(int steps, Session &session)
{
    const int before = getpriority(PRIO_PROCESS, 0);
    put_and(session, [&] {
        const int thread = deputy();
        REQUIRE(thread != 0, "there is no thread");
        REQUIRE(getpriority(PRIO_PROCESS, static_cast<id_t>(thread)) ==
                    std::min(before + steps, 19),
                "the thread gives way by %d steps",
                getpriority(PRIO_PROCESS, static_cast<id_t>(thread)) - before);
        REQUIRE(getpriority(PRIO_PROCESS, 0) == before, "the program gives way");
    });
}
void crowded(Session &session)
{
    gives_way_by(10, session);
}
void alone(Session &session)
{
    gives_way_by(0, session);
}

} // namespace

std::vector<Case> away_cases()
{
    std::vector<Case> cases;
    struct {
        const char *name;
        void (*run)(Session &);
        const char *progress = "thread";
        const char *launched = "1"; /* how many processes, as Open MPI's launcher says it */
    } const all[] = {{"put", put},
                     {"get", get},
                     {"messages", messages},
                     {"beside", beside, "auto"},
                     {"crowded", crowded, "thread", "100000"},
                     {"alone", alone}};
    for (const auto &away : all) {
        Case one{std::string("rails.away.") + away.name, away.run, away.run};
        one.settings = {{Side::Both, "UCX_FUSELINK_PROGRESS", away.progress},
                        {Side::Both, "OMPI_COMM_WORLD_LOCAL_SIZE", away.launched}};
        cases.push_back(one);
    }
    return cases;
}

} // namespace fltest
