-- Searching in the database, for partitions that are too large for a program's memory: a copy of
-- what finding needs, kept in the transactions that change index rows. The column `embedding` is
-- added beside these steps, where the extension pgvector is; without it nothing is ever copied.

set local role ricordo_owner;

create table search_partitions (
  partition_id bigint not null primary key,
  scope_id bigint not null references scopes (id),
  reached bigint not null, -- index rows up to this place were copied; later ones are as they come
  filled boolean not null default false -- everything was
);
create index search_partitions_scope on search_partitions (scope_id);

create table search_rows (
  place bigint not null primary key, -- as in memory_index
  scope_id bigint not null references scopes (id),
  partition_id bigint not null,
  space_id bigint not null,
  memory_id text collate "C" not null,
  visible bigint not null,
  valid_from bigint not null,
  valid_until bigint not null,
  thread bigint not null,
  said_at bigint not null,
  recorded_at bigint not null,
  length bigint not null,
  -- Our own terms, each with the number of its partition, so that nothing is shared with others. A
  -- label tells how often it occurs: D once, C twice, B three times, A more often.
  words tsvector not null
);
create index search_rows_scope on search_rows (scope_id);
-- No list of pending entries: everybody's searches would read it.
create index search_rows_words on search_rows using gin (words) with (fastupdate = off);
create index search_rows_order on search_rows
  (partition_id, thread, said_at, recorded_at, memory_id) where visible = 1;
create index search_rows_bounded on search_rows (partition_id, valid_from, valid_until)
  where visible = 1
    and (valid_from > -9223372036854775808 or valid_until < 9223372036854775807);

-- Visible rows and their words, so that ranking need not count.
create table search_totals (
  partition_id bigint not null,
  space_id bigint not null,
  scope_id bigint not null references scopes (id),
  shown bigint not null,
  words bigint not null,
  primary key (partition_id, space_id)
);
create index search_totals_scope on search_totals (scope_id);

do $$
declare place text;
begin
  foreach place in array array['search_partitions', 'search_rows', 'search_totals'] loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format(
      'create policy entered on %I to ricordo_user '
      'using (scope_id = any ((select ricordo.seen())::bigint[]))', place);
    execute format('create policy operator on %I for select to ricordo_operator using (true)', place);
    execute format('grant select, insert, update, delete on %I to ricordo_user', place);
    execute format('grant select (scope_id) on %I to ricordo_operator', place);
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.01)', place);
  end loop;
end $$;
alter table search_rows set (toast_tuple_target = 8160); -- a scan reads vectors where they lie
grant select (partition_id, filled) on search_partitions to ricordo_operator;
grant select (id, space_id) on partitions to ricordo_operator;

create function total_search_rows() returns trigger
language plpgsql volatile set search_path = ricordo, pg_temp as $$
begin
  if tg_op in ('INSERT', 'UPDATE') then
    insert into search_totals as t (partition_id, space_id, scope_id, shown, words)
      select partition_id, space_id, scope_id, count(*), sum(length)
      from added where visible = 1 group by partition_id, space_id, scope_id
    on conflict (partition_id, space_id)
      do update set shown = t.shown + excluded.shown, words = t.words + excluded.words;
  end if;
  if tg_op in ('DELETE', 'UPDATE') then
    update search_totals t set shown = t.shown - r.shown, words = t.words - r.words
    from (
      select partition_id, space_id, count(*) as shown, sum(length) as words
      from removed where visible = 1 group by partition_id, space_id
    ) r
    where t.partition_id = r.partition_id and t.space_id = r.space_id;
  end if;
  return null;
end $$;

create trigger search_rows_added after insert on search_rows
  referencing new table as added for each statement execute function total_search_rows();
create trigger search_rows_changed after update on search_rows
  referencing old table as removed new table as added
  for each statement execute function total_search_rows();
create trigger search_rows_removed after delete on search_rows
  referencing old table as removed for each statement execute function total_search_rows();

-- Filled partitions and their space, by size; for whoever makes their indexes.
create function large_partitions(lowest bigint)
returns table (number bigint, space bigint, dimension bigint, size bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select p.id, s.id, s.dimension, p.size from search_partitions f
  join partitions p on p.id = f.partition_id join spaces s on s.id = p.space_id
  where f.filled and p.size >= lowest order by p.id
$$;

reset role;
grant create on schema ricordo to ricordo_operator;
revoke all on function ricordo.total_search_rows(), ricordo.large_partitions(bigint) from public;
grant execute on function ricordo.total_search_rows(), ricordo.large_partitions(bigint)
  to ricordo_user;
alter function ricordo.large_partitions(bigint) owner to ricordo_operator;
revoke create on schema ricordo from ricordo_operator;
