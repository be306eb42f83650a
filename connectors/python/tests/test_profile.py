# SPDX-License-Identifier: Apache-2.0
"""Plans and profiles: what they say, and how they are drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest

import nearscan

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("agg")


@pytest.fixture
def pushed(numbers: Path) -> nearscan.Relation:
    con = nearscan.connect(drives=["emulated:"], threads=2, pushdown_mode="force")
    return con.sql(f"SELECT name, sum(n) AS total FROM '{numbers}' WHERE n < 5000 GROUP BY name")


def test_profile_has_measured_and_modelled_time_apart(pushed: nearscan.Relation) -> None:
    plan = pushed.profile()
    assert plan.rows == 7
    assert plan.seconds > 0
    assert plan.drive_seconds_modelled is not None
    assert plan.drive_seconds_modelled > 0
    assert plan.bytes["media"] > plan.bytes["link"] > 0
    assert plan.to_dict()["run"]["units_drive"] > 0
    assert [it["drive"] for it in plan.decisions] == ["emulated"]


def test_profile_runs_a_statement_once(con: nearscan.Connection) -> None:
    con.sql("CREATE TABLE t AS SELECT 1 AS a")
    rows = con.sql("SELECT random() AS r FROM t")
    first = rows.fetchall()
    plan = rows.profile()
    assert plan.rows == 1
    assert rows.arrow()["r"].to_pylist() == [first[0][0]]
    assert plan.drive_seconds_modelled is None


def test_plan_is_known_without_a_run(pushed: nearscan.Relation) -> None:
    plan = pushed.explain()
    assert "PushdownExec: drive=emulated" in str(plan)
    assert plan.seconds == 0
    assert "not run" in plan._repr_html_()
    assert pushed.explain(analyze=True).rows == 7


def test_drawing_has_drive_and_host_in_their_colors(pushed: nearscan.Relation) -> None:
    shown = pushed.profile()._repr_html_()
    svg = ET.fromstring(shown[shown.index("<svg") :])  # noqa: S314 - it is our own
    boxes = {
        text.text: text.get("fill")
        for text in svg.iter("{http://www.w3.org/2000/svg}text")
        if text.get("font-weight") == "bold"
    }
    assert boxes["PushdownExec"] == "#d95f02"
    assert {color for name, color in boxes.items() if name != "PushdownExec"} == {"#1b6ca8"}
    assert "modelled" in shown


def test_plot_shows_where_bytes_stayed(pushed: nearscan.Relation) -> None:
    plan = pushed.profile()
    axes = plan.plot_pushdown()
    lengths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert sorted(lengths) == sorted(plan.bytes.values())
