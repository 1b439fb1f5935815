/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_SCHED_UNITS_H
#define FUSELINK_SCHED_UNITS_H

#include <compare>
#include <cstdint>
#include <limits>

/*
 * The three quantities the scheduler computes with, as types that cannot be
 * mixed up: a count of bytes, a time, and a rate. All are one machine word,
 * are passed by value, and never throw or trap. Where arithmetic could leave
 * the representable range it stops at the end of the range ("saturates"),
 * because a wrapped time or length would become a wild scheduling decision.
 */
namespace fuselink::sched {

/** A count of bytes, 0 .. 2^64-1. */
class Bytes {
public:
    constexpr Bytes() noexcept = default;
    constexpr explicit Bytes(uint64_t n) noexcept : m_n(n) {}

    static constexpr Bytes kib(uint64_t n) noexcept { return Bytes(n << 10); }
    static constexpr Bytes mib(uint64_t n) noexcept { return Bytes(n << 20); }
    static constexpr Bytes max() noexcept
    {
        return Bytes(std::numeric_limits<uint64_t>::max());
    }

    constexpr uint64_t count() const noexcept { return m_n; }
    constexpr bool is_zero() const noexcept { return m_n == 0; }

    constexpr auto operator<=>(const Bytes &) const noexcept = default;

    /* A sum stops at max(), a difference stops at zero. */
    constexpr Bytes &operator+=(Bytes b) noexcept
    {
        m_n = (m_n > max().m_n - b.m_n) ? max().m_n : m_n + b.m_n;
        return *this;
    }
    constexpr Bytes &operator-=(Bytes b) noexcept
    {
        m_n = (b.m_n > m_n) ? 0 : m_n - b.m_n;
        return *this;
    }
    friend constexpr Bytes operator+(Bytes a, Bytes b) noexcept
    {
        return a += b;
    }
    friend constexpr Bytes operator-(Bytes a, Bytes b) noexcept
    {
        return a -= b;
    }
    friend constexpr Bytes operator*(Bytes a, uint64_t k) noexcept
    {
        uint64_t product = 0; /* by its overflow: no division */
        return __builtin_mul_overflow(a.m_n, k, &product) ? max() :
                                                            Bytes(product);
    }
    /** Rounds down; dividing by zero gives max(). */
    friend constexpr Bytes operator/(Bytes a, uint64_t k) noexcept
    {
        return (k == 0) ? max() : Bytes(a.m_n / k);
    }

private:
    uint64_t m_n = 0;
};

/** A duration, or an instant of the caller's monotonic clock, in nanoseconds.
 *  The scheduler only ever uses differences of instants. */
class Nanos {
public:
    constexpr Nanos() noexcept = default;
    constexpr explicit Nanos(int64_t n) noexcept : m_n(n) {}

    static constexpr Nanos micros(int64_t n) noexcept
    {
        return Nanos(n * 1'000);
    }
    static constexpr Nanos millis(int64_t n) noexcept
    {
        return Nanos(n * 1'000'000);
    }
    /** @param s seconds; out of range values stop at the ends, NaN is 0. */
    static constexpr Nanos seconds(double s) noexcept
    {
        const double ns = s * 1e9;
        if (ns >= 9.2233720368547e18) {
            return max();
        } else if (ns <= -9.2233720368547e18) {
            return min();
        }
        return (ns == ns) ? Nanos(static_cast<int64_t>(ns)) : Nanos();
    }
    static constexpr Nanos max() noexcept
    {
        return Nanos(std::numeric_limits<int64_t>::max());
    }
    static constexpr Nanos min() noexcept
    {
        return Nanos(std::numeric_limits<int64_t>::min());
    }

    constexpr int64_t count() const noexcept { return m_n; }
    constexpr double as_seconds() const noexcept
    {
        return static_cast<double>(m_n) * 1e-9;
    }

    constexpr auto operator<=>(const Nanos &) const noexcept = default;

    friend constexpr Nanos operator+(Nanos a, Nanos b) noexcept
    {
        int64_t sum = 0;
        if (__builtin_add_overflow(a.m_n, b.m_n, &sum)) {
            return (b.m_n > 0) ? max() : min();
        }
        return Nanos(sum);
    }
    friend constexpr Nanos operator-(Nanos a, Nanos b) noexcept
    {
        int64_t diff = 0;
        if (__builtin_sub_overflow(a.m_n, b.m_n, &diff)) {
            return (b.m_n < 0) ? max() : min();
        }
        return Nanos(diff);
    }
    friend constexpr Nanos operator*(Nanos a, int64_t k) noexcept
    {
        int64_t product = 0;
        if (__builtin_mul_overflow(a.m_n, k, &product)) {
            return ((a.m_n > 0) == (k > 0)) ? max() : min();
        }
        return Nanos(product);
    }
    /** Rounds toward zero; dividing by zero gives max() or min(). */
    friend constexpr Nanos operator/(Nanos a, int64_t k) noexcept
    {
        if (k == 0) {
            return (a.m_n < 0) ? min() : max();
        }
        return (k == -1) ? a * -1 : Nanos(a.m_n / k);
    }
    constexpr Nanos &operator+=(Nanos b) noexcept { return *this = *this + b; }
    constexpr Nanos &operator-=(Nanos b) noexcept { return *this = *this - b; }

private:
    int64_t m_n = 0;
};

/** A throughput in bytes per second, 0 .. 10^15. Zero means "unknown". */
class Rate {
public:
    constexpr Rate() noexcept = default;
    /** Negative values and NaN become 0, values above the range its end. */
    constexpr explicit Rate(double bytes_per_second) noexcept
        : m_bps(!(bytes_per_second > 0)   ? 0 :
                (bytes_per_second > 1e15) ? 1e15 :
                                            bytes_per_second)
    {
    }

    /** 10^6 bits per second, the unit NICs are sold by. */
    static constexpr Rate mbit(double mbits_per_second) noexcept
    {
        return Rate(mbits_per_second * 1e6 / 8);
    }

    constexpr double bytes_per_second() const noexcept { return m_bps; }
    constexpr double mbits_per_second() const noexcept
    {
        return m_bps * 8 / 1e6;
    }
    constexpr bool is_zero() const noexcept { return m_bps == 0; }

    constexpr auto operator<=>(const Rate &) const noexcept = default;

    friend constexpr Rate operator+(Rate a, Rate b) noexcept
    {
        return Rate(a.m_bps + b.m_bps);
    }
    friend constexpr Rate operator*(Rate r, double k) noexcept
    {
        return Rate(r.m_bps * k);
    }

private:
    double m_bps = 0;
};

/** Time to move @a b at @a r; Nanos::max() when the rate is 0. */
constexpr Nanos operator/(Bytes b, Rate r) noexcept
{
    if (r.is_zero()) {
        return b.is_zero() ? Nanos() : Nanos::max();
    }
    return Nanos::seconds(static_cast<double>(b.count()) /
                          r.bytes_per_second());
}

/** Bytes moved at @a r in @a t; 0 when the time is negative. */
constexpr Bytes operator*(Rate r, Nanos t) noexcept
{
    const double n = r.bytes_per_second() * t.as_seconds();
    if (!(n > 0)) {
        return Bytes();
    }
    /* By way of a signed number, for which processors have an instruction. */
    return (n >= 9.2233720368547e18) ?
                   Bytes::max() :
                   Bytes(static_cast<uint64_t>(static_cast<int64_t>(n)));
}
constexpr Bytes operator*(Nanos t, Rate r) noexcept
{
    return r * t;
}

/** Average rate of @a b over @a t; 0 ("unknown") when no time passed. */
constexpr Rate operator/(Bytes b, Nanos t) noexcept
{
    return (t.count() <= 0) ?
                   Rate() :
                   Rate(static_cast<double>(b.count()) / t.as_seconds());
}

} // namespace fuselink::sched

#endif
