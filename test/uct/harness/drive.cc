/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "case.h"
#include "child.h"
#include "failure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fnmatch.h>
#include <memory>

namespace fltest {
namespace {

/* Namespaces of the cluster have their ports to themselves. */
constexpr int kControlPort = 7400; /* between the two programs */
constexpr int kCasePort    = 7401; /* between the two sides of a case */

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
int serve(const std::string &address, const std::vector<Case> &cases)
{
    Listener control(address, kControlPort);
    Listener sides(address, kCasePort);
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
        Session session("", &sides);
        Child child(*test, Side::Passive, [&] { test->passive(session); });
        orders.send(to_bytes("started"));
        Outcome outcome = child.wait();
        orders.send(to_bytes(std::string(1, static_cast<char>(outcome.kind)) +
                             outcome.reason));
    }
}

Outcome run_case(const Case &test, const std::string &peer, Channel &orders)
{
    if (test.passive) {
        orders.send(to_bytes(test.name));
        orders.receive(30);
    }
    Session session(peer, nullptr);
    Child child(test, Side::Active, [&] { test.active(session); });
    Outcome own = child.wait();
    if (!test.passive) {
        return own;
    }
    std::string text = to_text(orders.receive(test.seconds + 30));
    Outcome other{static_cast<Outcome::Kind>(text.at(0)), text.substr(1)};
    if (own.kind == Outcome::Kind::Passed) {
        return other;
    }
    if (own.kind == Outcome::Kind::Failed &&
        other.kind == Outcome::Kind::Failed) {
        own.reason += "\n" + other.reason;
    }
    return own;
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

int run(const std::string &peer, const std::vector<std::string> &patterns,
        const std::vector<Case> &cases)
{
    using Clock = std::chrono::steady_clock;
    Channel orders;
    unsigned ran = 0, failed = 0;
    for (const Case &test : cases) {
        bool wanted = std::any_of(
            patterns.begin(), patterns.end(), [&](const std::string &pattern) {
                return fnmatch(pattern.c_str(), test.name.c_str(), 0) == 0;
            });
        if (!wanted) {
            continue;
        }
        if (test.passive && !orders.open()) {
            orders = Channel::connect(peer, kControlPort, 30);
        }
        auto start      = Clock::now();
        Outcome outcome = run_case(test, peer, orders);
        std::chrono::duration<double> took = Clock::now() - start;
        print(test, outcome, took.count());
        failed += outcome.kind == Outcome::Kind::Failed;
        ++ran;
    }
    REQUIRE(ran != 0, "no case has a name like that");
    return failed != 0;
}

} // namespace

Channel Session::connection() const
{
    return active() ? Channel::connect(peer_, kCasePort, 10) :
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
            return serve(words[1], cases);
        }
        if (words.size() > 2 && words[0] == "run") {
            return run(words[1], {words.begin() + 2, words.end()}, cases);
        }
        fprintf(stderr,
                "usage: %s serve ADDRESS | run ADDRESS PATTERN... | list\n",
                argv[0]);
        return 2;
    } catch (const Failed &failed) {
        fprintf(stderr, "%s: %s\n", argv[0], failed.reason.c_str());
        return 3;
    }
}

} // namespace fltest
