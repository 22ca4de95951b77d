//! The JSON forms of events and questions, at the edge: the core's types are not serialisable, these are their papers.
