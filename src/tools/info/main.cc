/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* fuselink_info: what the transport would do in a process started like this
 * one. */

#include "../common/arguments.h"
#include "../common/own_copy.h"
#include "fuselink_config.h"
#include "gather.h"
#include "show.h"

#include <cstdio>
#include <string>

namespace fuselink::info {
namespace {

constexpr const char *kHelp =
    "usage: fuselink_info [--json]\n"
    "\n"
    "What fuselink makes of this node, for a process bound to the CPUs and with\n"
    "the environment of this one: rails, with speed and NUMA node; what is\n"
    "between them and GPUs; how transfers would be divided over them; NIC ports\n"
    "that are no rails, and why; settings. The transport itself is opened for\n"
    "that, so it is what a program gets. Start it as the program is started:\n"
    "\n"
    "    UCX_FUSELINK_DEVICES=eth0,eth1 taskset -c 0-7 fuselink_info\n"
    "\n"
    "  --json     one JSON object\n"
    "  --version  print the version\n"
    "  --help     print this\n"
    "\n"
    "Exit status: 0; 1 if the transport cannot be opened; 2 for wrong "
    "arguments.\n";

int main(int argc, char **argv)
{
    Arguments   arguments;
    std::string error;
    if (!arguments.parse(argc, argv,
                         {{"json", false}, {"version", false},
                          {"help", false}}, error)) {
        fprintf(stderr, "fuselink_info: %s\n", error.c_str());
        return 2;
    }
    Facts       facts;
    std::string text;
    bool        ok = true;
    if (arguments.has("help")) {
        text = kHelp;
    } else if (arguments.has("version")) {
        text = "fuselink_info " FUSELINK_VERSION "\n";
    } else {
        ok = gather(facts, error);
        if (!ok) {
            fprintf(stderr, "fuselink_info: %s\n", error.c_str());
            return 1;
        }
        if (arguments.has("json")) {
            text = show_json(facts);
        } else {
            for (const auto &note : facts.notes) {
                fprintf(stderr, "fuselink_info: %s\n", note.c_str());
            }
            text = show_text(facts);
        }
    }
    if (fputs(text.c_str(), stdout) < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "fuselink_info: cannot write to the standard output\n");
        return 1;
    }
    return 0;
}

} // namespace
} // namespace fuselink::info

int main(int argc, char **argv)
{
    fuselink::use_own_copy(argv);
    return fuselink::info::main(argc, argv);
}
