"""Ways to spend tokens. Each is a generator `(question, cap) -> Flow`; adding one takes one file."""

from thinkcap.policies.registry import POLICIES, PolicySpec, parse, parse_list, policy

__all__ = ["POLICIES", "PolicySpec", "parse", "parse_list", "policy"]
