/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rate_meter.h"

#include <algorithm>

namespace fuselink::sched {
namespace {

/* A sample is credible after so much busy time, in which a scheduling hiccup
 * of the process no longer dominates, or on fast paths after so many bytes.
 * The first comes sooner, since nearly anything is better than a prior. */
constexpr Nanos sample_time = Nanos::millis(2);
constexpr Nanos first_sample_time = Nanos::micros(500);
constexpr Bytes sample_bytes = Bytes::mib(4);
constexpr Bytes first_sample_bytes = Bytes::mib(1);
/* ... but no sample is shorter than this. */
constexpr Nanos sample_least_time = Nanos::micros(50);

/* The one constant of the average: a sample of busy time t weighs
 * t / (t + evidence), where evidence is the busy time behind the estimate, at
 * most this. So the first sample replaces the prior, the estimate is the plain
 * mean until so much is measured, and from then on a sample that is as long as
 * the memory counts as much as all before it. Long against the noise of single
 * acknowledgements (a chunk lasts about 4 ms), short against a change that
 * matters. */
constexpr Nanos memory = Nanos::millis(64);

/* A sample cannot count as further from a measured estimate than this factor:
 * a stall of a second must not send it to nothing, nor a burst to infinity. */
constexpr double largest_step = 16;

/* At least one part in so many of a chunk's time is taken to be its bytes'. */
constexpr int64_t least_part = 8;

/* Bounds of any estimate, bytes per second. */
constexpr double slowest = 4096;
constexpr double fastest = 1e12;

/* What to assume when not even the NIC's own claim is known. */
constexpr Rate default_prior = Rate::mbit(1000);

/* An estimate is out of date after this time without a sample. A probe should
 * not cost more than a hundredth of the time, so on a hopeless path it takes a
 * hundred times what 16 KiB take, if that is longer. */
constexpr Nanos stale_time = Nanos::millis(2000);
constexpr Bytes probe_bytes = Bytes::kib(16);
constexpr int64_t probe_interval = 100;

/* One terrible sample may be a lost packet or the rail's new rate. That is
 * worth finding out sooner, at up to a tenth of the time; the first time within
 * a second, because a cable that was out looks like a rate of next to nothing. */
constexpr Nanos doubt_time = Nanos::millis(50);
constexpr Nanos first_doubt_time = Nanos::millis(1000);
constexpr int64_t doubt_interval = 10;

/* Of so few samples each may be such a one. The very first fall into the time in
 * which processes start and connections come about, and a path that has looked
 * slow to them would get nothing to show the contrary for long. */
constexpr unsigned few_samples = 4;
constexpr Nanos few_samples_time = Nanos::millis(250);

/* Evidence left to an estimate that is out of date. */
constexpr Nanos stale_evidence = Nanos::millis(1);

/* A path is too slow when it needs so many times what it should. One would
 * punish every late acknowledgement. */
constexpr uint64_t patience = 2;

/* Windows are up to two to this power times as wide as the rate wants, and narrower
 * again after this time. */
constexpr unsigned widest = 3;
constexpr Nanos narrow_time = Nanos::millis(500);

/* Of so few chunks it is chance whether they come together. */
constexpr unsigned least_chunks = 3;

Rate bounded(Rate rate) noexcept
{
    return Rate(std::clamp(rate.bytes_per_second(), slowest, fastest));
}

} // namespace

RateMeter::RateMeter(Rate prior, Nanos overhead) noexcept
    : m_calm_until(Nanos::min()),
      m_rate(bounded(prior.is_zero() ? default_prior : prior)),
      m_overhead(std::max(overhead, Nanos()))
{
}

/* After whatever has happened. */
void RateMeter::settle() noexcept
{
    const Bytes lag = m_lag.count() == 0 ? Bytes() : m_rate * m_lag;
    m_most_drained = std::min(m_in_flight, m_largest + lag);
    if (!m_known || in_doubt()) {
        m_calm_until = Nanos::min();
    } else if (m_in_flight.is_zero()) {
        m_calm_until = Nanos::max();
    } else {
        m_calm_until = m_served + m_overhead + m_largest * patience / m_rate;
    }
}

void RateMeter::on_post(Nanos now, Bytes bytes) noexcept
{
    if (m_in_flight.is_zero()) {
        /* A busy period begins. Its first completion also pays the overhead;
         * the ones behind it in the pipe come without. */
        m_served = now;
        m_lag = m_overhead;
        m_ramp = true;
        m_largest = Bytes();
        if (m_known && wants_probe(now)) {
            m_evidence = std::min(m_evidence, stale_evidence);
        }
    }
    m_in_flight += bytes;
    m_largest = std::max(m_largest, bytes);
    settle();
}

/* Has all that was in flight when the window was full come in a quarter of the time that
 * it should take? */
void RateMeter::note_dry(Nanos now) noexcept
{
    if (m_full.chunks++ == 0) {
        m_full.first = now;
    }
    if (m_completed < m_full.mark) {
        return;
    }
    if ((m_full.chunks >= least_chunks) &&
        (m_rate * ((now - m_full.first) * 4) < m_full.bytes)) {
        m_width       = std::min(m_width + 1, widest);
        m_width_since = now;
    }
    m_full = Full();
}

void RateMeter::on_complete(Nanos now, Bytes bytes) noexcept
{
    bytes = std::min(bytes, m_in_flight);
    if (bytes.is_zero()) {
        return;
    }
    m_completed += bytes.count();
    if (m_full.mark != 0) {
        note_dry(now);
    }
    if ((m_width != 0) && (now - m_width_since > narrow_time)) {
        --m_width;
        m_width_since = now;
    }

    Nanos latency;
    if (m_ramp) {
        /* An overhead that was stated too large must not make the path look
         * infinitely fast: some of the time is the bytes' own. */
        m_ramp = false;
        m_lag = std::clamp((now - m_served) * (least_part - 1) / least_part,
                           Nanos(), m_overhead);
        latency = m_lag;
    }

    /* Completions come in batches when the process was away. A sample that
     * ended within one would count its time but not its bytes, so it ends
     * before a completion that comes after a gap, or when nothing is left.
     * The first is too urgent for this; its error goes with the next. */
    const Nanos served = std::max(m_served, now - m_lag);
    const Nanos gap = served - m_served;
    if (sample_is_credible() && (gap * m_sample_count * 4 >= m_sample_time)) {
        fold(now);
    }
    m_sample_span += gap + latency;
    m_sample_time += gap;
    m_sample_bytes += bytes;
    m_sample_count += 1;
    m_served = served;
    m_in_flight -= bytes;
    m_largest = std::min(m_largest, m_in_flight);
    if ((m_in_flight.is_zero() || !m_known) && sample_is_credible()) {
        fold(now);
    }
    settle();
}

void RateMeter::on_abandon(Nanos now, Bytes bytes) noexcept
{
    /* Nobody knows how much of the time went into these bytes, so it counts
     * for nothing, and what was measured before stands. */
    m_served = std::max(m_served, now - m_lag);
    m_in_flight -= std::min(bytes, m_in_flight);
    m_full = Full();
    m_largest = std::min(m_largest, m_in_flight);
    settle();
}

bool RateMeter::sample_is_credible() const noexcept
{
    const Nanos enough_time = m_known ? sample_time : first_sample_time;
    const Bytes enough_bytes = m_known ? sample_bytes : first_sample_bytes;
    return (m_sample_span >= enough_time) ||
           ((m_sample_bytes >= enough_bytes) &&
            (m_sample_span >= sample_least_time));
}

void RateMeter::fold(Nanos now) noexcept
{
    m_latest = bounded(m_sample_bytes / m_sample_time);
    Rate sample = m_latest;
    if (m_known) {
        sample = std::clamp(sample, m_rate * (1 / largest_step),
                            m_rate * largest_step);
    }

    const Nanos time = std::min(m_sample_time, memory);
    const double weight = time.as_seconds() / (time + m_evidence).as_seconds();
    m_rate = bounded(m_rate * (1 - weight) + sample * weight);
    m_evidence = std::min(m_evidence + time, memory);

    m_known = true;
    m_last_fold = now;
    m_samples += m_samples < few_samples;
    const Nanos probe = probe_bytes / m_rate;
    m_fresh_until =
            now + (m_samples < few_samples ?
                           std::max(few_samples_time, probe * doubt_interval) :
                           std::max(stale_time, probe * probe_interval));
    m_sample_span = Nanos();
    m_sample_time = Nanos();
    m_sample_bytes = Bytes();
    m_sample_count = 0;
    m_doubts = in_doubt() ? std::min(m_doubts + 1, 2u) : 0;
}

Rate RateMeter::troubled_rate(Nanos now) const noexcept
{
    Rate rate = in_doubt() ? bounded(latest() * patience) : m_rate;
    if (!m_in_flight.is_zero()) {
        /* Not even the chunk at the head has arrived in all this time. */
        const Nanos silent = now - m_served - m_overhead;
        const Bytes most = m_largest * patience;
        /* A division only where it would make a difference. */
        if ((silent > Nanos()) && (most < rate * silent)) {
            rate = std::min(rate, bounded(most / silent));
        }
    }
    return rate;
}

Rate RateMeter::latest() const noexcept
{
    return sample_is_credible() ? bounded(m_sample_bytes / m_sample_time) :
                                  m_latest;
}

bool RateMeter::in_doubt() const noexcept
{
    /* Is latest() * patience < m_rate, without a division? */
    if (!m_known) {
        return false;
    } else if (sample_is_credible()) {
        return m_sample_bytes * patience < m_rate * m_sample_time;
    }
    return m_latest * patience < m_rate;
}

bool RateMeter::troubled_probe(Nanos now) const noexcept
{
    if (!m_known) {
        return true;
    } else if (in_doubt()) {
        const Nanos age  = now - m_last_fold;
        const Nanos wait = (probe_bytes / latest()) * doubt_interval;
        return (age > doubt_time) &&
               (age > (m_doubts > 1 ? wait : std::min(wait, first_doubt_time)));
    }
    return now > m_fresh_until;
}

} // namespace fuselink::sched
