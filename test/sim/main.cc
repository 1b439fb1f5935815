/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
/* sim_tests: runs fuselink on simulated wires; see test/sim/README.md. */

#include "harness/run.h"
#include "hostile/session.h"
#include "scale/scale.h"
#include "streams/session.h"
#include "ucp/run.h"
#include "world/random.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace fuselink::sim;

[[noreturn]] void usage()
{
    fputs("usage: sim_tests [--ucp] [--wires tcp|rc|ud|mixed|any]\n"
          "                 [--seed N | --seeds A..B] [--without NUMBERS] [--print]\n"
          "                 [--nics N] [--deputies] [--twice] [--counts]\n"
          "                 [--keep-going] [--no-shrink]\n"
          "       sim_tests --hostile [--seed N | --seeds A..B] [--keep-going]\n"
          "       sim_tests --streams [--seed N | --seeds A..B] [--keep-going]\n"
          "       sim_tests --scale PEERS,PEERS,...\n",
          stderr);
    exit(2);
}

uint64_t number(const char *text)
{
    char    *end   = nullptr;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text) {
        usage();
    }
    return value;
}

void read_cuts(const std::string &text, Cuts &cuts)
{
    const char *at = text.c_str();
    while (*at != 0) {
        char         *end  = nullptr;
        unsigned long from = strtoul(at, &end, 10), to = from;
        if (end == at) {
            usage();
        }
        if (*end == '-') {
            at = end + 1;
            to = strtoul(at, &end, 10);
        }
        for (unsigned long i = from; i <= to; ++i) {
            cuts.left_out.insert(static_cast<unsigned>(i));
        }
        at = *end == ',' ? end + 1 : end;
    }
}

/* Sessions with a hostile peer, whose scripts are drawn from seeds. Returns how
 * many were not well. */
unsigned run_hostile(uint64_t first, uint64_t last, bool keep_going)
{
    unsigned failed = 0;
    for (uint64_t seed = first; seed <= last; ++seed) {
        Random               chance(seed, 9);
        std::vector<uint8_t> script(chance.between(16, 2000));
        for (uint8_t &byte : script) {
            byte = static_cast<uint8_t>(chance.next() >> 32);
        }
        const auto violations = hostile_session(script.data(), script.size());
        if (violations.empty()) {
            continue;
        }
        ++failed;
        printf("failed: sim_tests --hostile --seed %lu\n", seed);
        for (const auto &line : violations) {
            printf("    %s\n", line.c_str());
        }
        fflush(stdout);
        if (!keep_going) {
            break;
        }
    }
    return failed;
}

/* Sessions of two processes with a connection that they end. The same, and of many
 * sessions each thing has come up. */
unsigned run_streams(uint64_t first, uint64_t last, bool keep_going)
{
    constexpr uint64_t kMany = 200;
    StreamCounts       counts;
    unsigned           failed = 0;
    for (uint64_t seed = first; seed <= last; ++seed) {
        const auto violations = stream_session(seed, counts);
        if (violations.empty()) {
            continue;
        }
        ++failed;
        printf("failed: sim_tests --streams --seed %lu\n", seed);
        for (const auto &line : violations) {
            printf("    %s\n", line.c_str());
        }
        fflush(stdout);
        if (!keep_going) {
            return failed;
        }
    }
    const uint64_t sessions = last - first + 1;
    if (sessions >= kMany) {
        for (auto [what, count] :
             {std::pair<const char *, uint64_t>{"ends before all was read",
                                                counts.ended_unread},
              {"windows that are shut", counts.shut},
              {"wires that are silent", counts.silent},
              {"connections of both", counts.shared}}) {
            if (count < sessions / 10) {
                printf("failed: %lu %s in %lu sessions\n", count, what, sessions);
                ++failed;
            }
        }
    }
    return failed;
}

/* A table of what calls cost, by how many peers there are. Returns how many rows are
 * missing. */
unsigned run_scale(const std::string &peers)
{
    unsigned missing = 0;
    printf("| peers | progress, ns | the same 128 times, with a look at all, us | "
           "message and answer, ns | fence and flush, ns | put of 32 kB to each, us |\n"
           "|---:|---:|---:|---:|---:|---:|\n");
    for (const char *at = peers.c_str(); *at != 0;) {
        char *end = nullptr;
        const unsigned long count = strtoul(at, &end, 10);
        if (end == at || count == 0 || count > 4096) {
            usage();
        }
        Cost cost{};
        if (measure_scale(static_cast<unsigned>(count), cost)) {
            printf("| %lu | %.0f | %.1f | %.0f | %.0f | %.1f |\n", count, cost.poll,
                   cost.look, cost.message, cost.fence, cost.put);
        } else {
            printf("| %lu | failed |\n", count);
            ++missing;
        }
        fflush(stdout);
        at = *end == ',' ? end + 1 : end;
    }
    return missing;
}

} // namespace

int main(int argc, char **argv)
{
    Wires    wires = Wires::Tcp;
    Sort     sort  = kUctPrograms;
    uint64_t first = 1, last = 1;
    Cuts     cuts;
    bool     print = false, twice = false, counts = false, keep_going = false,
             shrinks = true, hostile = false, streams = false, any_wires = false;
    for (int i = 1; i < argc; ++i) {
        const std::string name  = argv[i];
        auto              value = [&]() -> std::string {
            if (i + 1 == argc) {
                usage();
            }
            return argv[++i];
        };
        if (name == "--wires") {
            const std::string kind = value();
            any_wires              = kind == "any";
            if (!any_wires && !parse(kind, wires)) {
                usage();
            }
        } else if (name == "--seed") {
            first = last = number(value().c_str());
        } else if (name == "--seeds") {
            const std::string range = value();
            const size_t      dots  = range.find("..");
            if (dots == std::string::npos) {
                usage();
            }
            first = number(range.c_str());
            last  = number(range.c_str() + dots + 2);
        } else if (name == "--without") {
            read_cuts(value(), cuts);
        } else if (name == "--nics") {
            cuts.nics = static_cast<unsigned>(number(value().c_str()));
            if (cuts.nics == 0 || cuts.nics > 4) {
                usage();
            }
        } else if (name == "--deputies") {
            cuts.deputies = true;
        } else if (name == "--ucp") {
            sort = kUcpPrograms;
        } else if (name == "--hostile") {
            hostile = true;
        } else if (name == "--streams") {
            streams = true;
        } else if (name == "--scale") {
            return run_scale(value()) != 0;
        } else if (name == "--print") {
            print = true;
        } else if (name == "--twice") {
            twice = true;
        } else if (name == "--counts") {
            counts = true;
        } else if (name == "--keep-going") {
            keep_going = true;
        } else if (name == "--no-shrink") {
            shrinks = false;
        } else {
            usage();
        }
    }

    if (hostile) {
        return run_hostile(first, last, keep_going) != 0;
    }
    if (streams) {
        return run_streams(first, last, keep_going) != 0;
    }
    Counts   sum{};
    unsigned failed = 0;
    for (uint64_t seed = first; seed <= last; ++seed) {
        if (any_wires) {
            wires = static_cast<Wires>(Random(seed, 8).below(4));
        }
        const Outcome outcome = sort.run(seed, wires, cuts,
                                         print ? stdout : nullptr);
        for (size_t i = 0; i < sum.size(); ++i) {
            sum[i] += outcome.counts[i];
        }
        if (print || first == last) {
            printf("seed %lu: hash %016lx, %lu lines, %.3f ms\n", seed,
                   outcome.hash, outcome.lines,
                   static_cast<double>(outcome.end) / 1e6);
        }
        if (twice && sort.run(seed, wires, cuts, nullptr).hash != outcome.hash) {
            printf("not the same twice: %s\n",
                   replay_line(sort, seed, wires, cuts).c_str());
            ++failed;
        }
        if (outcome.well()) {
            continue;
        }
        ++failed;
        printf("failed: sim_tests %s\n",
               replay_line(sort, seed, wires, cuts).c_str());
        for (const auto &line : outcome.violations) {
            printf("    %s\n", line.c_str());
        }
        if (shrinks) {
            const Cuts fewer = shrink(sort, seed, wires, cuts, 300);
            printf("  less: sim_tests %s\n",
                   replay_line(sort, seed, wires, fewer).c_str());
        }
        fflush(stdout);
        if (!keep_going) {
            break;
        }
    }
    if (counts) {
        for (size_t i = 0; i < sum.size(); ++i) {
            printf("%s %lu\n", name_of(static_cast<Count>(i)), sum[i]);
        }
    }
    return failed != 0;
}
