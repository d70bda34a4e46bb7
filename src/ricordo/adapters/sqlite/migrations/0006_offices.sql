-- Work that one process of many does at a time: who holds an office, and in which term.

create table offices (
  name text not null primary key,
  holder text, -- null while nobody does
  term integer not null, -- grows with every change of holder
  held_until integer not null
) without rowid;
