//! Many queries at once over a finite domain.
