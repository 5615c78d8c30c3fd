-- an organization

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>, <root>0, 2, 0


-- an organization, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>/0000000000000001!, <root>0, 2, 0


-- an organization, downwards, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid desc
  limit $4 offset $5;
-- <root>, <root>, <root>/0000000000000001, 2, 0


-- descendants of a group

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start >= (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5) and start < (select max(start)
  from counts
  where root = $6 and collection = $7 and start <= $8)) - (select count(*)
  from groups
  where root = $9 and uid >= (select max(start)
  from counts
  where root = $10 and collection = $11 and start <= $12) and uid < $13) + (select count(*)
  from groups
  where root = $14 and uid >= (select max(start)
  from counts
  where root = $15 and collection = $16 and start <= $17) and uid < $18) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, 2, 0


-- descendants of a group, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start >= (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5) and start < (select max(start)
  from counts
  where root = $6 and collection = $7 and start <= $8)) - (select count(*)
  from groups
  where root = $9 and uid >= (select max(start)
  from counts
  where root = $10 and collection = $11 and start <= $12) and uid < $13) + (select count(*)
  from groups
  where root = $14 and uid >= (select max(start)
  from counts
  where root = $15 and collection = $16 and start <= $17) and uid < $18) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, 2, 0


-- children of a group

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start >= (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5) and start < (select max(start)
  from counts
  where root = $6 and collection = $7 and start <= $8)) - (select count(*)
  from groups
  where root = $9 and uid >= (select max(start)
  from counts
  where root = $10 and collection = $11 and start <= $12) and uid < $13) + (select count(*)
  from groups
  where root = $14 and uid >= (select max(start)
  from counts
  where root = $15 and collection = $16 and start <= $17) and uid < $18) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef/, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef/, <root>/0123456789abcdef/, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0

-- in a reader thread on SQLite
select (select count(*)
  from groups
  where root = $1 and uid >= $2 and uid < $3 and parent = $4) as n;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, <root>/0123456789abcdef

-- in a reader thread on SQLite
select *
  from groups
  where root = $1 and uid >= $2 and uid < $3 and parent = $4
  order by right(uid, 16)
  limit $5 offset $6;
-- <root>, <root>/0123456789abcdef/, <root>/0123456789abcdef0, <root>/0123456789abcdef, 2, 0


-- by name

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

-- in a reader thread on SQLite
select (select count(*)
  from groups
  where root = $1 and uid >= $2 and uid < $3 and name = $4) as n;
-- <root>, <root>, <root>0, n

-- in a reader thread on SQLite
select *
  from groups
  where root = $1 and uid >= $2 and uid < $3 and name = $4
  order by uid
  limit $5 offset $6;
-- <root>, <root>, <root>0, n, 2, 0


-- by name, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

-- in a reader thread on SQLite
select *
  from groups
  where root = $1 and uid >= $2 and uid < $3 and name = $4
  order by uid
  limit $5 offset $6;
-- <root>, <root>/0000000000000001!, <root>0, n, 2, 0


-- ordered by name, downwards

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by name desc, uid
  limit $4 offset $5;
-- <root>, <root>, <root>0, 2, 0


-- ordered by name, downwards, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3 and (name <= $4 and (name < $5 or (uid > $6)))
  order by name desc, uid
  limit $7 offset $8;
-- <root>, <root>, <root>0, name 1, name 1, <root>/0000000000000001, 2, 0


-- ordered by creation

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by created_ms, uid
  limit $4 offset $5;
-- <root>, <root>, <root>0, 2, 0


-- ordered by creation, next page

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3 and (created_ms >= $4 and (created_ms > $5 or (uid > $6)))
  order by created_ms, uid
  limit $7 offset $8;
-- <root>, <root>, <root>0, 1, 1, <root>/0000000000000001, 2, 0


-- ordered by name, among few

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by name, uid
  limit $4 offset $5;
-- <root>, <root>, <root>0, 2, 0


-- a short skip

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>, <root>0, 2, 20


-- a deep skip

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select start, n
  from counts
  where root = $1 and collection = $2 and start > $3 and start < $4
  order by root, start;
-- <root>, groups, <root>, <root>0

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start < (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5)) + (select count(*)
  from groups
  where root = $6 and uid >= (select max(start)
  from counts
  where root = $7 and collection = $8 and start <= $9) and uid < $10) as n;
-- <root>, groups, <root>, groups, <root>/1, <root>, <root>, groups, <root>/1, <root>/1

-- in a reader thread on SQLite
select groups.*
  from (select root, uid
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5) as found
  join groups using (root, uid)
  order by found.root, found.uid;
-- <root>, <root>, <root>0, 2, 500000


-- a deep skip, downwards

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

select start, n
  from counts
  where root = $1 and collection = $2 and start > $3 and start < $4
  order by root, start;
-- <root>, groups, <root>, <root>0

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start >= (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5)) - (select count(*)
  from groups
  where root = $6 and uid >= (select max(start)
  from counts
  where root = $7 and collection = $8 and start <= $9) and uid < $10) as n;
-- <root>, groups, <root>, groups, <root>/3, <root>, <root>, groups, <root>/3, <root>/3

-- in a reader thread on SQLite
select groups.*
  from (select root, uid
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid desc
  limit $4 offset $5) as found
  join groups using (root, uid)
  order by found.root desc, found.uid desc;
-- <root>, <root>, <root>0, 2, 500000


-- a deep skip in the order of names

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2) as n;
-- <root>, groups

-- in a reader thread on SQLite
select groups.*
  from (select root, uid, name
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by name desc, uid
  limit $4 offset $5) as found
  join groups using (root, uid)
  order by found.name desc, found.root, found.uid;
-- <root>, <root>, <root>0, 2, 500000


-- two scopes

select (select coalesce(sum(n), 0)
  from counts
  where root = $1 and collection = $2 and start >= (select max(start)
  from counts
  where root = $3 and collection = $4 and start <= $5) and start < (select max(start)
  from counts
  where root = $6 and collection = $7 and start <= $8)) - (select count(*)
  from groups
  where root = $9 and uid >= (select max(start)
  from counts
  where root = $10 and collection = $11 and start <= $12) and uid < $13) + (select count(*)
  from groups
  where root = $14 and uid >= (select max(start)
  from counts
  where root = $15 and collection = $16 and start <= $17) and uid < $18) + (select coalesce(sum(n), 0)
  from counts
  where root = $19 and collection = $20) as n;
-- <root>, groups, <root>, groups, <root>/0123456789abcdef, <root>, groups, <root>/0123456789abcdef0, <root>, <root>, groups, <root>/0123456789abcdef, <root>/0123456789abcdef, <root>, <root>, groups, <root>/0123456789abcdef0, <root>/0123456789abcdef0, <other>, groups

select *
  from (select *
  from (select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4) as part
  union all select *
  from (select *
  from groups
  where root = $5 and uid >= $6 and uid < $7
  order by uid
  limit $8) as part) as parts
  order by root, uid
  limit $9 offset $10;
-- <root>, <root>/0123456789abcdef, <root>/0123456789abcdef0, 2, <other>, <other>, <other>0, 2, 2, 0


-- events of two folders of an organization

-- in a reader thread on SQLite
select (select count(*)
  from audit_events
  where root = $1 and (substr(uid, 1, 57) in (select scope.value
  from jsonb_array_elements_text($2::jsonb) as scope (value))) is true) as n;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"]

-- in a reader thread on SQLite
select *
  from audit_events
  where root = $1 and (substr(uid, 1, 57) in (select scope.value
  from jsonb_array_elements_text($2::jsonb) as scope (value))) is true
  order by id desc, uid
  limit $3 offset $4;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 2, 0


-- events of two folders of an organization, next page

-- in a reader thread on SQLite
select *
  from audit_events
  where root = $1 and (substr(uid, 1, 57) in (select scope.value
  from jsonb_array_elements_text($2::jsonb) as scope (value))) is true and (id <= $3 and (id < $4 or (uid > $5)))
  order by id desc, uid
  limit $6 offset $7;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 1, 1, <root>/0000000000000001, 2, 0


-- events of folders of two organizations

-- in a reader thread on SQLite
select (select count(*)
  from audit_events
  where root = $1 and (substr(uid, 1, 57) in (select scope.value
  from jsonb_array_elements_text($2::jsonb) as scope (value))) is true) + (select count(*)
  from audit_events
  where root = $3 and uid >= $4 and uid < $5) as n;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <other>, <other>, <other>0

-- in a reader thread on SQLite
select *
  from (select *
  from (select *
  from audit_events
  where root = $1 and (substr(uid, 1, 57) in (select scope.value
  from jsonb_array_elements_text($2::jsonb) as scope (value))) is true
  order by id desc, uid
  limit $3) as part
  union all select *
  from (select *
  from audit_events
  where root = $4 and uid >= $5 and uid < $6
  order by id desc, uid
  limit $7) as part) as parts
  order by id desc, root, uid
  limit $8 offset $9;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], 2, <other>, <other>, <other>0, 2, 2, 0


-- more scopes than branchesMax: the first ones fill the page

select (select coalesce(sum(n), 0)
  from counts
  where collection = $1 and root in ($2, $3)) as n;
-- groups, <root>, <other>

-- in a reader thread on SQLite
select (select count(*)
  from jsonb_array_elements_text($1::jsonb) as scope (value) cross
  join lateral (select *
  from groups as t
  where t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0' offset 0) as t) as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"]

select *
  from groups
  where root = $1 and uid >= $2 and uid < $3
  order by uid
  limit $4 offset $5;
-- <root>, <root>/0123456789abcdef, <root>/0123456789abcdef0, 2, 0


-- more scopes than branchesMax, ordered by name

select (select coalesce(sum(n), 0)
  from counts
  where collection = $1 and root in ($2, $3)) as n;
-- groups, <root>, <other>

-- in a reader thread on SQLite
select (select count(*)
  from jsonb_array_elements_text($1::jsonb) as scope (value) cross
  join lateral (select *
  from groups as t
  where t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0' offset 0) as t) as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"]

-- in a reader thread on SQLite
select *
  from groups
  where (root, uid) in (select t.root, t.uid
  from jsonb_array_elements_text($1::jsonb) as scope (value) cross
  join lateral (select *
  from groups as t
  where t.root = substr(scope.value, 1, 40) and t.uid >= scope.value and t.uid < scope.value || '0' offset 0) as t)
  order by name, uid
  limit $2 offset $3;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef","<other>"], 2, 0


-- more scopes than branchesMax in one organization, ordered by name

select (select coalesce(sum(n), 0)
  from counts
  where collection = $1 and root in ($2)) as n;
-- groups, <root>

-- in a reader thread on SQLite
select (select count(*)
  from jsonb_array_elements_text($1::jsonb) as scope (value) cross
  join lateral (select *
  from groups as t
  where t.root = $2 and t.uid >= scope.value and t.uid < scope.value || '0' offset 0) as t) as n;
-- ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <root>

-- in a reader thread on SQLite
select *
  from groups
  where root = $1 and (root, uid) in (select t.root, t.uid
  from jsonb_array_elements_text($2::jsonb) as scope (value) cross
  join lateral (select *
  from groups as t
  where t.root = $3 and t.uid >= scope.value and t.uid < scope.value || '0' offset 0) as t)
  order by name, uid
  limit $4 offset $5;
-- <root>, ["<root>/0123456789abcdef","<root>/1123456789abcdef"], <root>, 2, 0


-- the whole platform

select (select coalesce(sum(n), 0)
  from counts
  where collection = $1) as n;
-- groups

select *
  from groups
  where 1 = 1
  order by root, uid
  limit $1 offset $2;
-- 2, 0


-- the whole platform, next page

select (select coalesce(sum(n), 0)
  from counts
  where collection = $1) as n;
-- groups

select *
  from groups
  where (root, uid) >= ($1, $2)
  order by root, uid
  limit $3 offset $4;
-- <root>, <root>/0000000000000001!, 2, 0
