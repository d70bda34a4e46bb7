-- Who may see what. Three roles: ricordo_owner owns everything and can see no row (no policy is for
-- it, and the policies are forced on owners too); ricordo_user is what a program connects as, and
-- sees the scopes that its transaction entered; ricordo_operator looks over all scopes, but only at
-- ids, counts and announcements, and only inside the functions below. Nobody logs in as the owner
-- or the operator.

set local role ricordo_owner;

-- The scopes that this transaction entered; none unless it did.
create function seen() returns bigint[] language sql stable parallel safe as
$$ select string_to_array(current_setting('ricordo.scope', true), ',')::bigint[] $$;

do $$
declare place text;
begin
  for place in
    select table_name from information_schema.columns
    where table_schema = 'ricordo' and column_name = 'scope_id'
  loop
    execute format('alter table %I enable row level security', place);
    execute format('alter table %I force row level security', place);
    execute format(
      'create policy entered on %I to ricordo_user '
      'using (scope_id = any ((select ricordo.seen())::bigint[]))', place);
    execute format('create policy operator on %I for select to ricordo_operator using (true)', place);
    execute format('grant select, insert, update, delete on %I to ricordo_user', place);
    execute format('grant select (scope_id) on %I to ricordo_operator', place);
  end loop;
end $$;

alter table scopes enable row level security;
alter table scopes force row level security;
create policy entered on scopes to ricordo_user using (id = any ((select ricordo.seen())::bigint[]));
create policy operator on scopes to ricordo_operator using (true);
grant select, delete, update (served) on scopes to ricordo_user;
grant select, insert on scopes to ricordo_operator;

-- The announcement of an erasure belongs to no scope any more. It can be added, not read back.
create policy erased on outbox for insert to ricordo_user with check (scope_id is null);

grant select on meta to ricordo_user;
grant select, insert on spaces to ricordo_user;
grant select, insert, update on consumers, erasures to ricordo_user;
grant usage on sequence served_turns to ricordo_user;
grant select on spaces to ricordo_operator;
grant select (row, id, scope_id, kind, status) on memories to ricordo_operator;
grant select (size) on partitions to ricordo_operator;
grant select on consumers to ricordo_operator;
grant select (memory_row, scope_id, space_id) on memory_index to ricordo_operator;
grant select (id, scope_id, state, sort, queued_at, not_before, lease_until, parked_at)
  on queue to ricordo_operator;
grant select, update (position) on outbox to ricordo_operator;
grant select, update on outbox_end to ricordo_operator;
create policy numbered on outbox for update to ricordo_operator using (true);

-- Enter one scope to write in it. Writers of one scope take turns: the lock is held to the end of
-- the transaction. This function is volatile, so that what it looks up is what the one before left.
create function enter_writing(sort text, whose text, which text) returns bigint
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare number bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(chr(31), sort, whose, which), 0));
  select id into number from scopes where (kind, tenant, owner) = (sort, whose, which);
  perform set_config('ricordo.scope', coalesce(number::text, ''), true);
  return coalesce(number, 0);
end $$;

-- Give the scope that is entered its number, for it had none.
create function add_scope(sort text, whose text, which text) returns bigint
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare number bigint;
begin
  insert into scopes (kind, tenant, owner) values (sort, whose, which) returning id into number;
  perform set_config('ricordo.scope', number::text, true);
  return number;
end $$;

-- Enter scopes to read in them; their numbers in the order asked for, 0 for one that holds nothing.
create function enter_reading(sorts text[], whose text[], which text[]) returns bigint[]
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare numbers bigint[];
begin
  select array_agg(coalesce(s.id, 0) order by f.place) into numbers
    from unnest(sorts, whose, which) with ordinality f (kind, tenant, owner, place)
    left join scopes s on (s.kind, s.tenant, s.owner) = (f.kind, f.tenant, f.owner);
  perform set_config('ricordo.scope', array_to_string(numbers, ','), true);
  return numbers;
end $$;

-- Whose scope a number is; for whoever goes on into it.
create function scope_of(number bigint) returns table (kind text, tenant text, owner text)
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select kind, tenant, owner from scopes where id = number $$;

create function all_scopes() returns table (id bigint, kind text, tenant text, owner text)
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select id, kind, tenant, owner from scopes order by id $$;

-- Rows by place, of everything.
create function count_rows() returns table (place text, count bigint)
language plpgsql stable security definer set search_path = ricordo, pg_temp as $$
begin
  for place in
    select table_name from information_schema.columns c
    where c.table_schema = 'ricordo' and c.column_name = 'scope_id'
    union select 'scopes'
  loop
    execute format('select count(*) from %I', place) into count;
    return next;
  end loop;
end $$;

-- Memories by cell and status, of everything.
create function count_memories() returns table (sort text, kind text, status text, count bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select s.kind, m.kind, m.status, count(*) from memories m join scopes s on s.id = m.scope_id
  group by s.kind, m.kind, m.status order by s.kind desc, m.kind desc, m.status
$$;

create function count_partitions() returns table (filled bigint, largest bigint)
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select count(nullif(size, 0)), coalesce(max(size), 0) from partitions $$;

-- Events that each consumer has yet to acknowledge, numbered or not.
create function count_behind() returns table (name text, count bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select c.name, (select count(*) from outbox o where o.position > c.position or o.position is null)
  from consumers c order by c.name
$$;

-- The scope whose turn it is: of those with a batch ready, the one least recently served.
create function next_scope(due bigint, batch bigint, patient bigint) returns bigint
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select h.scope_id from (
    select scope_id, min(id) as head, count(*) as jobs, min(queued_at) as oldest,
      max(coalesce(lease_until, -9223372036854775808)) as held
    from queue where state in ('waiting', 'leased') group by scope_id
  ) h
  join queue q on q.id = h.head join scopes s on s.id = h.scope_id
  where h.held <= due and (q.not_before is null or q.not_before <= due)
    and (h.jobs >= batch or h.oldest <= patient)
  order by s.served, h.head limit 1
$$;

create function count_jobs() returns table (state text, count bigint, oldest bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select state, count(*), min(queued_at) from queue
  where state in ('waiting', 'leased', 'parked') group by state
$$;

create function parked_jobs(most bigint) returns table (id bigint, scope_id bigint)
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select id, scope_id from queue where state = 'parked' order by parked_at, id limit most $$;

create function scope_of_job(number bigint) returns bigint
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select scope_id from queue where id = number and state = 'parked' $$;

-- Memories that are not indexed in a space, by id; all of the last one's id, which may be several.
create function stale_memories(
  above text, name text, size bigint, change text, analyzer text, most bigint
) returns table (id text, scope_id bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select m.id, m.scope_id from memories m
  left join memory_index i on i.memory_row = m.row
  left join spaces s on s.id = i.space_id
  where m.id > above collate "C" and not coalesce(
    (s.model, s.dimension, s.transform, s.words) = (name, size, change, analyzer), false)
  order by m.id fetch first (most) rows with ties
$$;

-- Give committed events their positions. A sequence alone would number them when they are written,
-- and a reader that follows positions would skip the one that is committed late. So positions are
-- given here, one caller at a time, to what is committed: the lock is taken in a statement of its
-- own, so that the next one sees everything that the caller before left. Events of one scope are
-- written one transaction after another, so that their rows, and so their positions, keep order.
create function number_events() returns void
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare reached bigint; added bigint;
begin
  if not exists (select 1 from outbox where position is null) then
    return;
  end if;
  select position into reached from outbox_end for update;
  with numbered as (
    update outbox o set position = reached + n.place
    from (
      select row, row_number() over (order by row) as place from (
        select row from outbox where position is null order by row limit 10000
      ) f
    ) n
    where o.row = n.row returning 1
  )
  select count(*) into added from numbered;
  update outbox_end set position = reached + added;
end $$;

create function announced_events(above bigint, most bigint)
returns table (place bigint, kind text, payload text, sort text, tenant text, owner text)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select o.position, o.kind, o.payload, s.kind, s.tenant, s.owner
  from outbox o left join scopes s on s.id = o.scope_id
  where o.position > above order by o.position limit most
$$;

create function latest_event() returns bigint
language sql stable security definer set search_path = ricordo, pg_temp as
$$ select position from outbox_end $$;

reset role;
grant create on schema ricordo to ricordo_operator;
do $$
declare each regprocedure;
begin
  for each in
    select p.oid from pg_proc p where p.pronamespace = 'ricordo'::regnamespace
  loop
    execute format('revoke all on function %s from public', each);
    execute format('grant execute on function %s to ricordo_user', each);
    if (select prosecdef from pg_proc where oid = each) then
      execute format('alter function %s owner to ricordo_operator', each);
    end if;
  end loop;
end $$;
revoke create on schema ricordo from ricordo_operator;
