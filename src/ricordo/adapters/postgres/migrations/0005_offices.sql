-- Work that one process of many does at a time, and old events that nobody waits for.

set local role ricordo_owner;

create table offices (
  name text collate "C" not null primary key,
  holder text collate "C", -- null while nobody does
  term bigint not null, -- grows with every change of holder
  held_until bigint not null
);
grant select, insert, update on offices to ricordo_user;

grant delete on outbox to ricordo_operator;
create policy pruned on outbox for delete to ricordo_operator using (true);

-- Remove events that happened before an instant and that every consumer has acknowledged.
create function prune_events(earliest bigint, most bigint) returns bigint
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare removed bigint;
begin
  delete from outbox where row in (
    select o.row from (
      select row, payload from outbox
      where position <= (select coalesce(min(c.position), 9223372036854775807) from consumers c)
      order by position limit most
    ) o where (o.payload::json ->> 'at')::bigint < earliest
  );
  get diagnostics removed = row_count;
  return removed;
end $$;
revoke all on function prune_events(bigint, bigint) from public;
grant execute on function prune_events(bigint, bigint) to ricordo_user;

reset role;
grant create on schema ricordo to ricordo_operator;
alter function prune_events(bigint, bigint) owner to ricordo_operator;
revoke create on schema ricordo from ricordo_operator;
