-- A walk reads each hop from one index alone, in the order in which it goes on.

drop index relations_out;
drop index relations_in;
create index relations_out on relations
  (source_row, scope_id, id, target_row, type, valid_from, valid_until, closed_at);
create index relations_in on relations
  (target_row, scope_id, id, source_row, type, valid_from, valid_until, closed_at);
