"""Trains Pebble against the clock and writes weights, losses and a record of the run.

python -m training.train --out training/out/run1 --seconds 360 --exclude carry/bbh
python -m training.train --out training/out/try --seconds 60 --tiny      # a small model on a CPU
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from thinkcap.core.prompts import PROMPTS
from thinkcap.tasks.families import TRAINING_SEEDS
from training.data import HARDNESS, LEARN, ROW, SHARES, Ring
from training.muon import Muon
from training.network import Network, Shape, rotary
from training.render import FORMS

TINY = Shape(width=64, layers=2, heads=2, kv_heads=1, head=32, inner=128)


def save(network: Network, path: Path) -> None:
    """bf16 weights under transformers' names, moved into place at once so that a stop never leaves half a file."""
    weights = {
        f"model.{name}": w.detach().to(torch.bfloat16).contiguous().cpu() for name, w in network.named_parameters()
    }
    part = path.with_suffix(".part")
    save_file(weights, str(part), metadata={"format": "pt"})
    os.replace(part, path)


def load(network: Network, path: Path) -> None:
    weights = {name.removeprefix("model."): w.float() for name, w in load_file(str(path)).items()}
    network.load_state_dict(weights)


def hardware(device: str) -> dict[str, object]:
    found: dict[str, object] = {
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if device == "cuda":
        found["accelerator"] = torch.cuda.get_device_name()
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
        )
        found["driver"] = answer.stdout.strip()
    return found


def train(options: argparse.Namespace) -> Network:
    begun = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    shape = TINY if options.tiny else Shape()
    torch.manual_seed(options.seed)
    ring = Ring(Path(options.ring), options.workers, options.rows_each, options.seed, options.exclude)
    network = Network(shape).to(device)
    if options.init:
        load(network, Path(options.init))
    count = sum(p.numel() for p in network.parameters())
    print(f"{count:,} parameters on {device}", flush=True)
    cos, sin = rotary(shape, ROW, device)
    cos, sin = cos[None, None], sin[None, None]
    matrices = [p for n, p in network.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in network.named_parameters() if p.dim() != 2 or "embed" in n]
    muon = Muon(matrices, lr=options.lr)
    adam = torch.optim.Adam(others, lr=options.lr_adam, betas=(0.9, 0.98), eps=1e-10, fused=device == "cuda")
    compiled = network if options.tiny else torch.compile(network, dynamic=False)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        raw = torch.from_numpy(ring.batch(options.batch).astype("int32"))
        if device == "cuda":
            raw = raw.pin_memory().to(device, non_blocking=True)
        ids = raw & (LEARN - 1)
        targets = torch.where(raw & LEARN > 0, ids, torch.full_like(ids, -100)).roll(-1, 1)
        targets[:, -1] = -100
        return ids.long(), targets.long()

    while not ring.ready(options.ready):
        time.sleep(0.5)
    print(f"{time.time() - begun:.0f} s: data ready", flush=True)
    losses: list[dict[str, float]] = []
    step = 0
    clock = 0.0
    saved = time.time()
    running = torch.zeros((), device=device)
    warm = 3
    while True:
        # The clock starts after the compiling steps, and the rate falls with it to zero.
        if step == warm:
            if device == "cuda":
                torch.cuda.synchronize()
            started = time.time()
            print(f"{started - begun:.0f} s: compiled", flush=True)
        elapsed = time.time() - started if step >= warm else 0.0
        spent = elapsed / options.seconds
        if spent >= 1:
            break
        scale = min(1.0, (step + 1) / 100) * (1 - spent)
        for optimizer, peak in ((muon, options.lr), (adam, options.lr_adam)):
            optimizer.param_groups[0]["lr"] = peak * scale
        ids, targets = batch()
        with torch.autocast(device, torch.bfloat16):
            loss = compiled(ids, targets, cos, sin)
        loss.backward()
        muon.step()
        adam.step()
        network.zero_grad(set_to_none=True)
        running += loss.detach()
        step += 1
        if step % options.every == 0:
            mean = float(running) / options.every
            running.zero_()
            tokens = step * options.batch * ROW
            losses.append({"step": step, "seconds": round(elapsed, 1), "tokens": tokens, "loss": round(mean, 5)})
            rate = options.every * options.batch * ROW / max(1e-9, elapsed - clock)
            clock = elapsed
            made = sum(ring.made) * ROW
            print(
                f"{elapsed:6.0f} s  step {step}  loss {mean:.4f}  {rate / 1e6:.2f} M tokens/s"
                f"  {tokens / 1e6:.0f} M seen, {made / 1e6:.0f} M made",
                flush=True,
            )
            if time.time() - saved > 60:
                save(network, out / "pebble.safetensors")
                saved = time.time()
    save(network, out / "pebble.safetensors")
    ring.stop()
    record = {
        "shape": shape.as_dict(),
        "parameters": count,
        "seed": options.seed,
        "worker_seeds": [options.seed + 1, options.seed + options.workers],
        "evaluation_seeds": f"below {TRAINING_SEEDS}",
        "benchmark_items_excluded": bool(options.exclude),
        "init_sha256": hashlib.sha256(Path(options.init).read_bytes()).hexdigest() if options.init else None,
        "batch_rows": options.batch,
        "row_tokens": ROW,
        "steps": step,
        "tokens_seen": step * options.batch * ROW,
        "tokens_made": sum(ring.made) * ROW,
        "lr": {"muon": options.lr, "adam": options.lr_adam, "schedule": "100 warm-up steps, then linear to 0"},
        "seconds": {"training": round(time.time() - started, 1), "with_start": round(time.time() - begun, 1)},
        "families": SHARES,
        "forms": FORMS,
        "difficulty_weights": HARDNESS,
        "prompts": {"version": PROMPTS.version, "hash": PROMPTS.hash},
        "hardware": hardware(device),
        "losses": losses,
    }
    (out / "run.json").write_text(json.dumps(record, indent=1) + "\n")
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder for weights and record")
    parser.add_argument("--seconds", type=float, default=360, help="training time after compiling")
    parser.add_argument("--seed", type=int, default=TRAINING_SEEDS + 100, help="seed; worker w uses seed + 1 + w")
    parser.add_argument("--batch", type=int, default=96, help="rows a step")
    parser.add_argument("--lr", type=float, default=0.02, help="peak rate of the matrices (Muon)")
    parser.add_argument("--lr-adam", type=float, default=0.003, help="peak rate of the rest (Adam)")
    parser.add_argument("--workers", type=int, default=14, help="data processes")
    parser.add_argument("--rows-each", type=int, default=2000, help="rows a worker keeps in the ring")
    parser.add_argument("--ready", type=int, default=100, help="rows a worker must have made before the start")
    parser.add_argument("--ring", default="/tmp/pebble-ring.bin", help="file behind the ring")
    parser.add_argument("--exclude", type=Path, help="folder of benchmark files whose questions are barred")
    parser.add_argument("--init", help="weights to start from")
    parser.add_argument("--every", type=int, default=100, help="steps between printed losses")
    parser.add_argument("--tiny", action="store_true", help="a tiny model, not compiled: to try the code")
    parser.add_argument("--probe", type=int, default=0, help="afterwards decode N questions a family and report")
    options = parser.parse_args()
    network = train(options)
    if options.probe:
        from training.probe import probe

        probe(network, Path(options.out), options.probe, options.exclude)


if __name__ == "__main__":
    main()
