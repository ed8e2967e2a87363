"""An OpenAI-compatible server in front of any model server, where `max_tokens` is a contract."""
