"""Real logs of lm-evaluation-harness and inspect_ai against the bundled model on a local server, then diagnosed.

    python -m venv .venv-logs && .venv-logs/bin/pip install 'lm_eval[api]' inspect_ai openai
    python bench/foreign_logs.py --tools .venv-logs --out runs/foreign

Both tools talk to llama.cpp's server, once with thinking and once without, under the same cap.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from thinkcap.core.prompts import PROMPTS
from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf
from thinkcap.tasks.families import questions

MODES = ("nothink", "think")
KEY = "local"

HARNESS_TASK = """\
task: family_arithmetic
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: []
  max_gen_toks: {cap}
  do_sample: false
  temperature: 0.0
  chat_template_kwargs: {{enable_thinking: {thinking}}}
filter_list:
  - name: stated
    filter:
      - {{function: regex, regex_pattern: "#### (-?[0-9]+)"}}
      - {{function: take_first}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""

INSPECT_TASK = """\
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import pattern
from inspect_ai.solver import generate

data, model, folder, cap, thinking = sys.argv[1:]
rows = [json.loads(line) for line in open(data)]
samples = [Sample(id=r["id"], input=r["question"], target=r["answer"]) for r in rows]
task = Task(dataset=samples, solver=generate(), scorer=pattern(r"#### (-?[0-9]+)"), name="family_arithmetic")
eval(task, model=model, log_dir=folder, max_tokens=int(cap), temperature=0.0, max_connections=2, display="none",
     extra_body={"chat_template_kwargs": {"enable_thinking": thinking == "true"}})
"""


def start(out: Path) -> tuple[object, str]:
    """llama.cpp's own server with the bundled model, and its address; it ends with the object.

    From a copy by its bare name: the server reports the path as the model's name, and logs carry that.
    """
    shutil.copyfile(pebble_gguf(), out / "pebble.gguf")
    os.chdir(out)
    server = start_server(Path("pebble.gguf"), context=2048, slots=2, threads=1, key=KEY)
    return server, f"{server.listening_address}/v1"


def write_questions(path: Path, n: int) -> None:
    made = questions("arithmetic", n, seed=5)
    rows = [
        {"id": f"arithmetic/5/{i}", "question": PROMPTS.asked(p.question, p.form), "answer": p.answer}
        for i, p in enumerate(made)
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))


def run_harness(tools: Path, url: str, data: Path, out: Path, cap: int) -> None:
    for mode in MODES:
        folder = out / "tasks" / mode
        folder.mkdir(parents=True, exist_ok=True)
        thinking = str(mode == "think").lower()
        text = HARNESS_TASK.format(data=data.resolve(), cap=cap, thinking=thinking)
        (folder / "family.yaml").write_text(text)
        arguments = f"model=pebble,base_url={url}/chat/completions,num_concurrent=2,tokenized_requests=False"
        command = [tools / "bin" / "lm_eval", "--model", "local-chat-completions", "--model_args", arguments]
        command += ["--tasks", "family_arithmetic", "--include_path", folder, "--apply_chat_template"]
        command += ["--log_samples", "--output_path", out / "harness" / mode]
        subprocess.run(list(map(str, command)), check=True, env={**os.environ, "OPENAI_API_KEY": KEY})


def run_inspect(tools: Path, url: str, data: Path, out: Path, cap: int) -> None:
    script = out / "inspect_task.py"
    script.write_text(INSPECT_TASK)
    keys = {"LOCAL_BASE_URL": url, "LOCAL_API_KEY": KEY}
    for mode in MODES:
        folder, thinking = out / "inspect" / mode, str(mode == "think").lower()
        command = [tools / "bin" / "python", script, data, "openai-api/local/pebble", folder, cap, thinking]
        subprocess.run(list(map(str, command)), check=True, env={**os.environ, **keys})


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tools", type=Path, required=True, help="virtual environment with both tools")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--n", type=int, default=40)
    options.add_argument("--cap", type=int, default=96)
    chosen = options.parse_args()
    chosen.out, chosen.tools = chosen.out.resolve(), chosen.tools.resolve()
    chosen.out.mkdir(parents=True, exist_ok=True)
    data = chosen.out / "questions.jsonl"
    write_questions(data, chosen.n)
    server, url = start(chosen.out)
    run_harness(chosen.tools, url, data, chosen.out, chosen.cap)
    run_inspect(chosen.tools, url, data, chosen.out, chosen.cap)
    del server
    for folder, suffix in (("harness", "samples_*.jsonl"), ("inspect", "*.eval")):
        logs = [str(next((chosen.out / folder / mode).rglob(suffix))) for mode in MODES]
        command = ["diagnose", *logs, "--as", "nothink", "--as", "think"]
        print("\n$ thinkcap", " ".join(command), flush=True)
        subprocess.run([sys.executable, "-m", "thinkcap", *command], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
