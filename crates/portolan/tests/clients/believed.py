"""Versions of the catalogue's workflows at which an agent's word is enough: for walks that are about something else."""

import json
import subprocess
from pathlib import Path


def believe(portolan, project, *workflows):
    """Has the project's own versions of these workflows, without their checks."""
    subprocess.run([portolan, "catalog", "copy", *workflows], cwd=project, check=True, stdout=subprocess.DEVNULL)
    for workflow in workflows:
        file = Path(project, ".flow/workflows", workflow, "workflow.json")
        text = json.loads(file.read_text())
        for node in text["nodes"].values():
            node.pop("accept", None)
            node.pop("deny", None)
        file.write_text(json.dumps(text))
