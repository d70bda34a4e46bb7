-- Who reads the outbox: when they were last heard of, and whether events are still kept for them.

alter table consumers add column seen integer; -- when it last acknowledged
alter table consumers add column retired_at integer; -- null while events are kept for it
alter table consumers add column missed integer not null default 0; -- pruned since, never read
