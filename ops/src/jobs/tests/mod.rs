mod decision;
mod list;
