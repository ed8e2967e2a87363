"""The nouns (`types`), the one idea (`flow`), the engine protocol, prompts, names and errors of the whole house.

Every module here may be imported by every room. It needs the standard library, msgspec for the
nouns, and nothing else of ours.
"""
