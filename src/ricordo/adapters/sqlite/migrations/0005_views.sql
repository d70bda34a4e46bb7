-- Views outside: which builds there are, how far each is, and what changed in graphs.

create table view_builds (
  number integer primary key autoincrement, -- so that a build's number never comes again
  view text not null,
  sort text not null check (sort in ('vectors', 'graph')),
  made_of text not null,
  serving integer not null,
  holder text,
  held_until integer
);
create unique index view_builds_serving on view_builds (view) where serving = 1;

-- Scopes and partitions by keyed hash: what is erased here stays known until it is gone there.
create table view_marks (
  build integer not null references view_builds (number),
  scope_key text not null,
  part text not null,
  mark integer not null,
  primary key (scope_key, build, part)
) without rowid;
create index view_marks_build on view_marks (build);

-- For each entity and relation when it last changed, or went; filled while a graph view is enrolled.
create table graph_changes (
  position integer primary key autoincrement,
  scope_id integer not null references scopes (id),
  sort text not null check (sort in ('entity', 'relation')),
  id text not null
);
create index graph_changes_order on graph_changes (scope_id, position);
create index graph_changes_id on graph_changes (scope_id, sort, id);

create trigger relations_made after insert on relations
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = new.scope_id and sort = 'relation' and id = new.id;
  insert into graph_changes (scope_id, sort, id) values (new.scope_id, 'relation', new.id);
end;
create trigger relations_changed
after update of source_row, target_row, type, valid_from, valid_until, closed_at on relations
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = new.scope_id and sort = 'relation' and id = new.id;
  insert into graph_changes (scope_id, sort, id) values (new.scope_id, 'relation', new.id);
end;
create trigger relations_gone after delete on relations
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = old.scope_id and sort = 'relation' and id = old.id;
  insert into graph_changes (scope_id, sort, id) values (old.scope_id, 'relation', old.id);
end;
create trigger entities_gone after delete on entities
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = old.scope_id and sort = 'entity' and id = old.id;
  insert into graph_changes (scope_id, sort, id) values (old.scope_id, 'entity', old.id);
end;
create trigger names_made after insert on names
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = new.scope_id and sort = 'entity'
    and id = (select e.id from entities e where e.row = new.entity_row);
  insert into graph_changes (scope_id, sort, id)
    select new.scope_id, 'entity', e.id from entities e where e.row = new.entity_row;
end;
create trigger names_moved after update of key, entity_row on names
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = new.scope_id and sort = 'entity'
    and id in (select e.id from entities e where e.row in (old.entity_row, new.entity_row));
  insert into graph_changes (scope_id, sort, id)
    select new.scope_id, 'entity', e.id from entities e
    where e.row in (old.entity_row, new.entity_row);
end;
create trigger names_gone after delete on names
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = old.scope_id and sort = 'entity'
    and id = (select e.id from entities e where e.row = old.entity_row);
  insert into graph_changes (scope_id, sort, id)
    select old.scope_id, 'entity', e.id from entities e where e.row = old.entity_row;
end;
-- `insert or replace` takes a name from another entity without a word to the triggers above.
create trigger names_taken before insert on names
when exists (select 1 from view_builds where sort = 'graph') begin
  delete from graph_changes where scope_id = new.scope_id and sort = 'entity' and id in (
    select e.id from names n join entities e on e.row = n.entity_row
    where n.scope_id = new.scope_id and n.key = new.key
  );
  insert into graph_changes (scope_id, sort, id)
    select new.scope_id, 'entity', e.id from names n join entities e on e.row = n.entity_row
    where n.scope_id = new.scope_id and n.key = new.key;
end;
