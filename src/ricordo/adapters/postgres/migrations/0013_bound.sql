-- What belongs to a row belongs to that row's scope, and whoever may write in one scope cannot make a
-- row of another one undeletable, or learn that it is there: every reference names the scope, too.

set local role ricordo_owner;

do $$
declare each record;
begin
  for each in
    select distinct f.confrelid::regclass::text as whole, p.attname as key
    from pg_constraint f
    join pg_attribute p on p.attrelid = f.confrelid and p.attnum = f.confkey[1]
    join pg_attribute s on s.attrelid = f.confrelid and s.attname = 'scope_id'
    where f.connamespace = 'ricordo'::regnamespace and f.contype = 'f'
  loop
    execute format('alter table %s add unique (scope_id, %I)', each.whole, each.key);
  end loop;
  for each in
    select f.conname as name, f.conrelid::regclass::text as part, c.attname as own,
      f.confrelid::regclass::text as whole, p.attname as key
    from pg_constraint f
    join pg_attribute c on c.attrelid = f.conrelid and c.attnum = f.conkey[1]
    join pg_attribute p on p.attrelid = f.confrelid and p.attnum = f.confkey[1]
    join pg_attribute s on s.attrelid = f.confrelid and s.attname = 'scope_id'
    where f.connamespace = 'ricordo'::regnamespace and f.contype = 'f'
  loop
    execute format('alter table %s drop constraint %I', each.part, each.name);
    execute format(
      'alter table %s add constraint %I foreign key (scope_id, %I) references %s (scope_id, %I)',
      each.part, each.name, each.own, each.whole, each.key);
  end loop;
end $$;

-- An erasure is noted once and for all: no program takes one back, or puts one so far ahead that
-- nothing of that person would ever be remembered again.
create function note_erasure(whose text, was bigint, instant bigint) returns void
language sql volatile security definer set search_path = ricordo, pg_temp as $$
  insert into erasures as e (subject, former_id, erased_at)
    values (whose, was, least(instant, (extract(epoch from now()) * 1000000)::bigint + 86400000000))
  on conflict (subject, former_id) do update set
    erased_at = greatest(e.erased_at, excluded.erased_at)
$$;
revoke all on function note_erasure(text, bigint, bigint) from public;
grant execute on function note_erasure(text, bigint, bigint) to ricordo_user;
revoke insert, update on erasures from ricordo_user;
grant select, insert, update on erasures to ricordo_operator;
reset role;
grant create on schema ricordo to ricordo_operator;
alter function ricordo.note_erasure(text, bigint, bigint) owner to ricordo_operator;
revoke create on schema ricordo from ricordo_operator;
