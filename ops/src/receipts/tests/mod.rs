mod find;
mod show;
