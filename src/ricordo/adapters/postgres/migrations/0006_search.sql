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
  -- Our own terms, each with the number of its partition, so that nothing is shared with others. Its
  -- position is how often it occurs, and its label A where that is more than once.
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

-- How many rows of a partition hold each word of a question, and, with the word -1, the places of the
-- best by BM25. Of each word: whether it is held at all, and more than once; and its alternatives, by
-- spaces. It runs as a role that this is the only use of, and looks for the entered scopes by itself:
-- row security would let no full-text index be used, for the server applies a search operator only
-- to rows that a rule has admitted, one by one.
create policy finder on search_rows for select to ricordo_finder using (true);
grant select (place, scope_id, partition_id, space_id, visible, valid_from, valid_until, length, words)
  on search_rows to ricordo_finder;
grant execute on function seen() to ricordo_finder;

create function find_words(
  whose bigint, which bigint, moment bigint, once text[], often text[], alternatives text[],
  visible double precision, average double precision, most bigint
) returns table (word bigint, value bigint)
language sql stable security definer
set search_path = ricordo, pg_temp set enable_seqscan = off as $$
  with asked as materialized (
    select a.word, a.once::tsquery, a.often::tsquery,
      string_to_array(a.alternatives, ' ') as terms
    from unnest(once, often, alternatives) with ordinality a (once, often, alternatives, word)
  ),
  found as materialized (
    select a.word, r.place, r.length,
      case when r.words @@ a.often then
          (select max(u.positions[1]) from unnest(r.words) u where u.lexeme = any (a.terms))
        else 1 end as times
    from asked a cross join lateral
      -- By the index, word by word: `offset` lets nothing else be done with it.
      (select s.place, s.scope_id, s.partition_id, s.space_id, s.visible, s.valid_from, s.valid_until,
        s.length, s.words from search_rows s where s.words @@ a.once offset 0) r
    where r.partition_id = whose and r.space_id = which and r.visible = 1
      and (moment is null or (r.valid_from <= moment and r.valid_until > moment))
      and r.scope_id = any ((select seen())::bigint[])
  ),
  rare as (
    select f.word, count(*) as held, ln(1 + (visible - count(*) + 0.5) / (count(*) + 0.5)) as rarity
    from found f group by f.word
  ),
  best as (
    select f.place from found f join rare using (word) group by f.place
    order by sum(rarity * f.times * 2.2::float8
      / (f.times + 1.2::float8 * (0.25::float8 + 0.75::float8 * f.length / average))) desc, f.place
    limit most
  )
  select r.word, r.held from rare r union all select -1, b.place from best b
$$;

reset role;
grant create on schema ricordo to ricordo_operator, ricordo_finder;
do $$
declare each regprocedure;
begin
  for each in
    select p.oid from pg_proc p where p.pronamespace = 'ricordo'::regnamespace
      and p.proname in ('total_search_rows', 'large_partitions', 'find_words')
  loop
    execute format('revoke all on function %s from public', each);
    execute format('grant execute on function %s to ricordo_user', each);
  end loop;
  alter function ricordo.large_partitions owner to ricordo_operator;
  alter function ricordo.find_words owner to ricordo_finder;
end $$;
revoke create on schema ricordo from ricordo_operator, ricordo_finder;
