# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorial, and compares what its cells return with what is stored in it.

``NEARSCAN_BLESS=1`` stores what they return. Of a cell with the tag ``varies`` numbers are not
compared, for it shows measured times; of images nothing but that there is one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


@pytest.fixture(scope="module")
def executed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:  # noqa: ANN401 - a notebook is a dict with attributes
    folder = tmp_path_factory.mktemp("tutorial")
    notebook: Any = nbformat.read(TUTORIAL, as_version=4)  # type: ignore[no-untyped-call]
    with pytest.MonkeyPatch.context() as patch:
        # The kernel is that of this interpreter, without the user's settings.
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "MPLCONFIGDIR"):
            patch.setenv(name, str(folder / name.lower()))
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute()
    if os.environ.get("NEARSCAN_BLESS"):
        bless(notebook)
    return notebook


@pytest.fixture(scope="module")
def stored(executed: Any) -> Any:  # noqa: ANN401, ARG001 - it may have been stored just now
    return nbformat.read(TUTORIAL, as_version=4)  # type: ignore[no-untyped-call]


def bless(notebook: Any) -> None:  # noqa: ANN401 - likewise
    """Stores a notebook without what tells of the machine."""
    notebook.metadata = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nbformat.write(notebook, TUTORIAL)  # type: ignore[no-untyped-call]


def outputs(cell: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - likewise
    """What a cell returned, as far as it is compared: pairs of a kind and a text."""
    varies = "varies" in cell.metadata.get("tags", [])
    found: list[tuple[str, Any]] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            # On standard error is the progress of what takes long on a slow machine.
            parts = {output.name: output.text} if output.name == "stdout" else {}
        elif output.output_type == "error":
            parts = {"error": f"{output.ename}: {output.evalue}"}
        else:
            parts = output.data
        for kind, text in sorted(parts.items()):
            if kind.startswith("image/"):
                found.append((kind, None))
            else:
                found.append((kind, NUMBER.sub("N", text) if varies else text))
    return found


def code_cells(notebook: Any) -> list[Any]:  # noqa: ANN401 - likewise
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_cells_return_what_is_stored(stored: Any, executed: Any) -> None:  # noqa: ANN401
    for ours, theirs in zip(code_cells(executed), code_cells(stored), strict=True):
        assert outputs(ours) == outputs(theirs), ours.source


def test_numbers_of_measurements_alone_are_not_compared(stored: Any) -> None:  # noqa: ANN401
    tagged = [it for it in code_cells(stored) if "varies" in it.metadata.get("tags", [])]
    assert [it.source.splitlines()[0] for it in tagged] == ["plan = warm.profile()"]


def test_cells_were_stored_in_one_run_without_errors(stored: Any) -> None:  # noqa: ANN401
    cells = code_cells(stored)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for output in (output for cell in cells for output in cell.outputs):
        assert output.output_type != "error", output.evalue
        assert output.get("name") != "stderr", output.text
