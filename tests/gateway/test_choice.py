from types import MappingProxyType

from thinkcap.gateway.choose import Choice
from thinkcap.policies.registry import PolicySpec


def test_a_caller_learns_the_policy_and_not_where_its_file_lies() -> None:
    spec = PolicySpec("auto", MappingProxyType({"table": "/srv/secret/profile.allocation.json"}))
    assert Choice(spec, "profile").label == "auto(table=profile.allocation.json)"
    assert Choice(PolicySpec("nothink"), "default").label == "nothink"
