-- Tenants take turns, and within a tenant its scopes.

grant create on schema ricordo to ricordo_operator;
set local role ricordo_operator;

-- The scope whose turn it is: of those with a batch ready one of the tenant that was least recently
-- served, and of that tenant's the one least recently served. The case lets an idle worker's look
-- end before it counts the tenants' turns.
create or replace function next_scope(due bigint, batch bigint, patient bigint) returns bigint
language sql stable security definer set search_path = ricordo, pg_temp as $$
  with ready as materialized (
    select h.scope_id, h.head, s.tenant, s.served from (
      select scope_id, min(id) as head, count(*) as jobs, min(queued_at) as oldest,
        max(coalesce(lease_until, -9223372036854775808)) as held
      from queue where state in ('waiting', 'leased') group by scope_id
    ) h
    join queue q on q.id = h.head join scopes s on s.id = h.scope_id
    where h.held <= due and (q.not_before is null or q.not_before <= due)
      and (h.jobs >= batch or h.oldest <= patient)
  )
  select case when exists (select 1 from ready) then (
    select scope_id from ready where tenant = (
      select d.tenant from (select tenant, min(head) as head from ready group by tenant) d
      join (select tenant, max(served) as served from scopes group by tenant) t using (tenant)
      order by t.served, d.head limit 1
    )
    order by served, head limit 1
  ) end
$$;

reset role;
revoke create on schema ricordo from ricordo_operator;
