-- What guards rows, as every `ricordo init --postgres` puts it back where somebody loosened it. Where
-- nothing is amiss, nothing is locked or changed.

set local role ricordo_owner;

do $$
declare place text; mine text;
begin
  for place in
    select table_name from information_schema.columns
    where table_schema = 'ricordo' and column_name = 'scope_id'
    union select 'scopes'
  loop
    mine := case place when 'scopes' then 'id' else 'scope_id' end;
    if exists (
      select 1 from pg_class where oid = format('ricordo.%I', place)::regclass
        and not (relrowsecurity and relforcerowsecurity)
    ) then
      execute format('alter table %I enable row level security', place);
      execute format('alter table %I force row level security', place);
    end if;
    if not exists (
      select 1 from pg_policies p where p.schemaname = 'ricordo' and p.tablename = place
        and p.policyname = 'entered' and p.roles = '{ricordo_user}' and p.cmd = 'ALL'
        and p.permissive = 'PERMISSIVE' and p.with_check is null
        and p.qual like '(' || mine || ' = ANY (%seen()%)'
    ) then
      execute format('drop policy if exists entered on %I', place);
      execute format(
        'create policy entered on %I to ricordo_user '
        'using (%I = any ((select ricordo.seen())::bigint[]))', place, mine);
    end if;
    if place <> 'scopes' then
      execute format('grant select, insert, update, delete on %I to ricordo_user', place);
    end if;
  end loop;
end $$;

grant select, delete, update (served) on scopes to ricordo_user;
grant select on meta, erasures to ricordo_user;
grant select, insert on spaces to ricordo_user;
grant select, insert, update, delete on consumers, view_builds, view_marks to ricordo_user;
grant select, insert, update on offices to ricordo_user;
grant usage on sequence served_turns to ricordo_user;

reset role;
