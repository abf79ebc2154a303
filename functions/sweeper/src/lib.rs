//! The sweeper function: finds and wakes whatever the stream, the queue or a crash left behind.
