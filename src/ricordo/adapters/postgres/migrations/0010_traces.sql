-- Traces of what is over leave after a while: ids of turns that were read, and the audit.

set local role ricordo_owner;

grant delete on queue, audit to ricordo_operator;
grant select (row, at) on audit to ricordo_operator;
create policy pruned on queue for delete to ricordo_operator using (state = 'done');
create policy pruned on audit for delete to ricordo_operator using (true);

-- Of the oldest turns that were read and notes of the audit, remove those from before two instants.
create function expire_traces(turns bigint, notes bigint, most bigint) returns bigint
language plpgsql volatile security definer set search_path = ricordo, pg_temp as $$
declare removed bigint; more bigint;
begin
  delete from queue where id in (
    select o.id from (
      select id, queued_at from queue where state = 'done' order by id limit most
    ) o where o.queued_at < turns
  );
  get diagnostics removed = row_count;
  delete from audit where row in (
    select o.row from (select row, at from audit order by row limit most) o where o.at < notes
  );
  get diagnostics more = row_count;
  return removed + more;
end $$;
revoke all on function expire_traces(bigint, bigint, bigint) from public;
grant execute on function expire_traces(bigint, bigint, bigint) to ricordo_user;

reset role;
grant create on schema ricordo to ricordo_operator;
alter function expire_traces(bigint, bigint, bigint) owner to ricordo_operator;
revoke create on schema ricordo from ricordo_operator;
