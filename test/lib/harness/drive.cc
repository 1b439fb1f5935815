/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "case.h"
#include "child.h"
#include "failure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fnmatch.h>
#include <memory>
#include <sstream>

namespace fltest {
namespace {

/* A place has a port for the orders between the programs, and the next one for
 * the sides of a case. */
Place place_of(const std::string &text)
{
    size_t colon = text.find(':');
    REQUIRE(colon != text.npos, "'%s' is not ADDRESS:PORT", text.c_str());
    return {text.substr(0, colon), atoi(text.c_str() + colon + 1)};
}

std::vector<Place> places_of(const std::string &text)
{
    std::vector<Place> places;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        places.push_back(place_of(word));
    }
    return places;
}

Place next_port(const Place &place)
{
    return {place.address, place.port + 1};
}

Bytes to_bytes(const std::string &text)
{
    return {text.begin(), text.end()};
}

std::string to_text(const Bytes &bytes)
{
    return {bytes.begin(), bytes.end()};
}

const Case *find(const std::vector<Case> &cases, const std::string &name)
{
    auto it = std::find_if(cases.begin(), cases.end(), [&](const Case &test) {
        return test.name == name;
    });
    return it == cases.end() ? nullptr : &*it;
}

/* The passive program: runs its side of the cases that it is told. */
int serve(const Place &place, const std::vector<Case> &cases)
{
    Listener control(place);
    Listener sides(next_port(place));
    Channel orders = control.accept(60);
    for (;;) {
        std::string name;
        try {
            name = to_text(orders.receive(600));
        } catch (const Failed &) {
            return 0; /* the active program is done */
        }
        const Case *test = find(cases, name);
        REQUIRE(test != nullptr, "no case '%s'", name.c_str());
        Session session(sides);
        Child child(*test, Side::Passive, [&] { test->passive(session); });
        orders.send(to_bytes("started"));
        Outcome outcome = child.wait();
        orders.send(to_bytes(std::string(1, static_cast<char>(outcome.kind)) +
                             outcome.reason));
    }
}

/* The passive program in one place, as the active one sees it. */
class Passive {
public:
    explicit Passive(const Place &place)
        : orders_(Channel::connect(place, 30))
    {
    }

    void start(const Case &test) const
    {
        orders_.send(to_bytes(test.name));
        orders_.receive(30);
    }

    Outcome wait(const Case &test) const
    {
        std::string text = to_text(orders_.receive(test.seconds + 30));
        return {static_cast<Outcome::Kind>(text.at(0)), text.substr(1)};
    }

private:
    Channel orders_;
};

/* What a case came to whose two sides came to these. */
Outcome both(const Outcome &one, const Outcome &other)
{
    if (one.kind == Outcome::Kind::Passed) {
        return other;
    }
    if (one.kind == Outcome::Kind::Failed &&
        other.kind == Outcome::Kind::Failed) {
        return {one.kind, one.reason + "\n" + other.reason};
    }
    return other.kind == Outcome::Kind::Failed ? other : one;
}

Outcome run_case(const Case &test, const std::vector<Place> &places,
                 const std::vector<Passive> &passives)
{
    std::vector<Place> sides;
    for (size_t i = 0; i < places.size() && test.passive; ++i) {
        passives[i].start(test);
        sides.push_back(next_port(places[i]));
    }
    Session session(sides);
    Child child(test, Side::Active, [&] { test.active(session); });
    Outcome outcome = child.wait();
    for (size_t i = 0; i < sides.size(); ++i) {
        outcome = both(outcome, passives[i].wait(test));
    }
    return outcome;
}

void print(const Case &test, const Outcome &outcome, double seconds)
{
    switch (outcome.kind) {
    case Outcome::Kind::Passed:
        printf("ok - %s (%.1f s)\n", test.name.c_str(), seconds);
        break;
    case Outcome::Kind::Skipped:
        printf("skip - %s: %s\n", test.name.c_str(), outcome.reason.c_str());
        break;
    case Outcome::Kind::Failed:
        printf("not ok - %s: ", test.name.c_str());
        for (char c : outcome.reason) {
            printf(c == '\n' ? "\n  # " : "%c", c);
        }
        printf("\n");
        break;
    }
    fflush(stdout);
}

int run(const std::vector<Place> &places,
        const std::vector<std::string> &patterns,
        const std::vector<Case> &cases)
{
    using Clock = std::chrono::steady_clock;
    std::vector<Passive> passives;
    unsigned ran = 0, failed = 0;
    for (const Case &test : cases) {
        bool wanted = std::any_of(
            patterns.begin(), patterns.end(), [&](const std::string &pattern) {
                return fnmatch(pattern.c_str(), test.name.c_str(), 0) == 0;
            });
        if (!wanted) {
            continue;
        }
        if (test.passive && passives.empty()) {
            for (const Place &place : places) {
                passives.emplace_back(place);
            }
        }
        auto start      = Clock::now();
        Outcome outcome = run_case(test, places, passives);
        std::chrono::duration<double> took = Clock::now() - start;
        print(test, outcome, took.count());
        failed += outcome.kind == Outcome::Kind::Failed;
        ++ran;
    }
    REQUIRE(ran != 0, "no case has a name like that");
    return failed != 0;
}

} // namespace

Channel Session::connection(size_t peer) const
{
    return active() ? Channel::connect(peers_.at(peer), 10) :
                      listener_->accept(20);
}

int drive(int argc, char **argv, const std::vector<Case> &cases)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    try {
        if (words.size() == 1 && words[0] == "list") {
            for (const Case &test : cases) {
                printf("%s\n", test.name.c_str());
            }
            return 0;
        }
        if (words.size() == 2 && words[0] == "serve") {
            return serve(place_of(words[1]), cases);
        }
        if (words.size() > 2 && words[0] == "run") {
            return run(places_of(words[1]), {words.begin() + 2, words.end()},
                       cases);
        }
        fprintf(stderr,
                "usage: %s serve PLACE | run PLACES PATTERN... | list\n",
                argv[0]);
        return 2;
    } catch (const Failed &failed) {
        fprintf(stderr, "%s: %s\n", argv[0], failed.reason.c_str());
        return 3;
    }
}

} // namespace fltest
