//! The items of the table.
