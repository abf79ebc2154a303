//! The work queue and the dead-letter queue on Amazon SQS.
