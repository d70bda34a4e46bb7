-- Whose turn it is is found without counting what waits: by who holds what, and by tenant.

set local role ricordo_owner;

create index queue_leased on queue (scope_id, lease_until) where state = 'leased';
create index scopes_turns on scopes (tenant, served);

reset role;
grant create on schema ricordo to ricordo_operator;
set local role ricordo_operator;

-- The scope whose turn it is: of those with a batch ready one of the tenant that was least recently
-- served, and of that tenant's the one least recently served. From one scope with something in the
-- queue to the next, and of each only its head and as many as make a batch: however much waits, it
-- costs the same. A head is the oldest, for jobs keep their numbers.
create or replace function next_scope(due bigint, batch bigint, patient bigint) returns bigint
language sql stable security definer set search_path = ricordo, pg_temp as $$
  with recursive busy (scope_id) as (
    select min(scope_id) from queue where state in ('waiting', 'leased')
    union all
    select (
      select min(q.scope_id) from queue q
      where q.state in ('waiting', 'leased') and q.scope_id > busy.scope_id
    ) from busy where busy.scope_id is not null
  ),
  ready as materialized (
    select busy.scope_id, q.id as head, s.tenant, s.served from busy
    cross join lateral (
      select id, queued_at, not_before from queue h
      where h.scope_id = busy.scope_id and h.state in ('waiting', 'leased') order by h.id limit 1
    ) q
    join scopes s on s.id = busy.scope_id
    where (q.not_before is null or q.not_before <= due)
      and not exists (
        select 1 from queue l
        where l.scope_id = busy.scope_id and l.state = 'leased' and l.lease_until > due
      )
      and (q.queued_at <= patient or batch <= (
        select count(*) from (
          select 1 from queue w
          where w.scope_id = busy.scope_id and w.state in ('waiting', 'leased')
          order by w.id limit batch
        ) w
      ))
  )
  select case when exists (select 1 from ready) then (
    select scope_id from ready where tenant = (
      select d.tenant from (select tenant, min(head) as head from ready group by tenant) d
      order by (select max(t.served) from scopes t where t.tenant = d.tenant), d.head limit 1
    )
    order by served, head limit 1
  ) end
$$;

reset role;
revoke create on schema ricordo from ricordo_operator;
