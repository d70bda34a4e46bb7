-- Threads by when they were heard of last; for ending sessions whose process died.

set local role ricordo_owner;

grant select (thread_id) on queue to ricordo_operator;

reset role;
grant create on schema ricordo to ricordo_operator;
set local role ricordo_operator;

-- Of the newest turns, the threads whose last one was taken in between two instants. Whoever asks
-- learns ids and times; what was said is seen by those only who enter the scope.
create function threads_heard(since bigint, until bigint, newest bigint, most bigint)
returns table (kind text, tenant text, owner text, thread text, heard bigint)
language sql stable security definer set search_path = ricordo, pg_temp as $$
  select s.kind, s.tenant, s.owner, t.thread_id, t.heard from (
    select q.scope_id, q.thread_id, max(q.queued_at) as heard from (
      select scope_id, thread_id, queued_at from queue where sort = 'turn' order by id desc
      limit newest
    ) q group by q.scope_id, q.thread_id
  ) t join scopes s on s.id = t.scope_id
  where t.heard > since and t.heard <= until order by t.heard, t.scope_id, t.thread_id limit most
$$;
revoke all on function threads_heard(bigint, bigint, bigint, bigint) from public;
grant execute on function threads_heard(bigint, bigint, bigint, bigint) to ricordo_user;

reset role;
revoke create on schema ricordo from ricordo_operator;
