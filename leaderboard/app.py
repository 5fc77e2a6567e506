"""The leaderboard as a Space. ``KCBENCH_RESULTS`` names a results dataset, ``hf://ORG/NAME``; without it a sample is shown."""

import os

from kcbench.leaderboard.app import Leaderboard
from kcbench.leaderboard.server import PORT, serve
from kcbench.leaderboard.store import Store

serve(
    Leaderboard(Store.open(os.environ.get("KCBENCH_RESULTS") or None)),
    os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0"),
    int(os.environ.get("GRADIO_SERVER_PORT", PORT)),
)
