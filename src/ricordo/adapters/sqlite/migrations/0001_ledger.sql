-- The first schema. Times are microseconds since 1970 UTC. Every table that can hold something of
-- a scope has the column scope_id, so that a scan finds all of it.

create table meta (
  name text not null primary key,
  value blob not null
) without rowid;

create table scopes (
  id integer primary key autoincrement,
  kind text not null check (kind in ('user', 'organization')),
  tenant text not null,
  owner text not null, -- a user, or a namespace; '' is the tenant's common namespace
  served integer not null default 0, -- grows with every batch handed out; smallest goes first
  unique (kind, tenant, owner)
);
create index scopes_served on scopes (served);

create table spaces (
  id integer primary key,
  model text not null,
  dimension integer not null,
  transform text not null,
  words text not null,
  unique (model, dimension, transform, words)
);

create table partitions (
  id integer primary key autoincrement,
  scope_id integer not null references scopes (id),
  kind text not null check (kind in ('preference', 'fact')),
  agent text not null, -- '' for facts
  space_id integer references spaces (id),
  generation integer not null default 0,
  listed_since integer not null default 0, -- removals after this generation are in removed_rows
  next_place integer not null default 1,
  size integer not null default 0, -- visible rows of memory_index
  unique (scope_id, kind, agent)
);

create table memories (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  partition_id integer not null,
  kind text not null check (kind in ('preference', 'fact')),
  agent text,
  text text not null,
  digest text not null,
  status text not null check (status in ('proposed', 'active', 'superseded', 'rejected')),
  source text not null,
  recorded_at integer not null,
  updated_at integer not null,
  valid_from integer,
  valid_until integer,
  expires_at integer,
  confidence real not null,
  importance real not null,
  sensitivity text not null,
  pinned integer not null,
  recalls integer not null,
  last_recalled_at integer,
  version integer not null,
  pending text,
  reasons text,
  replaces text,
  prompt text,
  model text,
  unique (scope_id, id)
);
create index memories_id on memories (id);
create index memories_order on memories (scope_id, recorded_at, id);
create index memories_review on memories (scope_id, recorded_at, id)
  where status = 'proposed' or pending is not null;
create unique index memories_digest on memories (partition_id, digest)
  where status in ('active', 'proposed', 'rejected');

create table revisions (
  row integer primary key,
  scope_id integer not null references scopes (id),
  memory_row integer not null references memories (row),
  version integer not null,
  text text not null,
  replaced_at integer not null,
  changed_by text not null,
  unique (memory_row, version)
);
create index revisions_scope on revisions (scope_id);

create table origins (
  row integer primary key,
  scope_id integer not null references scopes (id),
  memory_row integer not null references memories (row),
  position integer not null,
  at integer not null,
  agent text,
  thread_id text,
  display_id text,
  run_id text,
  author text,
  message_ids text,
  quote text,
  unique (memory_row, position)
);
create index origins_thread on origins (scope_id, thread_id, memory_row);

create table memory_index (
  place integer primary key, -- partition_id << 32 | counter: a partition lies together on disk
  memory_row integer not null unique references memories (row),
  memory_id text not null,
  scope_id integer not null references scopes (id),
  partition_id integer not null,
  space_id integer not null references spaces (id),
  generation integer not null,
  visible integer not null, -- 1 for active and superseded memories
  valid_from integer not null,
  valid_until integer not null,
  length integer not null,
  vector blob not null,
  terms blob not null,
  counts blob not null
);
create index memory_index_changes on memory_index (scope_id, partition_id, generation);

create table removed_rows (
  scope_id integer not null references scopes (id),
  partition_id integer not null,
  generation integer not null,
  memory_id text not null,
  primary key (scope_id, partition_id, generation, memory_id)
) without rowid;

create table entities (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  name text not null,
  type text not null,
  recorded_at integer not null,
  merged_into integer references entities (row),
  unique (scope_id, id)
);
create index entities_merged on entities (merged_into) where merged_into is not null;

create table names (
  scope_id integer not null references scopes (id),
  key text not null,
  entity_row integer not null references entities (row),
  name text not null,
  position integer not null, -- 0 is the entity's own name, all others are aliases
  primary key (scope_id, key)
) without rowid;
create index names_entity on names (entity_row, position);

create table relations (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  source_row integer not null references entities (row),
  target_row integer not null references entities (row),
  type text not null,
  recorded_at integer not null,
  valid_from integer,
  valid_until integer,
  closed_at integer,
  confidence real not null,
  unique (scope_id, id)
);
create index relations_out on relations (source_row, closed_at);
create index relations_in on relations (target_row, closed_at);

create table evidence (
  relation_row integer not null references relations (row),
  memory_row integer not null references memories (row),
  scope_id integer not null references scopes (id),
  memory_id text not null,
  primary key (relation_row, memory_row)
) without rowid;
create index evidence_memory on evidence (memory_row);
create index evidence_scope on evidence (scope_id);

create table relation_origins (
  row integer primary key,
  scope_id integer not null references scopes (id),
  relation_row integer not null references relations (row),
  position integer not null,
  at integer not null,
  agent text,
  thread_id text,
  display_id text,
  run_id text,
  author text,
  message_ids text,
  quote text,
  unique (relation_row, position)
);
create index relation_origins_scope on relation_origins (scope_id);

create table merges (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  source_row integer not null unique references entities (row),
  target_row integer not null references entities (row),
  at integer not null,
  unique (scope_id, id)
);
create index merges_target on merges (target_row);

create table merge_names (
  merge_row integer not null references merges (row),
  key text not null,
  scope_id integer not null references scopes (id),
  name text not null,
  position integer not null,
  primary key (merge_row, key)
) without rowid;
create index merge_names_scope on merge_names (scope_id);

create table merge_relations (
  merge_row integer not null references merges (row),
  relation_row integer not null references relations (row),
  scope_id integer not null references scopes (id),
  at_source integer not null,
  at_target integer not null,
  valid_until integer,
  closed_at integer,
  primary key (merge_row, relation_row)
) without rowid;
create index merge_relations_relation on merge_relations (relation_row);
create index merge_relations_scope on merge_relations (scope_id);

create table refusals (
  row integer primary key,
  id text not null,
  scope_id integer not null references scopes (id),
  at integer not null,
  rule text,
  reason text not null,
  claim text,
  text text,
  origin text,
  origin_at integer,
  agent text,
  thread_id text,
  run_id text,
  unique (scope_id, id)
);
create index refusals_order on refusals (scope_id, at, id);
create index refusals_origin on refusals (scope_id, thread_id, run_id);

create table queue (
  id integer primary key autoincrement,
  scope_id integer not null references scopes (id),
  sort text not null check (sort in ('turn', 'relate')),
  state text not null check (state in ('waiting', 'leased', 'done', 'parked')),
  thread_id text,
  run_id text,
  memory_id text,
  at integer not null,
  queued_at integer not null,
  not_before integer,
  attempts integer not null default 0,
  lease text,
  lease_until integer,
  payload text, -- the turn; dropped once done
  reason text,
  parked_at integer
);
create unique index queue_turns on queue (scope_id, thread_id, run_id) where sort = 'turn';
create unique index queue_relates on queue (scope_id, memory_id)
  where sort = 'relate' and state in ('waiting', 'parked');
create index queue_scope on queue (scope_id);
create index queue_open on queue (scope_id, id, queued_at, not_before, lease_until)
  where state in ('waiting', 'leased');
create index queue_parked on queue (parked_at, id) where state = 'parked';

create table outbox (
  position integer primary key autoincrement,
  scope_id integer references scopes (id), -- null where the scope was erased
  kind text not null,
  payload text not null
);
create index outbox_scope on outbox (scope_id);

create table consumers (
  name text not null primary key,
  position integer not null
) without rowid;

create table audit (
  row integer primary key,
  scope_id integer not null references scopes (id),
  at integer not null,
  act text not null,
  done_by text not null,
  subjects text not null
);
create index audit_scope on audit (scope_id, at);

create table erasures (
  subject text not null,
  scope_id integer not null, -- the number that the scope had; it is never given again
  erased_at integer not null,
  primary key (subject, scope_id)
) without rowid;
