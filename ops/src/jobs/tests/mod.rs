mod decision;
mod list;
mod many;
