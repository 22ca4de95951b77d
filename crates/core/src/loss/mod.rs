//! What events cost in a scope, in every notion of privacy; see `docs/events.md`.
