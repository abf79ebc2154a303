//! From a raw request to verified events: provider profiles as data, signature schemes as code.
