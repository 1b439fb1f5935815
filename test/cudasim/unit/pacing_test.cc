/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "sim/clock.h"
#include "unit/gpu.h"
#include "unit/process.h"

using namespace cudasim_test;
using cudasim::now_ns;

namespace {

const std::string kNode = "gpus 4\nmemory 64MiB\npcie 20MB/s\nnvswitch 80MB/s\n";
constexpr size_t  kSize = 4000000; /* 200 ms over PCIe, 50 over NVLink */

/* The machine that runs the tests has other work at times: what is right in one
 * of a few tries is right. */
template <typename Try> void within_tries(Try attempt)
{
    constexpr int kTries = 5;
    for (int i = 1; i < kTries; ++i) {
        if (attempt(false)) {
            return;
        }
    }
    attempt(true);
}

bool near(double value, double wanted, double part, bool last, const char *what)
{
    bool good = std::abs(value - wanted) <= wanted * part;
    if (last) {
        EXPECT_NEAR(value, wanted, wanted * part) << what;
    }
    return good;
}

/* One copy in a stream of its own, timed with events and by the clock. */
class Timed {
public:
    Timed(CUdeviceptr to, CUdeviceptr from, size_t size)
    {
        EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        EXPECT_EQ(cuEventCreate(&begin_, 0), CUDA_SUCCESS);
        EXPECT_EQ(cuEventCreate(&end_, 0), CUDA_SUCCESS);
        started_ = now_ns();
        EXPECT_EQ(cuEventRecord(begin_, stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemcpyAsync(to, from, size, stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuEventRecord(end_, stream_), CUDA_SUCCESS);
    }
    /* Seconds between the events. */
    double seconds()
    {
        float milliseconds = 0;
        EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
        clock_ = static_cast<double>(now_ns() - started_) / 1e9;
        EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin_, end_), CUDA_SUCCESS);
        return static_cast<double>(milliseconds) / 1e3;
    }
    /* ... and by the clock, after seconds(). */
    double clock() const { return clock_; }

private:
    CUstream stream_ = nullptr;
    CUevent  begin_ = nullptr, end_ = nullptr;
    uint64_t started_ = 0;
    double   clock_   = 0;
};

CUdeviceptr address(void *pointer)
{
    return reinterpret_cast<CUdeviceptr>(pointer);
}

TEST(Pacing, RateOfEveryKindOfLink)
{
    run(kNode, [] {
        use(1);
        CUdeviceptr other = gpu_memory(kSize);
        use(0);
        CUdeviceptr gpu  = gpu_memory(kSize);
        CUdeviceptr host = address(host_memory(kSize));
        struct {
            const char *what;
            CUdeviceptr to, from;
            double      rate;
        } ways[] = {
            {"up", host, gpu, 20e6},
            {"down", gpu, host, 20e6},
            {"NVLink", other, gpu, 80e6},
        };
        for (const auto &way : ways) {
            within_tries([&](bool last) {
                Timed  copy(way.to, way.from, kSize);
                double seconds = copy.seconds();
                EXPECT_GE(copy.clock(), kSize / way.rate * 0.99) << way.what;
                return near(seconds, kSize / way.rate, 0.03, last, way.what) &&
                       near(copy.clock(), kSize / way.rate, 0.05, last,
                            way.what);
            });
        }
    });
}

TEST(Pacing, SmallCopiesInARowAreNoFaster)
{
    run(kNode, [] {
        use(0);
        constexpr size_t kPart = 4000;
        CUdeviceptr gpu    = gpu_memory(kPart);
        CUdeviceptr host   = address(host_memory(kPart));
        CUstream    stream = nullptr;
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        within_tries([&](bool last) {
            uint64_t start = now_ns();
            for (int i = 0; i < 500; ++i) { /* 100 ms */
                EXPECT_EQ(cuMemcpyAsync(gpu, host, kPart, stream), CUDA_SUCCESS);
            }
            EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
            double seconds = static_cast<double>(now_ns() - start) / 1e9;
            EXPECT_GE(seconds, 0.099);
            return near(seconds, 0.1, 0.08, last, "500 copies");
        });
    });
}

TEST(Pacing, TwoCopiesShareALink)
{
    run(kNode, [] {
        use(0);
        CUdeviceptr a = gpu_memory(kSize), b = gpu_memory(kSize);
        CUdeviceptr x = address(host_memory(kSize));
        CUdeviceptr y = address(host_memory(kSize));
        within_tries([&](bool last) {
            Timed  first(a, x, kSize), second(b, y, kSize);
            double one = first.seconds(), two = second.seconds();
            return near(one, 2 * kSize / 20e6, 0.05, last, "first") &&
                   near(two, 2 * kSize / 20e6, 0.05, last, "second");
        });
    });
}

TEST(Pacing, BothDirectionsShareTheMemoryOfASocket)
{
    run("gpus 3\npcie 40MB/s\nhost-memory 20MB/s\nnuma 1 gpus 2\n", [] {
        use(0);
        CUdeviceptr a = gpu_memory(kSize);
        use(1);
        CUdeviceptr b = gpu_memory(kSize);
        use(2);
        CUdeviceptr c = gpu_memory(kSize);
        CUdeviceptr x = address(host_memory(kSize));
        CUdeviceptr y = address(host_memory(kSize));
        CUdeviceptr z = address(host_memory(kSize));
        within_tries([&](bool last) {
            Timed  down(a, x, kSize), up(y, b, kSize), other(z, c, kSize);
            double one = down.seconds(), two = up.seconds(), three = other.seconds();
            return near(one, 2 * kSize / 20e6, 0.05, last, "down") &&
                   near(two, 2 * kSize / 20e6, 0.05, last, "up") &&
                   near(three, kSize / 20e6, 0.05, last, "the other socket");
        });
    });
}

TEST(Pacing, BothDirectionsAtOnce)
{
    run(kNode, [] {
        use(0);
        CUdeviceptr a = gpu_memory(kSize), b = gpu_memory(kSize);
        CUdeviceptr x = address(host_memory(kSize));
        CUdeviceptr y = address(host_memory(kSize));
        within_tries([&](bool last) {
            Timed  down(a, x, kSize), up(y, b, kSize);
            double one = down.seconds(), two = up.seconds();
            return near(one, kSize / 20e6, 0.05, last, "down") &&
                   near(two, kSize / 20e6, 0.05, last, "up");
        });
    });
}

/* The port of the one that sends to both, not those of the others. */
TEST(Pacing, PortsOfTheSwitch)
{
    run(kNode, [] {
        CUdeviceptr memory[4];
        for (int i = 3; i >= 0; --i) {
            use(i);
            memory[i] = gpu_memory(kSize);
        }
        within_tries([&](bool last) {
            Timed  a(memory[1], memory[0], kSize), b(memory[2], memory[0], kSize);
            double one = a.seconds(), two = b.seconds();
            return near(one, 2 * kSize / 80e6, 0.05, last, "0 to 1") &&
                   near(two, 2 * kSize / 80e6, 0.05, last, "0 to 2");
        });
        within_tries([&](bool last) {
            Timed  a(memory[1], memory[0], kSize), b(memory[3], memory[2], kSize);
            double one = a.seconds(), two = b.seconds();
            return near(one, kSize / 80e6, 0.05, last, "0 to 1") &&
                   near(two, kSize / 80e6, 0.05, last, "2 to 3");
        });
    });
}

/* What a relay is for: out of GPU 0 over its own PCIe, and at once over NVLink
 * into three others and out over theirs. NVLink has 80 MB/s, enough for three
 * times 20. */
TEST(Pacing, WaysOverOtherGpusAddUp)
{
    run(kNode, [] {
        constexpr int    kParts = 20;
        constexpr size_t kPart  = 100000;
        CUdeviceptr      relay[4], host[4];
        CUstream         hop[4], out[4];
        CUevent          landed[kParts][4], begin, end[4];
        for (int i = 3; i >= 0; --i) {
            use(i);
            relay[i] = gpu_memory(kParts * kPart);
            host[i]  = address(host_memory(kParts * kPart));
        }
        CU(cuEventCreate(&begin, 0));
        for (int i = 0; i < 4; ++i) {
            CU(cuStreamCreate(&hop[i], CU_STREAM_NON_BLOCKING));
            CU(cuStreamCreate(&out[i], CU_STREAM_NON_BLOCKING));
            CU(cuEventCreate(&end[i], 0));
            for (auto &events : landed) {
                CU(cuEventCreate(&events[i], 0));
            }
        }
        auto relayed = [&](int i) {
            for (size_t part = 0; part < kParts; ++part) {
                size_t at = part * kPart;
                if (i > 0) {
                    CU(cuMemcpyDtoDAsync(relay[i] + at, relay[0] + at, kPart,
                                         hop[i]));
                    CU(cuEventRecord(landed[part][i], hop[i]));
                    CU(cuStreamWaitEvent(out[i], landed[part][i], 0));
                }
                CU(cuMemcpyDtoHAsync(reinterpret_cast<void *>(host[i] + at),
                                     relay[i] + at, kPart, out[i]));
            }
            CU(cuEventRecord(end[i], out[i]));
        };
        within_tries([&](bool last) {
            float longest = 0;
            EXPECT_EQ(cuEventRecord(begin, out[0]), CUDA_SUCCESS);
            for (int i = 3; i >= 0; --i) {
                relayed(i);
            }
            EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
            for (CUevent event : end) {
                float milliseconds = 0;
                EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, event),
                          CUDA_SUCCESS);
                longest = std::max(longest, milliseconds);
            }
            return near(4 * kParts * kPart / (longest / 1e3), 80e6, 0.1, last,
                        "all four PCIe links");
        });
    });
}

TEST(Pacing, DeniedPeersGoThroughTheHost)
{
    run(kNode, [] {
        use(1);
        CUdeviceptr other = gpu_memory(kSize);
        use(0);
        CUdeviceptr gpu = gpu_memory(kSize);
        within_tries([&](bool last) {
            Timed copy(other, gpu, kSize);
            return near(copy.seconds(), kSize / 20e6, 0.05, last, "staged");
        });
    }, {{"CUDASIM_FAULTS", "peer@0-1"}});
}

TEST(Pacing, LatencyIsPaidOnceACopy)
{
    run(kNode + "latency 5ms\n", [] {
        use(0);
        CUdeviceptr gpu  = gpu_memory(20000);
        CUdeviceptr host = address(host_memory(20000));
        within_tries([&](bool last) {
            Timed copy(gpu, host, 20000); /* 1 ms */
            return near(copy.seconds(), 0.006, 0.1, last, "6 ms");
        });
    });
}

/* How much of its time this process had to wait for a CPU. */
class Lateness {
public:
    Lateness() : thread_([this] { run(); }) {}
    double stop()
    {
        stop_ = true;
        thread_.join();
        return static_cast<double>(late_ns_) / static_cast<double>(all_ns_);
    }

private:
    void run()
    {
        constexpr timespec kSleep = {0, 1000000};
        uint64_t           begin = now_ns(), last = begin;
        while (!stop_) {
            nanosleep(&kSleep, nullptr);
            uint64_t now = now_ns();
            late_ns_ += now - last - 1000000;
            last = now;
        }
        all_ns_ = last - begin;
    }

    std::atomic<bool> stop_{false};
    uint64_t          late_ns_ = 0, all_ns_ = 1;
    std::thread       thread_;
};

/* As two ranks of a job: each copies for half a second. */
struct Share {
    uint64_t bytes;
    double   late;
};

void copy_when_told(Channel &channel)
{
    constexpr size_t kPart = 200000;
    use(0);
    CUdeviceptr gpu    = gpu_memory(kPart);
    CUdeviceptr host   = address(host_memory(kPart));
    CUstream    stream = nullptr;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    channel.send('r');
    channel.receive<char>();
    Lateness lateness;
    uint64_t bytes = 0, end = now_ns() + 500000000;
    while (now_ns() < end) {
        CU(cuMemcpyAsync(gpu, host, kPart, stream));
        CU(cuMemcpyAsync(gpu, host, kPart, stream));
        CU(cuStreamSynchronize(stream));
        bytes += 2 * kPart;
    }
    channel.send(Share{bytes, lateness.stop()});
}

/* The shares of a link are those of the processes that are there to ask for
 * them: one that gets no CPU gets less. */
TEST(Pacing, TwoProcessesShareALinkEvenly)
{
    bool ran = false;
    for (int tries = 0; tries < 8; ++tries) {
        /* A file of their own each, with the same text: that is one node. */
        Process a(kNode, copy_when_told), b(kNode, copy_when_told);
        for (Process *p : {&a, &b}) {
            p->channel().receive<char>();
        }
        for (Process *p : {&a, &b}) {
            p->channel().send('g');
        }
        Share  one = a.channel().receive<Share>();
        Share  two = b.channel().receive<Share>();
        double sum = static_cast<double>(one.bytes + two.bytes);
        ASSERT_TRUE(a.good() && b.good());
        EXPECT_LE(sum, 20e6 * 0.56); /* the last copies end after the time */
        double late = one.late + two.late;
        if (late > 0.2) {
            continue; /* timers alone make 0.1 */
        }
        ran = true;
        /* While one of them has no CPU the other has the link. */
        if (sum >= 20e6 * 0.48 * (1 - late) &&
            std::abs(static_cast<double>(one.bytes) / sum - 0.5) <=
                0.05 + late / 2) {
            return;
        }
    }
    if (!ran) {
        GTEST_SKIP() << "the machine is too busy to run two processes at once";
    }
    FAIL() << "never evenly, but for what each waited for a CPU";
}

} // namespace
