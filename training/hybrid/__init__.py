"""A real model in two modes, made on one GPU from a pretrained one: weights, attempts, chains, tuning, study.

The base is Qwen2.5-Coder-1.5B-Instruct as a GGUF file. It samples attempts at training questions; a thought is
attempts in a row, each in another way, until one answer leads by two votes; low-rank tuning teaches both modes.

    python -m training.hybrid.weights qwen2.5-coder-1.5b-instruct.gguf --out out/base
    python -m training.hybrid.attempts out/base gsm8k_train.jsonl math_train.jsonl --out out/attempts.jsonl
    python -m training.hybrid.chains out/attempts.jsonl --out out/chains.jsonl
    python -m training.hybrid.tune out/base out/chains.jsonl --out out/hybrid
    python -m training.hybrid.study out/hybrid training/hybrid/gsm8k.toml --data data --out out/gsm8k
"""
