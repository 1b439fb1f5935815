# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
"""Results as text tables and as one JSON document."""

import json
import os
import platform
import statistics
import time

_UNITS = {"bytes_per_s": (1e-6, "MB/s"), "time_s": (1e3, "ms"),
          "latency_s": (1e6, "us"), "messages_per_s": (1e-3, "k msg/s"),
          "bytes_per_peer": (1e-3, "kB/peer"),
          "ratio": (1, "x"), "away_s": (1e3, "ms"), "waited_s": (1e3, "ms"),
          "owner_share": (1e2, "%"), "kept_share": (1e2, "%"),
          "overlap_share": (1e2, "%")}

# More columns, where the jobs of a case tell them: key in a job's result,
# heading, format, scale.
_MORE = (("over_bound", "over bound", "{:+.1%}"),
         ("of_left", "of left", "{:.1%}"),
         ("back_s", "back ms", "{:.0f}", 1e3),
         ("of_left_during", "of left during", "{:.1%}"),
         ("least_share", "least share", "{:.1%}"),
         ("first_batch_share", "first batch", "{:.1%}"),
         ("later_share", "later", "{:.1%}"),
         ("other_bytes_per_s", "other MB/s", "{:.1f}", 1e-6),
         ("qps_per_rank", "QPs/rank", "{:.1f}"),
         ("exchange_s", "exchange s", "{:.1f}"),
         ("ratio_25", "25 %", "{:.3f}"),
         ("ratio_75", "75 %", "{:.3f}"),
         ("one_s", "rc us", "{:.2f}", 1e6),
         ("other_s", "fuselink us", "{:.2f}", 1e6),
         ("overlap_least_share", "lowest", "{:.1%}"),
         ("overlap_most_share", "highest", "{:.1%}"),
         ("alone_s", "alone ms", "{:.1f}", 1e3),
         ("compute_s", "compute ms", "{:.1f}", 1e3),
         ("both_s", "both ms", "{:.1f}", 1e3),
         ("over_longer", "over longer", "{:+.1%}"),
         ("lost_share", "compute lost", "{:+.1%}"))


def _number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _table(rows):
    """Rows of cells as lines; the first column to the left, others right."""
    widths = [max(len(row[i]) for row in rows if i < len(row))
              for i in range(max(len(row) for row in rows))]
    lines = []
    for row in rows:
        cells = [cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i])
                 for i, cell in enumerate(row)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _nic_cells(results, name):
    return [f"{count / 1e6:.1f}"
            for count in results.nic_bytes(name).values()]


def _names(results):
    seen = [*results.samples, *results.failures, *results.left_out]
    return list(dict.fromkeys(seen))


def case_table(results):
    case = results.case
    scale, unit = _UNITS[case.metric]
    bound = results.bound()
    title = f"{case.name}: {case.title}"
    if bound:
        title += f" (wire: {bound / 1e6:.1f} MB/s)"
    if case.cpu_bound:
        title += " (best quartile of the jobs)"
    base = case.transports[0].name
    head = ["transport", unit, "median", "min", "max", f"x {base}"]
    if not case.cpu_bound:
        head.remove("median")
    if bound:
        head.append("of wire")
    more = [column for column in _MORE if any(
        results.middle(name, column[0]) is not None
        for name in results.samples)]
    head += [column[1] for column in more]
    if case.skew:
        head.append("least NIC")
    if not case.node:
        head += [f"nic{i}" for i in range(len(results.rates))]

    rows = [head]
    notes = []
    for name in _names(results):
        values = [value * scale for value in results.values(name)]
        if values:
            ratio = results.ratio(name, base)
            row = [name, _number(results.typical(name) * scale),
                   *([_number(statistics.median(values))]
                     if case.cpu_bound else []),
                   _number(min(values)), _number(max(values)),
                   f"{ratio:.3f}" if ratio else "-"]
            if bound:
                row.append(f"{results.wire_share(name):.1%}")
            row += [_cell(results, name, *column) for column in more]
            if case.skew:
                row.append(f"{results.worst_nic_share(name)[0]:.1%}")
            if not case.node:
                row += _nic_cells(results, name)
            rows.append(row)
        for why in results.failures.get(name, []):
            notes.append(f"  {name} FAILED: {why}")
        if name in results.left_out:
            notes.append(f"  {name} left out: {results.left_out[name]}")
    lines = [title, *_table(rows), *notes, *_bound_lines(results)]
    if "fuselink" in results.samples:
        ratios = [f"{results.ratio('fuselink', name):.3f} x {name}"
                  for name in _names(results)
                  if name != "fuselink" and results.ratio("fuselink", name)]
        if ratios:
            lines.append("  fuselink is " + ", ".join(ratios))
    return "\n".join(lines)


def _cell(results, name, key, _title, form, scale=1):
    value = results.middle(name, key)
    return "-" if value is None else form.format(value * scale)


def _bound_lines(results):
    """What the wires allow, for those who wonder about the baseline."""
    bounds = [(sample.result["bound_s"], sample.result["one_nic_bound_s"])
              for samples in results.samples.values() for sample in samples
              if "bound_s" in sample.result]
    if not bounds:
        return []
    best, static = map(statistics.median, zip(*bounds))
    return [f"  lower bound {best * 1e3:.1f} ms; with one NIC for each rank,"
            f" used without any loss, {static * 1e3:.1f} ms"]


def text(all_results):
    parts = [case_table(results) for results in all_results]
    if any(not results.case.node for results in all_results):
        parts.append("nic0...: MB that host0 sent on each NIC in the whole"
                     " job, its check and warm-up included.")
    return "\n\n".join(parts)


def quick_table(all_results):
    """One table: a line for each transport, columns for each case."""
    wide = max(all_results, key=lambda results: len(results.rates))
    base = wide.case.transports[0].name
    head = ["transport"]
    for results in all_results:
        unit = _UNITS[results.case.metric][1]
        head += [f"{results.case.name} {unit}", "faster", "of wire",
                 f"MB on nic0..{len(results.rates) - 1}"]
    rows = [head]
    names = dict.fromkeys(name for results in all_results
                          for name in _names(results))
    notes = []
    for name in names:
        row = [name]
        for results in all_results:
            value = results.typical(name)
            if value is None:
                why = results.failures.get(name) or [results.left_out[name]]
                notes.append(f"  {name}, {results.case.name}: {why[-1]}")
                row += ["-"] * 4
                continue
            ratio = results.ratio(name, base)
            if ratio and results.case.lower_is_better:
                ratio = 1 / ratio
            share = results.wire_share(name)
            row += [_number(value * _UNITS[results.case.metric][0]),
                    f"{ratio:.2f} x" if ratio else "-",
                    f"{share:.1%}" if share else "-",
                    " ".join(f"{count / 1e6:.0f}" for count in
                             results.nic_bytes(name).values())]
        rows.append(row)
    titles = [f"{results.case.name}: {results.case.title}"
              for results in all_results]
    return "\n".join([*titles, "", *_table(rows), *dict.fromkeys(notes), "",
                      f"faster: than {base}, UCX tcp on one NIC."
                      " MB: what host0 sent on each NIC, in as many calls"
                      " as the time allows."])


def congestion_control():
    """What decides how TCP shares a wire."""
    with open("/proc/sys/net/ipv4/tcp_congestion_control",
              encoding="ascii") as file:
        return file.read().strip()


def _versions():
    return {"kernel": platform.release(), "machine": platform.machine(),
            "cores": os.cpu_count(), "tcp": congestion_control(),
            "load_average": os.getloadavg()[0]}


def document(all_results, verdicts):
    """Everything, for programs: SI units without prefixes, bytes."""
    cases = []
    for results in all_results:
        case = results.case
        transports = {}
        for name in _names(results):
            values = results.values(name)
            share, where = results.worst_nic_share(name)
            transports[name] = {
                "typical": results.typical(name),
                "median": statistics.median(values) if values else None,
                "min": min(values, default=None),
                "max": max(values, default=None),
                "wire_share": results.wire_share(name),
                "ratio": {other: results.ratio(name, other)
                          for other in results.samples if other != name},
                "worst_nic_share": None if case.node or not values
                else {"share": share, "where": where},
                "nic_tx_bytes": {host: results.nic_bytes(name, host)
                                 for host in ("host0", "host1")},
                "samples": [{"round": sample.round, "result": sample.result,
                             "nics": sample.nics,
                             "job_seconds": sample.seconds}
                            for sample in results.samples.get(name, [])],
                "skew": {key: results.middle(name, key)
                         for key in ("bound_s", "one_nic_bound_s",
                                     *(column[0] for column in _MORE))
                         if results.middle(name, key) is not None},
                "failures": results.failures.get(name, []),
                "left_out": results.left_out.get(name)}
        cases.append({"name": case.name, "title": case.title,
                      "metric": case.metric, "rates": results.rates,
                      "program": case.program,
                      "options": [str(word) for word in case.options],
                      "ranks": case.ranks,
                      "group": case.group,
                      "capacities": [vars(capacity)
                                     for capacity in results.capacities],
                      "wire_bytes_per_s": results.bound(),
                      "transports": transports})
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "system": _versions(), "cases": cases,
            "bars": [vars(verdict) for verdict in verdicts]}


def write_json(path, all_results, verdicts, complete=True):
    """Replaces the file in one step: it may be read, or be all that is left
    of a run, at any time."""
    content = json.dumps(document(all_results, verdicts)
                         | {"complete": complete}, indent=1)
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(content + "\n")
    os.replace(fresh, path)
