/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* fuselink_top: who moves what over which NIC of this node, now. */

#include "../common/arguments.h"
#include "../common/atomic_file.h"
#include "fuselink_config.h"
#include "show.h"

#include <charconv>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace fuselink::top {
namespace {

constexpr const char *kHelp =
    "usage: fuselink_top [OPTION]...\n"
    "\n"
    "What the processes of this node that use fuselink move over each NIC, in\n"
    "each direction: speed, share of the NIC's speed, bytes in flight, and who.\n"
    "NIC TOTAL is what the kernel counts for all programs. Below: what has failed;\n"
    "the processes; and GPUs whose link to the host is lent, to whom, and how many\n"
    "slots wait for a copy between GPUs (HOP), the lender (WAIT), the link (COPIED).\n"
    "Processes of other users are shown to root only, those with\n"
    "UCX_FUSELINK_BOARD=n to nobody, and NICs of the network namespace it is\n"
    "started in. It only reads: jobs do not notice.\n"
    "\n"
    "  --interval SECONDS  time between two readings, 0.05 to 3600 (1)\n"
    "  --once              one table over one interval, then end\n"
    "  --json              a JSON object per reading, each on a line\n"
    "  --prometheus FILE   write FILE at each reading, in the text format of\n"
    "                      Prometheus, instead of the table; with --once right\n"
    "                      away. For the textfile collector of node_exporter\n"
    "  --version           print the version\n"
    "  --help              print this\n"
    "\n"
    "Exit status: 0; 1 if a file or the output cannot be written; 2 for wrong\n"
    "arguments.\n";

/* The releases of UCX, 1.N, for which there is a library. */
constexpr uint8_t kUcxMinors[] = {13, 22};

struct Options {
    double      interval = 1;
    bool        once     = false;
    bool        json     = false;
    std::string prometheus;
};

int fail(int status, const std::string &error)
{
    fprintf(stderr, "fuselink_top: %s\n", error.c_str());
    return status;
}

bool read_interval(const std::string &text, double &seconds)
{
    const char *end = text.data() + text.size();
    auto parsed     = std::from_chars(text.data(), end, seconds);
    return parsed.ec == std::errc() && parsed.ptr == end && seconds >= 0.05 &&
           seconds <= 3600;
}

void pause_for(double seconds)
{
    timespec left{static_cast<time_t>(seconds),
                  static_cast<long>((seconds - static_cast<time_t>(seconds)) *
                                    1e9)};
    while (nanosleep(&left, &left) != 0) {
    }
}

/* All anew each time: users come and go. */
Reading read_now()
{
    Reading reading = read_boards(Board::watch(), Board::now());
    for (uint8_t minor : kUcxMinors) { /* jobs over another UCX do not see each other */
        add_gpu_links(RelayRegistry::watch(minor), reading);
    }
    return reading;
}

bool print(const std::string &text)
{
    return fputs(text.c_str(), stdout) >= 0 && fflush(stdout) == 0;
}

int run(const Options &options)
{
    const bool  shows   = options.json || options.prometheus.empty();
    const char *clear   = !options.json && !options.once &&
                          isatty(STDOUT_FILENO) ? "\033[H\033[J" : "";
    Reading     before  = read_now();
    std::string error;
    for (bool first = true;; first = false) {
        if (!first || shows) {
            pause_for(options.interval);
        }
        Reading after   = first && !shows ? before : read_now();
        Traffic traffic = compare(before, after);
        if (!options.prometheus.empty() &&
            !replace_file(options.prometheus, show_prometheus(after), error)) {
            return fail(1, error);
        }
        if (shows && !print(clear + (options.json ?
                                         show_json(after, traffic) :
                                         show_text(after, traffic)))) {
            return fail(1, "cannot write to the standard output");
        }
        if (options.once) {
            return 0;
        }
        before = std::move(after);
    }
}

int main(int argc, char **argv)
{
    Arguments   arguments;
    Options     options;
    std::string error;
    if (!arguments.parse(argc, argv,
                         {{"interval", true}, {"once", false},
                          {"json", false}, {"prometheus", true},
                          {"version", false}, {"help", false}}, error)) {
        return fail(2, error);
    }
    if (arguments.has("help")) {
        return print(kHelp) ? 0 : 1;
    }
    if (arguments.has("version")) {
        return print("fuselink_top " FUSELINK_VERSION "\n") ? 0 : 1;
    }
    std::string interval = arguments.value("interval", "1");
    if (!read_interval(interval, options.interval)) {
        return fail(2, "--interval '" + interval +
                           "': accepted: 0.05 to 3600, seconds");
    }
    options.once       = arguments.has("once");
    options.json       = arguments.has("json");
    options.prometheus = arguments.value("prometheus");
    if (arguments.has("prometheus") && options.prometheus.empty()) {
        return fail(2, "--prometheus '': accepted: the name of a file");
    }
    return run(options);
}

} // namespace
} // namespace fuselink::top

int main(int argc, char **argv)
{
    return fuselink::top::main(argc, argv);
}
