-- Who reads the outbox: when they were last heard of, and whether events are still kept for them.

set local role ricordo_owner;

alter table consumers
  add column seen bigint, -- when it last acknowledged
  add column retired_at bigint, -- null while events are kept for it
  add column missed bigint not null default 0; -- pruned since, never read
grant update (missed) on consumers to ricordo_operator;

-- Keep nothing for a reader any more, unless it is at work: it holds its office or feeds its view at
-- `instant`, or acknowledged after `quiet`. Null for one that is not known. Locks in the order in
-- which reports do.
create function retire_reader(which text, instant bigint, quiet bigint) returns boolean
language plpgsql volatile set search_path = ricordo, pg_temp as $$
declare held bigint; fed bigint; known consumers;
begin
  select o.held_until into held from offices o
    where o.name = which and o.holder is not null for update;
  select v.held_until into fed from view_builds v
    where 'view:' || v.view || '#' || v.number = which and v.holder is not null for update;
  select * into known from consumers c where c.name = which for update;
  if known.name is null then
    return null;
  elsif known.retired_at is not null then
    return true;
  elsif greatest(held, fed) > instant or known.seen > quiet then
    return false;
  end if;
  update offices o set holder = null where o.name = which;
  update view_builds v set holder = null, held_until = null
    where 'view:' || v.view || '#' || v.number = which;
  update consumers c set retired_at = instant, missed = 0 where c.name = which;
  return true;
end $$;
revoke all on function retire_reader(text, bigint, bigint) from public;
grant execute on function retire_reader(text, bigint, bigint) to ricordo_user;

reset role;
grant create on schema ricordo to ricordo_operator;
set local role ricordo_operator;

-- Each reader with what is kept of what it has yet to acknowledge, numbered or not.
create function list_readers() returns table (
  name text, reached bigint, behind bigint, oldest bigint, seen bigint, retired_at bigint,
  missed bigint
)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select c.name, c.position,
    (select count(*) from outbox o where o.position > c.position or o.position is null),
    (select (o.payload::json ->> 'at')::bigint from outbox o
      where o.position > c.position order by o.position limit 1),
    c.seen, c.retired_at, c.missed
  from consumers c order by c.name
$$;

create or replace function count_behind() returns table (name text, count bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select c.name, (select count(*) from outbox o where o.position > c.position or o.position is null)
  from consumers c where c.retired_at is null order by c.name
$$;

-- Remove events that happened before an instant and that nobody waits for. A retired reader waits
-- for erasures only; what else goes that it never had is counted. It cannot come back meanwhile.
create or replace function prune_events(earliest bigint, most bigint) returns bigint
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare doomed bigint[]; waiting bigint; returning_at bigint; removed bigint;
begin
  perform 1 from consumers c where c.retired_at is not null for update;
  select coalesce(min(c.position) filter (where c.retired_at is null), 9223372036854775807),
    coalesce(min(c.position) filter (where c.retired_at is not null), 9223372036854775807)
    into waiting, returning_at from consumers c;
  select array_agg(o.position) into doomed from (
    select position, payload from outbox
    where position <= waiting and not (kind = 'UserMemoryErased' and position > returning_at)
    order by position limit most
  ) o where (o.payload::json ->> 'at')::bigint < earliest;
  update consumers c
    set missed = c.missed + (select count(*) from unnest(doomed) d where d > c.position)
    where c.retired_at is not null and c.position < any (doomed);
  delete from outbox where position = any (doomed);
  get diagnostics removed = row_count;
  return removed;
end $$;

revoke all on function list_readers() from public;
grant execute on function list_readers() to ricordo_user;

reset role;
revoke create on schema ricordo from ricordo_operator;
