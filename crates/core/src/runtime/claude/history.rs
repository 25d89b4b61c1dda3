//! Conversations the program has stored.
