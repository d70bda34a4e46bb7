-- A walk reads each hop from one index alone, and what it says of a relation from that one row.

drop index relations_out;
drop index relations_in;
create index relations_out on relations
  (source_row, scope_id, id, target_row, valid_from, valid_until, closed_at);
create index relations_in on relations
  (target_row, scope_id, id, source_row, valid_from, valid_until, closed_at);

-- What `evidence` holds, once more: the memories' ids in order of their rows, a NUL between them.
alter table relations add column supported_by text not null default '';
update relations set supported_by = (
  select group_concat(memory_id, char(0)) from (
    select memory_id from evidence where relation_row = relations.row order by memory_row
  )
);
