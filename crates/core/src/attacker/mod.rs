//! From whom: attackers who know everything but one record, and attackers who know less.
