"""Ways to spend tokens. Each is a generator `(question, cap) -> Flow`; adding one takes one file.

Doors: the names below, `registry` (from a word to a policy and its facts) and `methods` (what each does, in
words). A method's own module is imported by the registry and by methods built on it, by nobody else.
"""

from thinkcap.policies.registry import POLICIES, PolicySpec, parse, parse_list, policy

__all__ = ["POLICIES", "PolicySpec", "parse", "parse_list", "policy"]
