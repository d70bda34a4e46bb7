-- Views outside: which builds there are, how far each is, and what changed in graphs.

set local role ricordo_owner;

create table view_builds (
  number bigint generated always as identity primary key, -- a build's number never comes again
  view text collate "C" not null,
  sort text not null check (sort in ('vectors', 'graph')),
  made_of text collate "C" not null,
  serving boolean not null,
  holder text collate "C",
  held_until bigint
);
create unique index view_builds_serving on view_builds (view) where serving;

-- Scopes and partitions by keyed hash: what is erased here stays known until it is gone there.
create table view_marks (
  build bigint not null references view_builds (number) on delete cascade,
  scope_key text collate "C" not null,
  part text collate "C" not null,
  mark bigint not null,
  primary key (scope_key, build, part)
);
create index view_marks_build on view_marks (build);

-- For each entity and relation when it last changed, or went; filled while a graph view is enrolled.
-- Writers of one scope take turns, so positions of one scope are given in the order of commits.
create table graph_changes (
  position bigint generated always as identity primary key,
  scope_id bigint not null references scopes (id),
  sort text not null check (sort in ('entity', 'relation')),
  id text collate "C" not null,
  unique (scope_id, sort, id)
);
create index graph_changes_order on graph_changes (scope_id, position);

grant select, insert, update, delete on view_builds, view_marks to ricordo_user;
do $$
begin
  alter table graph_changes enable row level security;
  alter table graph_changes force row level security;
  create policy entered on graph_changes to ricordo_user
    using (scope_id = any ((select ricordo.seen())::bigint[]));
  create policy operator on graph_changes for select to ricordo_operator using (true);
  grant select, insert, update, delete on graph_changes to ricordo_user;
  grant select (scope_id) on graph_changes to ricordo_operator;
  alter table graph_changes set (autovacuum_vacuum_scale_factor = 0.01);
end $$;

create function note_change(whose bigint, what text, which text) returns void
language sql volatile set search_path = ricordo, pg_temp as $$
  insert into graph_changes (scope_id, sort, id)
    select whose, what, which where exists (select 1 from view_builds where sort = 'graph')
  on conflict (scope_id, sort, id) do update set position = default
$$;

create function note_relation() returns trigger
language plpgsql volatile set search_path = ricordo, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    perform note_change(old.scope_id, 'relation', old.id);
  else
    perform note_change(new.scope_id, 'relation', new.id);
  end if;
  return null;
end $$;

create function note_entity() returns trigger
language plpgsql volatile set search_path = ricordo, pg_temp as $$
begin
  perform note_change(old.scope_id, 'entity', old.id);
  return null;
end $$;

create function note_name() returns trigger
language plpgsql volatile set search_path = ricordo, pg_temp as $$
begin
  if tg_op <> 'INSERT' then
    perform note_change(e.scope_id, 'entity', e.id) from entities e where e.row = old.entity_row;
  end if;
  if tg_op <> 'DELETE' then
    perform note_change(e.scope_id, 'entity', e.id) from entities e where e.row = new.entity_row;
  end if;
  return null;
end $$;

create trigger relations_noted after insert or delete
  or update of source_row, target_row, type, valid_from, valid_until, closed_at on relations
  for each row execute function note_relation();
create trigger entities_noted after delete on entities
  for each row execute function note_entity();
create trigger names_noted after insert or delete or update of key, entity_row on names
  for each row execute function note_name();

-- A new build, at the end of the outbox; the first of a view serves.
create function enroll_build(which text, what text, made text)
returns table (view text, number bigint, sort text, made_of text, serving boolean)
language plpgsql volatile set search_path = ricordo, pg_temp as $$
declare made_number bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(chr(31), 'view', which), 0));
  perform number_events();
  insert into view_builds as b (view, sort, made_of, serving)
    values (which, what, made,
      not exists (select 1 from view_builds v where v.view = which and v.serving))
    returning b.number into made_number;
  insert into consumers (name, position)
    values ('view:' || which || '#' || made_number, latest_event());
  return query select b.view, b.number, b.sort, b.made_of, b.serving
    from view_builds b where b.number = made_number;
end $$;

-- Let a build serve instead of the one that does; false for one that was dismissed.
create function serve_build(which text, chosen bigint) returns boolean
language plpgsql volatile set search_path = ricordo, pg_temp as $$
begin
  if not exists (select 1 from view_builds b where b.view = which and b.number = chosen) then
    return false;
  end if;
  update view_builds b set serving = false where b.view = which;
  update view_builds b set serving = true where b.number = chosen;
  return true;
end $$;

create function dismiss_build(which text, chosen bigint) returns void
language sql volatile set search_path = ricordo, pg_temp as $$
  delete from consumers where name = 'view:' || which || '#' || chosen;
  delete from view_builds where number = chosen;
$$;

grant delete on consumers to ricordo_user;
do $$
declare each regprocedure;
begin
  for each in
    select p.oid from pg_proc p where p.pronamespace = 'ricordo'::regnamespace
      and p.proname in ('note_change', 'note_relation', 'note_entity', 'note_name',
        'enroll_build', 'serve_build', 'dismiss_build')
  loop
    execute format('revoke all on function %s from public', each);
    execute format('grant execute on function %s to ricordo_user', each);
  end loop;
end $$;

reset role;
