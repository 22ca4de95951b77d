//! How answers are made private: one file per mechanism.
