/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Settings that make no sense: one line that names the setting and what it
 * accepts, and a clean failure. */

#include "../stack/iface.h"
#include "cases.h"

namespace fltest {
namespace {

void domain_refuses(Session &)
{
    ucs_status_t status = Domain::try_open();
    REQUIRE(UCS_STATUS_IS_ERR(status), "the memory domain opened");
}

void iface_refuses(Session &)
{
    Domain domain;
    Worker worker;
    ucs_status_t status = Iface::try_open(domain, worker, "rails");
    REQUIRE(UCS_STATUS_IS_ERR(status), "the interface opened");
}

/* The rails are gone, the node's own devices work on. */
void no_rails(Session &)
{
    Domain rails, node = Domain::of_device("node");
    REQUIRE(rails.devices("fuselink").empty(), "there is a device 'rails'");
    REQUIRE(node.devices("fuselink").size() == 2, "devices of the node are missing");
}

Case make(const std::string &name, void (*run)(Session &),
          const std::string &setting, const std::string &value,
          const std::string &line)
{
    Case test{"settings." + name, run, nullptr};
    test.settings = {{Side::Both, "UCX_FUSELINK_" + setting, value}};
    test.log = {{Side::Active, "UCX_FUSELINK_" + setting + "[=:].*" + line}};
    return test;
}

} // namespace

std::vector<Case> settings_cases()
{
    std::vector<Case> cases;
    auto add = [&](const char *name, void (*run)(Session &),
                   const char *setting, const char *value, const char *line) {
        cases.push_back(make(name, run, setting, value, line));
    };

    add("sched.unknown", iface_refuses, "SCHED", "fastest",
        "accepted: .*single.*stripe.*finish");
    add("sched.empty", iface_refuses, "SCHED", "",
        "accepted: .*single.*stripe.*finish");
    add("sched.case", iface_refuses, "SCHED", "FINISH",
        "accepted: .*single.*stripe.*finish");

    const char *list = "accepted: 'all', a list like";
    add("devices.empty_element", domain_refuses, "DEVICES", "nic0,,nic1", list);
    add("devices.comma", domain_refuses, "DEVICES", ",", list);
    add("devices.caret", domain_refuses, "DEVICES", "^", list);
    add("devices.caret_inside", domain_refuses, "DEVICES", "nic0,^nic1", list);
    add("devices.all_and_more", domain_refuses, "DEVICES", "all,nic0", list);
    add("devices.none_like_that", domain_refuses, "DEVICES", "eth77",
        "no NIC port 'eth77'.*ports here: .*nic0.*nic1");
    add("devices.one_of_them_missing", domain_refuses, "DEVICES", "nic0,eth77",
        "no NIC port 'eth77'.*ports here: .*nic0.*nic1");

    const char *weights = "accepted: a list like";
    for (const char *bad : {"nic0", "nic0=", "=2", "nic0=0", "nic0=-1",
                            "nic0=x", "nic0=inf", "nic0=nan", "nic0=1,,",
                            "nic0=1e999"}) {
        cases.push_back(make(std::string("weights.") + bad, domain_refuses,
                             "WEIGHTS", bad, weights));
    }

    const char *lanes = "accepted: a list of posix, sysv and cma, or 'none'";
    for (const char *bad : {"tcp", "posix,none", "posix,,cma", "none,cma"}) {
        cases.push_back(make(std::string("node_lanes.") + bad, domain_refuses,
                             "NODE_LANES", bad, lanes));
    }

    const char *tls = "accepted: 'all' or a list of rc_mlx5, dc_mlx5";
    for (const char *bad : {"rc", "", "tcp,", "tcp,tcp", "all,tcp"}) {
        cases.push_back(make(std::string("rail_tls.") + bad, domain_refuses,
                             "RAIL_TLS", bad, tls));
    }

    const char *chunks = "accepted: 1 <= MIN_CHUNK <= MAX_CHUNK";
    add("chunk.zero", iface_refuses, "MIN_CHUNK", "0", chunks);
    add("chunk.crossed", iface_refuses, "MIN_CHUNK", "8m", chunks);
    add("chunk_time.zero", iface_refuses, "CHUNK_TIME", "0", "accepted: ");
    add("chunk_time.long", iface_refuses, "CHUNK_TIME", "10s", "accepted: ");

    add("inline_get.large", iface_refuses, "INLINE_GET", "1m", "accepted: ");

    add("own.empty_element", iface_refuses, "OWN", "nic0,,nic1", list);
    add("borrow.comma", iface_refuses, "BORROW", ",", list);
    add("borrow_max.zero", iface_refuses, "BORROW_MAX", "0", "accepted: ");
    add("standby.empty_element", iface_refuses, "STANDBY", "nic0,,nic1", list);
    add("trace_size.zero", iface_refuses, "TRACE_SIZE", "0", "accepted: ");
    add("trace.no_folder", iface_refuses, "TRACE", "/nowhere/trace",
        "/nowhere/trace: No such file");
    add("report.no_folder", iface_refuses, "REPORT", "/nowhere/report",
        "/nowhere/report: No such file");

    /* Everything excluded is a choice, not an error, but worth a line. */
    Case excluded = make("devices.all_excluded", no_rails, "DEVICES",
                         "^nic0,nic1,nic2,nic3,mgmt0", "");
    excluded.log  = {{Side::Active, "UCX_FUSELINK_DEVICES leaves no NIC port.*"
                                    "ports here: .*nic0"}};
    cases.push_back(excluded);
    return cases;
}

} // namespace fltest
