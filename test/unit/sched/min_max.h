/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SCHED_MIN_MAX_H
#define FUSELINK_TEST_SCHED_MIN_MAX_H

#include "uct/fuselink/sched/planner.h"

#include <algorithm>
#include <vector>

namespace fuselink::sched::test {

/** A problem of the planner, as data. */
struct Problem {
    struct Link {
        double capacity;
        double loaded;
    };
    struct Demand {
        double bytes;
        std::vector<Planner::Path> paths;
    };
    std::vector<Link> links;
    std::vector<Demand> demands;

    static bool uses(const Planner::Path &path, uint32_t link)
    {
        return (path.tx == link) || (path.rx == link);
    }
};

/**
 * The smallest possible largest load over capacity, by the simplex method on
 * the linear program itself: exact, slow, and nothing like the planner.
 *
 * In the form of a dictionary: each basic variable is a constant plus a
 * combination of those that are 0. Variables are the bytes of each path and a
 * slack for each link, by which its time is below the worst.
 */
class MinMax {
public:
    explicit MinMax(const Problem &problem)
    {
        /* Start with each demand on its first path. A row per link says its
         * time, as a function of the bytes on the other paths. */
        size_t others = 0;
        for (const Problem::Demand &d : problem.demands) {
            others += d.paths.size() - 1;
        }
        m_columns = 1 + others + 1; /* constant, paths, slack of the worst */
        std::vector<Row> times;
        for (uint32_t e = 0; e < problem.links.size(); ++e) {
            const Problem::Link &link = problem.links[e];
            Row row(m_columns, 0);
            row[0] = link.loaded / link.capacity;
            size_t column = 1;
            for (const Problem::Demand &d : problem.demands) {
                const bool first = Problem::uses(d.paths[0], e);
                row[0] += first ? d.bytes / link.capacity : 0;
                for (size_t i = 1; i < d.paths.size(); ++i, ++column) {
                    row[column] = (double(Problem::uses(d.paths[i], e)) -
                                   double(first)) /
                                  link.capacity;
                }
            }
            times.push_back(row);
        }
        const auto worst = std::max_element(
                times.begin(), times.end(),
                [](const Row &a, const Row &b) { return a[0] < b[0]; });
        m_goal = *worst;
        m_goal[m_columns - 1] = 1;
        for (const Row &time : times) {
            if (&time != &*worst) {
                Row slack = m_goal;
                for (size_t c = 0; c < m_columns; ++c) {
                    slack[c] -= time[c];
                }
                m_rows.push_back(slack);
            }
        }
        size_t column = 1;
        for (const Problem::Demand &d : problem.demands) {
            Row row(m_columns, 0);
            row[0] = d.bytes;
            for (size_t i = 1; i < d.paths.size(); ++i) {
                row[column++] = -1;
            }
            m_rows.push_back(row);
        }
        for (size_t i = 0; i < m_rows.size() + m_columns; ++i) {
            m_names.push_back(i);
        }
    }

    double solve()
    {
        while (step()) {
        }
        return m_goal[0];
    }

private:
    using Row = std::vector<double>;
    static constexpr double tiny = 1e-10;

    /* Names: of the columns first, then of the rows. */
    size_t &column_name(size_t c) { return m_names[c]; }
    size_t &row_name(size_t r) { return m_names[m_columns + r]; }

    /* Bland's rule, with which it cannot go round in circles. */
    bool step()
    {
        size_t enter = 0;
        for (size_t c = 1; c < m_columns; ++c) {
            if (m_goal[c] < -tiny &&
                (enter == 0 || column_name(c) < column_name(enter)))
            {
                enter = c;
            }
        }
        if (enter == 0) {
            return false;
        }
        size_t leave = m_rows.size();
        double least = 0;
        for (size_t r = 0; r < m_rows.size(); ++r) {
            if (m_rows[r][enter] >= -tiny) {
                continue;
            }
            const double ratio = m_rows[r][0] / -m_rows[r][enter];
            if (leave == m_rows.size() || ratio < least - tiny ||
                (ratio < least + tiny && row_name(r) < row_name(leave)))
            {
                leave = r;
                least = ratio;
            }
        }
        if (leave == m_rows.size()) {
            return false;
        }
        pivot(leave, enter);
        return true;
    }

    void pivot(size_t leave, size_t enter)
    {
        Row &row = m_rows[leave];
        const double by = row[enter];
        for (double &v : row) {
            v /= -by;
        }
        row[enter] = 1 / by;
        for (size_t r = 0; r < m_rows.size(); ++r) {
            if (r != leave) {
                insert(m_rows[r], row, enter);
            }
        }
        insert(m_goal, row, enter);
        std::swap(row_name(leave), column_name(enter));
    }

    void insert(Row &into, const Row &row, size_t enter)
    {
        const double by = into[enter];
        into[enter] = 0;
        for (size_t c = 0; c < m_columns; ++c) {
            into[c] += by * row[c];
        }
    }

    size_t m_columns;
    std::vector<Row> m_rows;
    Row m_goal;
    std::vector<size_t> m_names;
};

} // namespace fuselink::sched::test

#endif
