-- Consolidation: what a pass did, what it proposes, and whose turn it is. Ids and numbers only; the
-- rows of a pass that name a memory or relation go with it.

alter table memories add column demoted_at integer;
alter table memories add column merged_into text; -- id of the memory that stands for it
create index memories_merged on memories (scope_id, merged_into) where merged_into is not null;

create table passes (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  at integer not null,
  done_by text not null,
  undone_at integer,
  unique (scope_id, id)
);

create table pass_steps (
  row integer primary key, -- in the order in which they were done
  scope_id integer not null references scopes (id),
  pass_row integer not null references passes (row),
  act text not null,
  memory_row integer references memories (row),
  other_row integer references memories (row),
  relation_row integer references relations (row),
  rival_row integer references relations (row),
  proposal_id text,
  changes text not null -- fields before and after: numbers, times, names of a closed vocabulary
);
create index pass_steps_scope on pass_steps (scope_id);
create index pass_steps_pass on pass_steps (pass_row, row);
create index pass_steps_memory on pass_steps (memory_row) where memory_row is not null;
create index pass_steps_other on pass_steps (other_row) where other_row is not null;
create index pass_steps_relation on pass_steps (relation_row) where relation_row is not null;
create index pass_steps_rival on pass_steps (rival_row) where rival_row is not null;

create table merge_proposals (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  source_row integer not null references entities (row),
  target_row integer not null references entities (row),
  reason text not null,
  at integer not null,
  pass_row integer not null references passes (row),
  rejected integer not null default 0,
  unique (scope_id, id),
  unique (source_row, target_row)
);
create index merge_proposals_target on merge_proposals (target_row);
create index merge_proposals_pass on merge_proposals (pass_row);

create table tending (
  scope_id integer not null primary key references scopes (id),
  began_at integer not null, -- when its last pass began
  lease text,
  lease_until integer
) without rowid;
