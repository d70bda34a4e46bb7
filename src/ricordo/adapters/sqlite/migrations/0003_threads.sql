-- Where a memory stands in its conversation, beside its index row: neighbours help to find it.
-- `thread` is a number of the thread's id, 0 without one; order is by said_at, then recorded_at.

alter table memory_index add column thread integer not null default 0;
alter table memory_index add column said_at integer not null default 0;
alter table memory_index add column recorded_at integer not null default 0;

update memory_index set
  recorded_at = (select m.recorded_at from memories m where m.row = memory_index.memory_row),
  said_at = (
    select m.recorded_at from memories m where m.row = memory_index.memory_row
  );
update memory_index set
  said_at = (
    select o.at from origins o where o.memory_row = memory_index.memory_row and o.position = 0
  ),
  thread = (
    select thread_number(o.thread_id) from origins o
    where o.memory_row = memory_index.memory_row and o.position = 0
  )
  where exists (
    select 1 from origins o where o.memory_row = memory_index.memory_row and o.position = 0
  );

-- Caches read everything anew.
update partitions set generation = generation + 1, listed_since = generation + 1;
